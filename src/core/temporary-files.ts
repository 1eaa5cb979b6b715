import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { hasEnded, processName } from './database/leases/process-name.js';

const prefix = 'large-image-';
const namePattern = /^\.?large-image-([0-9a-f]{12}-\d+-\d+)_[0-9a-f-]{36}(\.[.\w]+)?$/;

/** Files of processes on other machines count as leftovers if they have not been written to for this long, in milliseconds. */
const maxForeignAgeMs = 24 * 60 * 60 * 1000;

function newFileName(extension: string): string {
  return `${prefix}${processName()}_${randomUUID()}${extension}`;
}

/** Makes a path for a new temporary file. The file name contains the name of this process. */
export function temporaryPath(directory: string, extension = ''): string {
  return join(directory, newFileName(extension));
}

/** Like {@link temporaryPath}, but for a hidden file, in a folder that people use. */
export function hiddenTemporaryPath(directory: string, extension = ''): string {
  return join(directory, `.${newFileName(extension)}`);
}

/**
 * Creates a directory for temporary files. Its name contains the name of this process.
 *
 * @returns its path, and a function that removes the directory.
 */
export async function createTemporaryDirectory(parent: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = temporaryPath(parent, '.d');
  await mkdir(path, { mode: 0o700 });
  // A process that was killed may keep a file open for a moment.
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/**
 * Removes the name of an open temporary file, so that its contents vanish when the file is closed or the process ends.
 *
 * @returns a function to call after the file was closed. If the system did not allow removing the name, the function removes the
 * file.
 */
export async function unlinkOpenFile(path: string): Promise<() => Promise<void>> {
  const isUnlinked = await unlink(path).then(...toSuccess);
  return isUnlinked ? async () => {} : () => unlink(path).catch(() => {});
}

/** Removes temporary files and directories of killed processes. @returns the number of removed files and directories. */
export async function sweepTemporaryFiles(directory: string): Promise<number> {
  let removedCount = 0;
  for (const name of await readdir(directory)) {
    const owner = namePattern.exec(name)?.[1];
    if (owner === undefined) continue;
    const path = join(directory, name);
    // In a folder that everyone can write to, files of other users are not touched, because they might change while they are
    // removed.
    if (!(await isOwnedByUs(path)) || (!hasEnded(owner) && !(await isOld(path)))) continue;
    if (await rm(path, { recursive: true, maxRetries: 2 }).then(...toSuccess)) removedCount += 1;
  }
  return removedCount;
}

/** Handlers for `then` that return whether the promise was fulfilled. */
const toSuccess = [() => true, () => false] as const;

/** Whether a file, or the contents of a directory, has not been changed for a long time. */
async function isOld(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  const times = await Promise.all([path, ...names.map((name) => join(path, name))].map(changeTimeMs));
  return Math.max(...times) < Date.now() - maxForeignAgeMs;
}

async function changeTimeMs(path: string): Promise<number> {
  return lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    // The file is being removed right now, so its process is alive.
    () => Date.now(),
  );
}

async function isOwnedByUs(path: string): Promise<boolean> {
  return lstat(path).then(
    ({ uid }) => process.getuid === undefined || uid === process.getuid(),
    () => false,
  );
}
