import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { builtProgram } from '../run/programs.js';
import type { LoopStretches } from '../run/loop-stretches.js';
import { until } from '../run/until.js';

/** `npm start -- --bare` as a process of its own that measures its event loop. */
export interface WatchedServer {
  url: string;
  process: ChildProcess;
  /** The longest stretches of its event loop since this was last called. */
  stretches(): Promise<LoopStretches>;
  /** What it has written so far. */
  output(): string;
  close(): Promise<void>;
}

/** Starts one with a database and a data folder that are the test's. */
export async function startWatchedServer(options: { databaseUri: string; dataDirectory: string }): Promise<WatchedServer> {
  const child = fork(builtProgram('main'), ['--bare'], {
    execArgv: ['--import', builtProgram('loop-watch')],
    env: {
      ...process.env,
      PORT: '0',
      MONGODB_URI: options.databaseUri,
      DATA_DIR: options.dataDirectory,
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
    async stretches() {
      child.send('stretches');
      const [answer] = (await once(child, 'message')) as [LoopStretches];
      return answer;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
