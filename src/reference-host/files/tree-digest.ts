import { hash } from 'node:crypto';
import { lstat, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inParts } from '../../larger-host.js';

/** Number of files whose state is read at the same time. */
const filesAtOnce = 16;

/** Tells whether one of many files has changed, without reading them: a digest of their names and states, in any order. */
export class TreeDigest {
  #sum = Buffer.alloc(32);

  add(...facts: readonly (string | number)[]): void {
    const digest = hash('sha256', JSON.stringify(facts), 'buffer');
    for (let i = 0; i < digest.length; i += 1) this.#sum[i]! ^= digest[i]!;
  }

  toString(): string {
    return this.#sum.toString('base64url');
  }
}

/** A digest of the names, sizes and times of all files in a folder and below it. Links to folders are not followed. */
export async function treeDigestOf(folder: string, signal?: AbortSignal): Promise<string> {
  const digest = new TreeDigest();
  const folders = [''];
  for (let above = folders.pop(); above !== undefined; above = folders.pop()) {
    for await (const entries of inParts(await opendir(join(folder, above), { bufferSize: filesAtOnce }), filesAtOnce)) {
      signal?.throwIfAborted();
      await Promise.all(
        entries.map(async (entry) => {
          const path = join(above!, entry.name);
          if (entry.isDirectory()) {
            folders.push(path);
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
