import type { Stats } from 'node:fs';
import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { batches, groupInBatches } from '../../../larger-host.js';
import { computeTreeDigest } from '../../files/tree-digest.js';

/** A local file, and the names of the folders in the collection in which its item is placed. */
export interface LocalFile {
  /** The path of the file, without symbolic links. */
  path: string;
  folderNames: string[];
  /** Name of its item. */
  name: string;
  /** Whether the file describes a Zarr, which consists of all files in the folder of this file and below. */
  isZarr: boolean;
  /** If `isZarr`: a digest of all files of the Zarr. */
  treeDigest?: string;
  stats: Stats;
}

/** Number of names that are read and sorted together. Sorting the names of 100,000 files together would occupy the event loop for 0.1 s. */
const namesAtOnce = 1000;
/** Number of files whose state is read at the same time, because network file systems take a while to answer. */
const statsAtOnce = 16;

/** Options of the search for files. */
export interface LocalFilesOptions {
  signal?: AbortSignal;
  /** Called with each path that cannot be read, and the reason. */
  onLeftOut?: (path: string, reason: string) => void;
  /** Called with each folder that is read. */
  onFolder?: (folder: string) => void;
}

/** Files that describe a Zarr group or array, in the order in which a reader looks for them. */
export const zarrDescriptions: readonly string[] = ['zarr.json', '.zattrs', '.zgroup', '.zarray'];
const zarrNames: ReadonlySet<string> = new Set([...zarrDescriptions, '.zmetadata']);

/** Whether a file or folder of this name is served. */
export function isShownName(name: string): boolean {
  return !name.startsWith('.') || zarrNames.has(name);
}

/** Whether a folder with this name is served as one image, with everything in it, if it contains the description of a Zarr. */
export function isZarrName(name: string): boolean {
  return /\.zarr$/i.test(name);
}

/** The options and the progress of a search through the paths on the command line. */
interface FileSearch extends LocalFilesOptions {
  /** The paths on the command line, without symbolic links. */
  roots: ReadonlySet<string>;
  /** Folders that have been visited, by their paths without symbolic links. */
  visitedFolders: Set<string>;
}

/**
 * Lists the files at these paths and, for folders, all files below them. A folder `*.zarr` is listed as one file, its description. Names that
 * start with a dot are left out, except names that Zarr uses. Links to visited folders, and links that lead out of the paths, are left out too.
 * The items of single files go into the folder `Files`; folders on the command line keep their names.
 */
export async function* listLocalFiles(paths: readonly string[], options: LocalFilesOptions = {}): AsyncGenerator<LocalFile> {
  const roots = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  const search: FileSearch = { ...options, roots: new Set(roots), visitedFolders: new Set() };
  for (const path of paths) {
    search.signal?.throwIfAborted();
    try {
      const [resolvedPath, stats] = [await realpath(path), await stat(path)];
      if (stats.isDirectory()) yield* listFolderOrZarr(resolvedPath, [], search);
      else if (stats.isFile()) yield { path: resolvedPath, folderNames: ['Files'], name: basename(path), isZarr: false, stats };
    } catch (error) {
      search.signal?.throwIfAborted();
      reportLeftOut(path, error, search);
    }
  }
}

/** Lists all files below a folder, or only the description of a Zarr folder. The path must have no symbolic links. */
async function* listFolderOrZarr(realPath: string, folderNamesAbove: string[], search: FileSearch): AsyncGenerator<LocalFile> {
  if (isZarrName(realPath)) {
    const description = await findZarrDescription(realPath);
    if (description !== null) {
      if (!search.visitedFolders.has(realPath)) {
        const treeDigest = await computeTreeDigest(realPath, search.signal);
        yield {
          ...description,
          // The item of a Zarr that is named on the command line goes into the same folder as the items of single files.
          folderNames: folderNamesAbove.length === 0 ? ['Files'] : folderNamesAbove,
          name: basename(realPath),
          isZarr: true,
          treeDigest,
        };
      }
      search.visitedFolders.add(realPath);
      return;
    }
  }
  yield* listFolder(realPath, [...folderNamesAbove, basename(realPath) || 'root'], search);
}

/** The first of {@link zarrDescriptions} in a folder. */
async function findZarrDescription(folder: string): Promise<{ path: string; stats: Stats } | null> {
  for (const name of zarrDescriptions) {
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (stats?.isFile()) return { path, stats };
  }
  return null;
}

/** Lists all files below a folder that is not a Zarr. `folderNames` is the path of the folder for their items in the collection. */
async function* listFolder(realPath: string, folderNames: string[], search: FileSearch): AsyncGenerator<LocalFile> {
  search.signal?.throwIfAborted();
  if (search.visitedFolders.has(realPath)) return;
  search.visitedFolders.add(realPath);
  search.onFolder?.(realPath);
  try {
    for await (const entries of groupInBatches(await opendir(realPath, { bufferSize: namesAtOnce }), namesAtOnce)) {
      const names = entries.map(({ name }) => name).filter(isShownName);
      for (const batch of batches(names.sort(), statsAtOnce)) {
        const paths = batch.map((name) => join(realPath, name));
        const states = await Promise.allSettled(paths.map((path) => lstat(path)));
        for (const [index, path] of paths.entries()) yield* listPath(path, states[index]!, folderNames, search);
      }
    }
  } catch (error) {
    search.signal?.throwIfAborted();
    // An unreadable folder must not keep the other files from being served.
    reportLeftOut(realPath, error, search);
  }
}

/** Lists the file at a path, or the files in the folder at that path. @param lstatResult the result of `lstat` for the path */
async function* listPath(
  path: string,
  lstatResult: PromiseSettledResult<Stats>,
  folderNames: string[],
  search: FileSearch,
): AsyncGenerator<LocalFile> {
  const name = basename(path);
  try {
    if (lstatResult.status === 'rejected') {
      // A file that was removed after its folder was listed is not reported.
      if ((lstatResult.reason as NodeJS.ErrnoException).code === 'ENOENT' && !hasLostBytes(path)) return;
      throw lstatResult.reason;
    }
    const linkStats = lstatResult.value;
    const target = linkStats.isSymbolicLink() ? await realpath(path) : path;
    if (target !== path && !isWithin(target, search.roots)) {
      search.onLeftOut?.(path, `it is a link to ${target}, which is outside; name the target on the command line to serve it`);
      return;
    }
    const stats = target === path ? linkStats : await stat(target);
    if (stats.isFile()) yield { path: target, folderNames, name, isZarr: false, stats };
    else if (stats.isDirectory() && isZarrName(name)) yield* listFolderOrZarr(target, folderNames, search);
    else if (stats.isDirectory()) yield* listFolder(target, [...folderNames, name], search);
  } catch (error) {
    search.signal?.throwIfAborted();
    reportLeftOut(path, error, search);
  }
}

/** Whether a path is one of the roots or below one. */
function isWithin(path: string, roots: ReadonlySet<string>): boolean {
  for (let ancestor = path; ; ancestor = dirname(ancestor)) {
    if (roots.has(ancestor)) return true;
    if (ancestor === dirname(ancestor)) return false;
  }
}

/** Whether a path has bytes that are not UTF-8. Node.js replaces them by U+FFFD, and no file can be found under the resulting path. */
function hasLostBytes(path: string): boolean {
  return path.includes('\ufffd');
}

function reportLeftOut(path: string, error: unknown, { onLeftOut }: LocalFilesOptions): void {
  const reason = error instanceof Error ? error.message : String(error);
  onLeftOut?.(path, hasLostBytes(path) ? 'its name is not UTF-8' : reason);
}
