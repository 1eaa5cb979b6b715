import { createHash } from 'node:crypto';
import { mkdir, open, realpath, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readTextFrom, listenAt } from '../upkeep/sockets.js';

/** A process that takes longer than this to remove a dead socket, in milliseconds, counts as killed. */
const removalTimeoutMs = 10_000;
const retryMs = 50;
/** Enough attempts to outlast a process that was killed while it removed a dead socket. */
const maxAttempts = (2 * removalTimeoutMs) / retryMs;

/** Thrown if another server uses the data folder. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
}

/**
 * Makes sure that only one server at a time uses a data folder, which is created if it does not exist. The lock is a listening
 * socket: the system releases it however this process ends, and it does not depend on process numbers, which are reused.
 *
 * @returns the function that releases the folder
 * @throws {@link DataDirectoryInUseError} if another process holds the lock
 */
export async function lockDataDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true });
  const path = await findSocketPath(directory);
  for (let attempt = 0; ; attempt++) {
    const server = await tryListen(path);
    if (server !== null) {
      return async () => {
        await new Promise<void>((resolve) => server.close(() => resolve()));
      };
    }
    const holderPid = await readTextFrom(path);
    if (holderPid !== null || attempt >= maxAttempts) {
      throw new DataDirectoryInUseError(
        `Another server${holderPid ? ` (process ${holderPid})` : ''} is using the data folder ${directory}. ` +
          'Stop it, or set DATA_DIR to another folder for this one.',
      );
    }
    await removeDeadSocket(path);
  }
}

/**
 * Removes the socket that a killed process has left. Only one process at a time can do this; otherwise a second one could remove
 * the socket of a server that has just started to listen there. No server can listen at a path that is taken, so a dead
 * socket stays dead until this process has removed it.
 */
async function removeDeadSocket(path: string): Promise<void> {
  const removalLockPath = `${path}.clear`;
  const file = await open(removalLockPath, 'wx').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return null;
    throw error;
  });
  if (file === null) {
    const createdAtMs = await stat(removalLockPath).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    // The process that created this file was killed too.
    if (createdAtMs !== null && Date.now() - createdAtMs > removalTimeoutMs) await rm(removalLockPath, { force: true });
    else await wait(retryMs);
    return;
  }
  try {
    // A server seems dead in the moment between taking the path and listening at it, so the socket is tried twice.
    if ((await readTextFrom(path)) !== null || (await wait(retryMs).then(() => readTextFrom(path))) !== null) return;
    await rm(path, { force: true });
  } finally {
    await file.close();
    await rm(removalLockPath, { force: true });
  }
}

async function findSocketPath(directory: string): Promise<string> {
  const realDirectory = await realpath(directory);
  const digest = createHash('sha256').update(realDirectory).digest('hex').slice(0, 24);
  if (process.platform === 'win32') return `\\\\.\\pipe\\large-image-${digest}`;
  const path = join(realDirectory, '.lock');
  // The system limits the path of a socket to 104 to 108 bytes.
  return Buffer.byteLength(path) <= 90 ? path : join(tmpdir(), `large-image-${digest}.lock`);
}

/** Listens at a path. @returns `null` if the path is taken */
async function tryListen(path: string): Promise<Server | null> {
  try {
    return await listenAt(path, `${process.pid}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
}
