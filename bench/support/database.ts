import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startDatabase } from '../../src/reference-host/index.js';

const durableProgram = new URL('../../../shared/tools/documentdb/start', import.meta.url).pathname;

/** A database server of a benchmark. */
export interface BenchDatabase {
  uri: string;
  engine: string;
  /**
   * Kills all processes of the database, as a power failure would, and starts it again on the same data. Absent if the database would lose
   * its data. @returns the new address of the database.
   */
  killAndStart?: () => Promise<string>;
  stop: () => Promise<void>;
}

/**
 * A database server for benchmarks: the server of `MONGODB_URI`, or else the durable one next to the repository. If there is neither,
 * or if `embedded` is requested, it is the database that `npm start` uses.
 */
export async function benchDatabase(directory: string, kind: 'durable' | 'embedded' = 'durable'): Promise<BenchDatabase> {
  const run = promisify(execFile);
  if (kind === 'durable' && process.env.MONGODB_URI === undefined && existsSync(durableProgram)) {
    // The data are in a separate folder, because the database may run as another user, who needs access to the folder.
    const data = join('/var/tmp', `${directory.split('/').at(-1)}-database`);
    const start = async () => {
      const { stdout } = await run(durableProgram, [data]);
      const uri = /^MONGODB_URI=(\S+)$/m.exec(stdout)?.[1];
      if (uri === undefined) throw new Error(`No connection string in: ${stdout}`);
      return uri;
    };
    const uri = await start();
    const killAndStart = async () => {
      const pids = await Promise.all(
        ['ferretdb', 'postgres'].map((name) => readFile(join(data, `${name}.pid`), 'utf8').then(Number)),
      );
      await killTrees(pids);
      // The killed server counts as running until its parent has read its exit code.
      await rm(join(data, 'pg', 'data', 'postmaster.pid'), { force: true });
      return start();
    };
    const stop = async () => {
      await run(durableProgram, ['--stop', data]);
      // The database may still be writing its last files.
      await rm(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    };
    return { uri, engine: 'documentdb', killAndStart, stop };
  }
  const database = await startDatabase({ env: process.env, directory: null });
  return { uri: database.uri, engine: database.engine, stop: () => database.stop() };
}

/** Kills processes with their children at the same moment, and waits until they are gone. */
async function killTrees(roots: readonly number[]): Promise<void> {
  const pids = new Set(roots);
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    // After the name of the program, which may contain anything: state, parent.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (roots.includes(parent)) pids.add(Number(name));
  }
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has exited on its own.
    }
  }
  const isRunning = (pid: number) => {
    const text = readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    return text.then((stat) => stat !== '' && !/\) Z /.test(stat));
  };
  for (const pid of pids) while (await isRunning(pid)) await pause(20);
}
