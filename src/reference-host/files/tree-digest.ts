import { hash } from 'node:crypto';
import { lstat, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { groupInBatches } from '../../larger-host.js';

/** Number of files whose state is read at the same time. */
const maxConcurrentReads = 16;

/**
 * A digest of the names and states of many files. It shows whether a file has changed, without reading the files. Their order does not
 * matter.
 */
export class TreeDigest {
  #sum = Buffer.alloc(32);

  /** Adds a file. @param values values that change when the file changes, such as its name and size. */
  add(...values: readonly (string | number)[]): void {
    const digest = hash('sha256', JSON.stringify(values), 'buffer');
    for (let i = 0; i < digest.length; i += 1) this.#sum[i]! ^= digest[i]!;
  }

  toString(): string {
    return this.#sum.toString('base64url');
  }
}

/** A digest of the names, sizes and times of all files in a folder and below it. Links to folders are not followed. */
export async function computeTreeDigest(folder: string, signal?: AbortSignal): Promise<string> {
  const digest = new TreeDigest();
  const pendingFolders = [''];
  for (let subfolder = pendingFolders.pop(); subfolder !== undefined; subfolder = pendingFolders.pop()) {
    for await (const entries of groupInBatches(
      await opendir(join(folder, subfolder), { bufferSize: maxConcurrentReads }),
      maxConcurrentReads,
    )) {
      signal?.throwIfAborted();
      await Promise.all(
        entries.map(async (entry) => {
          const path = join(subfolder!, entry.name);
          if (entry.isDirectory()) {
            pendingFolders.push(path);
            return;
          }
          // A file that was removed after its folder was listed does not count.
          const stats = await (entry.isSymbolicLink() ? stat : lstat)(join(folder, path)).catch(() => null);
          if (stats?.isFile()) digest.add(path, stats.size, stats.mtimeMs);
        }),
      );
    }
  }
  return digest.toString();
}
