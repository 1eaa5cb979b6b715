import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A file of the caller's, and the folders below the collection in which its item goes. */
export interface OwnFile {
  path: string;
  folders: string[];
}

/**
 * The files among the paths given and, for folders, all files below them. Names that begin with a dot are left out, and links to
 * folders that were seen already. Single files go into the folder `Files`, folders keep their names.
 */
export async function* ownFiles(paths: readonly string[], signal?: AbortSignal): AsyncGenerator<OwnFile> {
  const seen = new Set<string>();
  for (const path of paths) {
    const entry = await stat(path);
    if (entry.isDirectory()) yield* filesBelow(path, [basename(await realpath(path)) || 'root'], seen, signal);
    else if (entry.isFile()) yield { path, folders: ['Files'] };
  }
}

async function* filesBelow(
  directory: string,
  folders: string[],
  seen: Set<string>,
  signal?: AbortSignal,
): AsyncGenerator<OwnFile> {
  signal?.throwIfAborted();
  const real = await realpath(directory);
  if (seen.has(real)) return;
  seen.add(real);
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.'));
  for (const name of names.toSorted()) {
    const path = join(directory, name);
    // A link to nothing, or a folder that may not be read, is no reason to leave out the rest.
    const entry = await stat(path).catch(() => null);
    if (entry?.isDirectory()) yield* filesBelow(path, [...folders, name], seen, signal);
    else if (entry?.isFile()) yield { path, folders };
  }
}
