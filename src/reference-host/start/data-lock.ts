import { createHash } from 'node:crypto';
import { mkdir, realpath, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askAt, listenAt } from '../upkeep/sockets.js';

/** Another server uses the folder. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
}

/**
 * Makes sure that one server at a time uses a data folder, which is made if it does not exist. The lock is a listening socket: the
 * system lets go of it however this process ends, and a process number that is used again means nothing.
 *
 * @returns the function that lets go of the folder
 * @throws {@link DataDirectoryInUseError} when another process holds it
 */
export async function lockDataDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true });
  const path = await socketPath(directory);
  for (let attempt = 0; ; attempt++) {
    const server = await listen(path);
    if (server !== null) {
      return async () => {
        await new Promise<void>((resolve) => server.close(() => resolve()));
      };
    }
    const holder = await askAt(path);
    if (holder !== null || attempt >= 5) {
      throw new DataDirectoryInUseError(
        `Another server${holder ? ` (process ${holder})` : ''} uses the data folder ${directory}. ` +
          'Stop it, or set DATA_DIR to another folder for this one.',
      );
    }
    // The holder was killed and left its socket. Moved aside first: of two that find it, one moves it and the other tries again.
    const aside = `${path}.${process.pid}`;
    await rename(path, aside).catch(() => undefined);
    await rm(aside, { force: true });
  }
}

async function socketPath(directory: string): Promise<string> {
  const real = await realpath(directory);
  const digest = createHash('sha256').update(real).digest('hex').slice(0, 24);
  if (process.platform === 'win32') return `\\\\.\\pipe\\large-image-${digest}`;
  const path = join(real, '.lock');
  // The system allows 104 to 108 bytes for the path of a socket, and some for the name it is moved aside to.
  return Buffer.byteLength(path) <= 90 ? path : join(tmpdir(), `large-image-${digest}.lock`);
}

/** The listening server, or `null` when the path is taken. */
async function listen(path: string): Promise<Server | null> {
  try {
    return await listenAt(path, `${process.pid}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
}
