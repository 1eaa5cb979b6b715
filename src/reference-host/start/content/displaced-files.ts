import { formatInode } from '../../files/in-place.js';
import type { KnownFile } from './gone-files.js';
import { inTurns } from './in-turns.js';
import type { LocalFile } from './local-files.js';

/** A path at which a different file was found than before. */
export interface DisplacedFile {
  localFile: LocalFile;
  /** The records of the former file. */
  formerFiles: readonly KnownFile[];
  /** Whether the former file is at another path now, so that its items move to that path. Otherwise, `localFile` has replaced it. */
  isMoved?: boolean;
}

/**
 * Sets `isMoved` of all displaced files. A former file counts as moved only if the items that its new path already has can move too.
 *
 * @returns the same array
 */
export async function markMovedFiles(displacedFiles: DisplacedFile[], newFiles: readonly LocalFile[]): Promise<DisplacedFile[]> {
  if (displacedFiles.length === 0) return displacedFiles;
  const keyOf = ({ stats }: LocalFile) => `${formatInode(stats)} ${stats.size} ${stats.mtime.getTime()}`;
  const formerKeyOf = ({ size, storage }: KnownFile) => `${storage.inode} ${size} ${storage.modified?.getTime()}`;
  /** Keys of the files that can take over the items of a former file. */
  const takerKeys = new Set<string>();
  const displacedByFormerKey = new Map<string, DisplacedFile>();
  for await (const localFile of inTurns(newFiles)) takerKeys.add(keyOf(localFile));
  for await (const each of inTurns(displacedFiles)) {
    each.isMoved = true;
    takerKeys.add(keyOf(each.localFile));
    for (const file of each.formerFiles) displacedByFormerKey.set(formerKeyOf(file), each);
  }
  // If the former file of a path no longer exists anywhere, the path keeps its items. Then the items of the file that has replaced it cannot
  // move to this path. The path where the replacing file was before is therefore checked again: it is appended to the queue.
  const queue = [...displacedFiles];
  for await (const each of inTurns(queue)) {
    if (each.isMoved !== true || each.formerFiles.some((file) => takerKeys.has(formerKeyOf(file)))) continue;
    each.isMoved = false;
    takerKeys.delete(keyOf(each.localFile));
    const dependentFile = displacedByFormerKey.get(keyOf(each.localFile));
    if (dependentFile !== undefined) queue.push(dependentFile);
  }
  return displacedFiles;
}
