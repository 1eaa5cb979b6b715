import { createHash, randomUUID } from 'node:crypto';
import { lstat, readdir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

const prefix = 'large-image-';
/** Containers that share a directory number their processes alike, but have names of their own. */
const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const namePattern = /^large-image-([0-9a-f]{8})-(\d+)-[0-9a-f-]{36}(\.\w+)?$/;

/** Files of other machines are taken to be left behind when nobody has written to them for this long, in milliseconds. */
const maxForeignAgeMs = 24 * 60 * 60 * 1000;

/** A path for a new temporary file, which says in its name whose it is. */
export function temporaryPath(directory: string, extension = ''): string {
  return join(directory, `${prefix}${machine}-${process.pid}-${randomUUID()}${extension}`);
}

/**
 * Takes away the name of a temporary file that is open and needs none any more: what is in it goes when it is closed, or the process ends.
 *
 * @returns what removes the file after it was closed, where the system insists on a name for open files.
 */
export async function unlinkOpenFile(path: string): Promise<() => Promise<void>> {
  const unlinked = await unlink(path).then(...yesOrNo);
  return unlinked ? async () => {} : () => unlink(path).catch(() => {});
}

/**
 * Removes the temporary files of processes that are no more: a process that was killed cannot do it itself.
 *
 * @returns how many were removed.
 */
export async function sweepTemporaryFiles(directory: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory)) {
    const [, owner, pid] = namePattern.exec(name) ?? [];
    if (owner === undefined || pid === undefined) continue;
    const path = join(directory, name);
    const isLeft = owner === machine ? !isRunning(Number(pid)) : await isOld(path);
    if (isLeft && (await unlink(path).then(...yesOrNo))) removed += 1;
  }
  return removed;
}

const yesOrNo = [() => true, () => false] as const;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process may not be asked, but it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isOld(path: string): Promise<boolean> {
  return lstat(path).then(
    ({ mtimeMs }) => mtimeMs < Date.now() - maxForeignAgeMs,
    () => false,
  );
}
