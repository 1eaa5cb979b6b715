import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A file of the caller's, and the folders below the collection in which its item goes. */
export interface OwnFile {
  path: string;
  folders: string[];
}

/** How files are looked for. */
export interface OwnFilesOptions {
  signal?: AbortSignal;
  /** Is told what is left out because it cannot be read, and why. */
  leftOut?: (path: string, reason: string) => void;
}

/** Zarr files that describe the data next to them. */
const zarrNames: ReadonlySet<string> = new Set(['.zattrs', '.zgroup', '.zarray', '.zmetadata']);

/** Whether a file or folder of this name is served. */
export function isShownName(name: string): boolean {
  return !name.startsWith('.') || zarrNames.has(name);
}

/**
 * The files among the paths given and, for folders, all files below them. Names that begin with a dot are left out, but for those of Zarr, and links to
 * folders that were seen already. Single files go into the folder `Files`, folders keep their names.
 */
export async function* ownFiles(paths: readonly string[], options: OwnFilesOptions = {}): AsyncGenerator<OwnFile> {
  const seen = new Set<string>();
  for (const path of paths) {
    const entry = await stat(path);
    if (entry.isDirectory()) yield* filesBelow(path, [basename(await realpath(path)) || 'root'], seen, options);
    else if (entry.isFile()) yield { path, folders: ['Files'] };
  }
}

async function* filesBelow(
  directory: string,
  folders: string[],
  seen: Set<string>,
  options: OwnFilesOptions,
): AsyncGenerator<OwnFile> {
  options.signal?.throwIfAborted();
  // A link to nothing, or a folder that may not be read, is no reason to leave out the rest.
  const leaveOut = (path: string, error: unknown) => {
    options.leftOut?.(path, reasonOf(path, error));
    return null;
  };
  const real = await realpath(directory);
  if (seen.has(real)) return;
  seen.add(real);
  const names = await readdir(directory).catch((error: unknown) => leaveOut(directory, error));
  for (const name of (names ?? []).toSorted()) {
    if (!isShownName(name)) continue;
    const path = join(directory, name);
    const entry = await stat(path).catch((error: unknown) => leaveOut(path, error));
    if (entry?.isDirectory()) yield* filesBelow(path, [...folders, name], seen, options);
    else if (entry?.isFile()) yield { path, folders };
  }
}

function reasonOf(path: string, error: unknown): string {
  // Bytes of a name that are no UTF-8 have become this character, and no file has that name.
  if (path.includes('\ufffd')) return 'its name is not UTF-8';
  return error instanceof Error ? error.message : String(error);
}
