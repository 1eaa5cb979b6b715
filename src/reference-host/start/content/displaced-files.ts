import { inodeOf } from '../../files/in-place.js';
import type { KnownFile } from './gone-files.js';
import { inTurns } from './in-turns.js';
import type { OwnFile } from './own-files.js';

/** A path at which a different file was found than before. */
export interface DisplacedFile {
  own: OwnFile;
  /** The records of the former file. */
  files: readonly KnownFile[];
  /** Whether the former file is at another path now, so that its items follow it there. Otherwise, the file that is there now has replaced it. */
  isMoved?: boolean;
}

/** Decides for each former file whether it was moved. If its new path has items already, they must be moved too. */
export async function markMoved(displaced: DisplacedFile[], fresh: readonly OwnFile[]): Promise<DisplacedFile[]> {
  if (displaced.length === 0) return displaced;
  const keyOf = ({ stats }: OwnFile) => `${inodeOf(stats)} ${stats.size} ${stats.mtime.getTime()}`;
  const former = ({ size, storage }: KnownFile) => `${storage.inode} ${size} ${storage.modified?.getTime()}`;
  const takers = new Set<string>();
  const byFormer = new Map<string, DisplacedFile>();
  for await (const own of inTurns(fresh)) takers.add(keyOf(own));
  for await (const each of inTurns(displaced)) {
    each.isMoved = true;
    takers.add(keyOf(each.own));
    for (const file of each.files) byFormer.set(former(file), each);
  }
  // A path whose former file no longer exists keeps its items, so it cannot take over the items of the file that is there now. The path from which
  // that file came is therefore checked again: it is appended during the loop.
  const unchecked = [...displaced];
  for await (const each of inTurns(unchecked)) {
    if (each.isMoved !== true || each.files.some((file) => takers.has(former(file)))) continue;
    each.isMoved = false;
    takers.delete(keyOf(each.own));
    const dependent = byFormer.get(keyOf(each.own));
    if (dependent !== undefined) unchecked.push(dependent);
  }
  return displaced;
}
