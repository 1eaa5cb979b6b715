import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuarded } from './child.js';
import type { Database, DatabaseOptions } from './database-options.js';
import { ping } from './uri.js';

/** After a crash, mongod replays its journal before it answers, which can take about a minute for gigabytes of data. */
const startTimeoutMs = 180_000;

/** Whether a folder contains data of mongod. */
export function hasMongodData(directory: string): boolean {
  return existsSync(join(directory, 'WiredTiger'));
}

/** Finds a free port of 127.0.0.1. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('The system did not provide a port.');
  return address.port;
}

/** The last three lines of a file; empty if it cannot be read. */
async function readLastLines(path: string): Promise<string> {
  const file = await open(path).catch(() => null);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const length = Math.min(size, 2000);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8').trim().split('\n').slice(-3).join('\n');
  } finally {
    await file.close();
  }
}

/**
 * Starts `mongod` on a free port of 127.0.0.1, with its data in `options.directory` or in a temporary folder.
 *
 * @throws an error with the last lines of the log if mongod ends before it answers
 */
export async function startMongod(
  program: string,
  options: Pick<DatabaseOptions, 'env' | 'directory' | 'report' | 'signal'>,
): Promise<Database> {
  for (let attempt = 1; ; attempt++) {
    const temporaryDirectory = options.directory === null ? await mkdtemp(join(tmpdir(), 'large-image-database-')) : null;
    const directory = temporaryDirectory ?? options.directory ?? '';
    await mkdir(directory, { recursive: true });
    const port = await findFreePort();
    const logPath = join(directory, 'mongod.log');
    const args = ['--dbpath', directory, '--port', `${port}`, '--bind_ip', '127.0.0.1', '--logpath', logPath];
    const child = startGuarded(program, args, options.env, temporaryDirectory);
    const address = `127.0.0.1:${port}`;
    const uri = `mongodb://${address}/?directConnection=true`;
    const failure = await waitForAnswer(uri, child.exited, options);
    if (failure === null) {
      let isStopped = false;
      return {
        uri,
        address,
        engine: `MongoDB (${program})`,
        durable: temporaryDirectory === null,
        lost: new Promise((resolve) => {
          void child.exited.then((exitReason) => {
            if (!isStopped) resolve(new Error(`mongod ${exitReason}; its log is ${logPath}`));
          });
        }),
        async stop() {
          isStopped = true;
          await child.stop();
        },
      };
    }
    const lastLines = [child.lastLines(), await readLastLines(logPath)].filter((text) => text !== '').join('\n');
    await child.stop();
    options.signal?.throwIfAborted();
    // If another program has taken the port first, another port is tried.
    if (attempt < 3 && /address already in use/i.test(lastLines)) continue;
    throw new Error(`${failure}${lastLines === '' ? '' : `: ${lastLines}`}`);
  }
}

/** Waits until a server answers. @returns `null`, or the reason if it does not answer. */
async function waitForAnswer(
  uri: string,
  exited: Promise<string>,
  options: Pick<DatabaseOptions, 'report' | 'signal'>,
): Promise<string | null> {
  let exitReason: string | null = null;
  void exited.then((text) => {
    exitReason = text;
  });
  const startMs = Date.now();
  let reportedSeconds = 0;
  for (;;) {
    if (options.signal?.aborted) return 'canceled';
    const failure = await ping(uri, 1000).then(
      () => null,
      (error: Error) => error.message,
    );
    if (exitReason !== null) return exitReason;
    if (failure === null) return null;
    const seconds = Math.round((Date.now() - startMs) / 1000);
    if (seconds * 1000 > startTimeoutMs) return `no response within ${startTimeoutMs / 1000} seconds (${failure})`;
    if (seconds >= reportedSeconds + 5) {
      reportedSeconds = seconds;
      options.report?.({ text: `Waiting for mongod, ${seconds} s` });
    }
  }
}
