import { inodeOf } from '../../files/in-place.js';
import type { KnownFile } from './gone-files.js';
import { inTurns } from './in-turns.js';
import type { OwnFile } from './own-files.js';

/** A path at which another file is than before. */
export interface Displaced {
  own: OwnFile;
  /** The records of the former file. */
  files: readonly KnownFile[];
  /** Whether the former file is at another path now, so that its items follow it there. Otherwise, the other file has replaced it. */
  isMoved?: boolean;
}

/** Finds which former files were moved to another path whose items, if it had any, are moved as well. */
export async function foundElsewhere(displaced: Displaced[], fresh: readonly OwnFile[]): Promise<Displaced[]> {
  if (displaced.length === 0) return displaced;
  const keyOf = ({ stats }: OwnFile) => `${inodeOf(stats)} ${stats.size} ${stats.mtime.getTime()}`;
  const former = ({ size, storage }: KnownFile) => `${storage.inode} ${size} ${storage.modified?.getTime()}`;
  const taking = new Set<string>();
  const byFormer = new Map<string, Displaced>();
  for await (const own of inTurns(fresh)) taking.add(keyOf(own));
  for await (const each of inTurns(displaced)) {
    each.isMoved = true;
    taking.add(keyOf(each.own));
    for (const file of each.files) byFormer.set(former(file), each);
  }
  // Where a file has replaced one that is nowhere, its former path takes no other items either. Those are appended meanwhile.
  const unchecked = [...displaced];
  for await (const each of inTurns(unchecked)) {
    if (each.isMoved !== true || each.files.some((file) => taking.has(former(file)))) continue;
    each.isMoved = false;
    taking.delete(keyOf(each.own));
    const dependent = byFormer.get(keyOf(each.own));
    if (dependent !== undefined) unchecked.push(dependent);
  }
  return displaced;
}
