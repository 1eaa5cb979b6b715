import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ServerWork } from '../programs/loop-watch.js';
import { until } from '../run/until.js';

/** `npm start -- --bare` in its own process, which measures its event loop and counts its work. */
export interface WatchedServer {
  url: string;
  process: ChildProcess;
  /** Its work since the last call. */
  work(): Promise<ServerWork>;
  /** Its output so far. */
  output(): string;
  close(): Promise<void>;
}

interface Options {
  /** Folder of the programs that were built (`run/built-program.ts`). */
  programs: string;
  databaseUri: string;
  dataDirectory: string;
}

/** Starts one with the caller's database and data folder. */
export async function startWatchedServer({ programs, databaseUri, dataDirectory }: Options): Promise<WatchedServer> {
  const child = fork(join(programs, 'main.js'), ['--bare'], {
    execArgv: ['--import', join(programs, 'loop-watch.js')],
    env: {
      ...process.env,
      PORT: '0',
      MONGODB_URI: databaseUri,
      DATA_DIR: dataDirectory,
      LOG_LEVEL: 'warn',
      WATCH_LOOP: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const url = await until(
    'the banner of the server',
    () => /^Stop with Ctrl-C/m.test(text) && /^Address +(\S+)\/$/m.exec(text)?.[1],
  );
  return {
    url,
    process: child,
    output: () => text,
    async work() {
      child.send('work');
      const [answer] = (await once(child, 'message')) as [ServerWork];
      return answer;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
