import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasEnded, processName } from './database/leases/process-name.js';

const prefix = 'large-image-';
const namePattern = /^\.?large-image-([0-9a-f]{12}-\d+-\d+)_[0-9a-f-]{36}(\.[.\w]+)?$/;

/** Files of processes that cannot be asked are taken to be left behind when nobody has written to them for this long, in milliseconds. */
const maxForeignAgeMs = 24 * 60 * 60 * 1000;

function newName(extension: string): string {
  return `${prefix}${processName()}_${randomUUID()}${extension}`;
}

/** A path for a new temporary file, which says in its name whose it is. */
export function temporaryPath(directory: string, extension = ''): string {
  return join(directory, newName(extension));
}

/** The same for a file in a folder that people look into: a hidden one. */
export function hiddenTemporaryPath(directory: string, extension = ''): string {
  return join(directory, `.${newName(extension)}`);
}

/** Makes a directory for temporary files, which says in its name whose it is. @returns its path, and what removes it. */
export async function temporaryDirectory(parent: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = temporaryPath(parent, '.d');
  await mkdir(path, { mode: 0o700 });
  // A process that was killed may still hold a file for a moment.
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
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
 * Removes the temporary files and directories of processes that are no more: a process that was killed cannot do it itself.
 *
 * @returns how many were removed.
 */
export async function sweepTemporaryFiles(directory: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory)) {
    const owner = namePattern.exec(name)?.[1];
    if (owner === undefined) continue;
    const path = join(directory, name);
    // In a folder that all may write to, what others put there is not touched: it might change while it is removed.
    if (!(await isOurs(path)) || (!hasEnded(owner) && !(await isOld(path)))) continue;
    if (await rm(path, { recursive: true, maxRetries: 2 }).then(...yesOrNo)) removed += 1;
  }
  return removed;
}

const yesOrNo = [() => true, () => false] as const;

/** Whether nobody has changed a file, or what is in a directory, for a long time. */
async function isOld(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  const times = await Promise.all([path, ...names.map((each) => join(path, each))].map(changedAt));
  return Math.max(...times) < Date.now() - maxForeignAgeMs;
}

async function changedAt(path: string): Promise<number> {
  return lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    // It goes at this moment: whoever wrote it is there.
    () => Date.now(),
  );
}

async function isOurs(path: string): Promise<boolean> {
  return lstat(path).then(
    ({ uid }) => process.getuid === undefined || uid === process.getuid(),
    () => false,
  );
}
