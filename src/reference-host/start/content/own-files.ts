import type { Dirent, Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A file of the caller's, and the folders below the collection in which its item goes. */
export interface OwnFile {
  /** Where it is, without links. */
  path: string;
  folders: string[];
  /** Name of its item. */
  name: string;
  /** Whether the other files in its folder, and in folders below, belong to it: the path is the description of a Zarr. */
  isTree: boolean;
  stats: Stats;
}

/** How files are looked for. */
export interface OwnFilesOptions {
  signal?: AbortSignal;
  /** Is told what is left out because it cannot be read, and why. */
  leftOut?: (path: string, reason: string) => void;
  /** Is told of each folder that is read. */
  entered?: (folder: string) => void;
}

/** Files that describe a Zarr group, the one that a reader looks for first in front. */
export const zarrDescriptions: readonly string[] = ['zarr.json', '.zattrs', '.zgroup'];
const zarrNames: ReadonlySet<string> = new Set([...zarrDescriptions, '.zarray', '.zmetadata']);

/** Whether a file or folder of this name is served. */
export function isShownName(name: string): boolean {
  return !name.startsWith('.') || zarrNames.has(name);
}

/** Whether a folder of this name is one image with all that is in it, if it is described as a Zarr. */
export function isZarrName(name: string): boolean {
  return /\.zarr$/i.test(name);
}

/** A walk through the paths given. */
interface Walk extends OwnFilesOptions {
  /** The paths given, without links. */
  roots: ReadonlySet<string>;
  /** Folders that were seen already. */
  seen: Set<string>;
}

/**
 * The files among the paths given and, for folders, all files below them; of a folder `*.zarr` only its description, as one file. Names that begin with a
 * dot are left out, but for those of Zarr, and so are links to folders that were seen already, and links that lead out of the paths given. Single files go
 * into the folder `Files`, folders keep their names.
 */
export async function* ownFiles(paths: readonly string[], given: OwnFilesOptions = {}): AsyncGenerator<OwnFile> {
  const roots = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  const options: Walk = { ...given, roots: new Set(roots), seen: new Set() };
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

/** The files in a folder whose path has no links: of a Zarr one, otherwise all below it. */
async function* filesIn(real: string, above: string[], options: Walk): AsyncGenerator<OwnFile> {
  if (isZarrName(real)) {
    const found = await descriptionIn(real);
    if (found !== null) {
      if (!options.seen.has(real)) {
        // A Zarr that is named on the command line goes with the single files.
        yield { ...found, folders: above.length === 0 ? ['Files'] : above, name: basename(real), isTree: true };
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
  let entries: Dirent[];
  try {
    entries = await readdir(real, { withFileTypes: true });
  } catch (error) {
    // A link to nothing, or a folder that may not be read, is no reason to leave out the rest.
    leaveOut(real, error, options);
    return;
  }
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const { name } = entry;
    if (!isShownName(name)) continue;
    const path = join(real, name);
    try {
      const target = entry.isSymbolicLink() ? await realpath(path) : path;
      if (target !== path && !isBelow(target, options.roots)) {
        options.leftOut?.(path, `it is a link to ${target}, which is outside; name that on the command line to serve it`);
        continue;
      }
      const stats = await stat(target);
      if (stats.isFile()) yield { path: target, folders, name, isTree: false, stats };
      else if (stats.isDirectory() && isZarrName(name)) yield* filesIn(target, folders, options);
      else if (stats.isDirectory()) yield* filesBelow(target, [...folders, name], options);
    } catch (error) {
      options.signal?.throwIfAborted();
      leaveOut(path, error, options);
    }
  }
}

function isBelow(path: string, roots: ReadonlySet<string>): boolean {
  for (let above = path; ; above = dirname(above)) {
    if (roots.has(above)) return true;
    if (above === dirname(above)) return false;
  }
}

function leaveOut(path: string, error: unknown, { leftOut }: OwnFilesOptions): void {
  // Bytes of a name that are no UTF-8 have become this character, and no file has that name.
  const reason = error instanceof Error ? error.message : String(error);
  leftOut?.(path, path.includes('\ufffd') ? 'its name is not UTF-8' : reason);
}
