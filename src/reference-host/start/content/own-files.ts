import type { Stats } from 'node:fs';
import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { batches, inParts } from '../../../larger-host.js';
import { treeDigestOf } from '../../files/tree-digest.js';

/** A local file, and the names of the folders in the collection in which its item is placed. */
export interface OwnFile {
  /** Its path, without symbolic links. */
  path: string;
  folders: string[];
  /** Name of its item. */
  name: string;
  /** Whether the other files in its folder, and in folders below, belong to it, because the path is the description of a Zarr. */
  isTree: boolean;
  /** A digest of these files. */
  tree?: string;
  stats: Stats;
}

/** Number of names that are read and sorted together. All names of a folder of 100,000 files would occupy the event loop for 0.1 s. */
const namesAtOnce = 1000;
/** Number of files whose state is read at the same time, because network file systems take a while to answer. */
const statsAtOnce = 16;

/** Options of the search for files. */
export interface OwnFilesOptions {
  signal?: AbortSignal;
  /** Called with each path that cannot be read, and the reason. */
  leftOut?: (path: string, reason: string) => void;
  /** Called with each folder that is read. */
  entered?: (folder: string) => void;
}

/** Files that describe a Zarr group or array, in the order in which a reader looks for them. */
export const zarrDescriptions: readonly string[] = ['zarr.json', '.zattrs', '.zgroup', '.zarray'];
const zarrNames: ReadonlySet<string> = new Set([...zarrDescriptions, '.zmetadata']);

/** Whether a file or folder of this name is served. */
export function isShownName(name: string): boolean {
  return !name.startsWith('.') || zarrNames.has(name);
}

/** Whether a folder with this name is one image with all of its contents, if it is described as a Zarr. */
export function isZarrName(name: string): boolean {
  return /\.zarr$/i.test(name);
}

/** A walk through the paths on the command line. */
interface Walk extends OwnFilesOptions {
  /** These paths, without symbolic links. */
  roots: ReadonlySet<string>;
  /** Folders that have been visited. */
  seen: Set<string>;
}

/**
 * Lists these files and, for folders, all files below them. A folder `*.zarr` is listed as one file, its description. Names that
 * start with a dot are left out, except names that Zarr uses. Links to visited folders, and links that lead out of these paths, are left out too.
 * Single files go into the folder `Files`, folders keep their names.
 */
export async function* ownFiles(paths: readonly string[], walkOptions: OwnFilesOptions = {}): AsyncGenerator<OwnFile> {
  const roots = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  const options: Walk = { ...walkOptions, roots: new Set(roots), seen: new Set() };
  for (const path of paths) {
    options.signal?.throwIfAborted();
    try {
      const [real, stats] = [await realpath(path), await stat(path)];
      if (stats.isDirectory()) yield* filesIn(real, [], options);
      else if (stats.isFile()) yield { path: real, folders: ['Files'], name: basename(path), isTree: false, stats };
    } catch (error) {
      options.signal?.throwIfAborted();
      leaveOut(path, error, options);
    }
  }
}

/** All files below a folder whose path has no links; of a Zarr folder, only its description. */
async function* filesIn(real: string, above: string[], options: Walk): AsyncGenerator<OwnFile> {
  if (isZarrName(real)) {
    const description = await descriptionIn(real);
    if (description !== null) {
      if (!options.seen.has(real)) {
        // A Zarr that is named on the command line goes with the single files.
        const tree = await treeDigestOf(real, options.signal);
        yield { ...description, folders: above.length === 0 ? ['Files'] : above, name: basename(real), isTree: true, tree };
      }
      options.seen.add(real);
      return;
    }
  }
  yield* filesBelow(real, [...above, basename(real) || 'root'], options);
}

async function descriptionIn(folder: string): Promise<{ path: string; stats: Stats } | null> {
  for (const name of zarrDescriptions) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats?.isFile()) return { path, stats };
  }
  return null;
}

async function* filesBelow(real: string, folders: string[], options: Walk): AsyncGenerator<OwnFile> {
  options.signal?.throwIfAborted();
  if (options.seen.has(real)) return;
  options.seen.add(real);
  options.entered?.(real);
  try {
    for await (const entries of inParts(await opendir(real, { bufferSize: namesAtOnce }), namesAtOnce)) {
      const names = entries.map(({ name }) => name).filter(isShownName);
      for (const batch of batches(names.sort(), statsAtOnce)) {
        const paths = batch.map((name) => join(real, name));
        const states = await Promise.allSettled(paths.map((path) => lstat(path)));
        for (const [index, path] of paths.entries()) yield* filesAt(path, states[index]!, folders, options);
      }
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    // An unreadable folder must not keep the other files from being served.
    leaveOut(real, error, options);
  }
}

/** The file at a path, or the files in the folder at that path. @param state the state of the path, or why it cannot be read */
async function* filesAt(
  path: string,
  state: PromiseSettledResult<Stats>,
  folders: string[],
  options: Walk,
): AsyncGenerator<OwnFile> {
  const name = basename(path);
  try {
    if (state.status === 'rejected') {
      // A file that was removed after its folder was listed is not reported.
      if ((state.reason as NodeJS.ErrnoException).code === 'ENOENT' && !hasLostBytes(path)) return;
      throw state.reason;
    }
    const linkStats = state.value;
    const target = linkStats.isSymbolicLink() ? await realpath(path) : path;
    if (target !== path && !isBelow(target, options.roots)) {
      options.leftOut?.(path, `it is a link to ${target}, which is outside; name the target on the command line to serve it`);
      return;
    }
    const stats = target === path ? linkStats : await stat(target);
    if (stats.isFile()) yield { path: target, folders, name, isTree: false, stats };
    else if (stats.isDirectory() && isZarrName(name)) yield* filesIn(target, folders, options);
    else if (stats.isDirectory()) yield* filesBelow(target, [...folders, name], options);
  } catch (error) {
    options.signal?.throwIfAborted();
    leaveOut(path, error, options);
  }
}

function isBelow(path: string, roots: ReadonlySet<string>): boolean {
  for (let above = path; ; above = dirname(above)) {
    if (roots.has(above)) return true;
    if (above === dirname(above)) return false;
  }
}

/** Whether a name has bytes that are not UTF-8. Node.js replaces them by U+FFFD, and no file can be found by such a name. */
function hasLostBytes(path: string): boolean {
  return path.includes('\ufffd');
}

function leaveOut(path: string, error: unknown, { leftOut }: OwnFilesOptions): void {
  const reason = error instanceof Error ? error.message : String(error);
  leftOut?.(path, hasLostBytes(path) ? 'its name is not UTF-8' : reason);
}
