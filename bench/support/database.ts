import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startDatabase } from '../../src/reference-host/index.js';

const durable = new URL('../../../shared/tools/documentdb/start', import.meta.url).pathname;

/**
 * A database server for benchmarks: `MONGODB_URI`; else the durable one beside the repository; else, or when `embedded` is asked for,
 * the one of `npm start`.
 */
export async function benchDatabase(
  directory: string,
  kind: 'durable' | 'embedded' = 'durable',
): Promise<{ uri: string; engine: string; stop: () => Promise<void> }> {
  const run = promisify(execFile);
  if (kind === 'durable' && process.env.MONGODB_URI === undefined && existsSync(durable)) {
    // Its own folder: it may run as another user, who must be let in.
    const data = join('/var/tmp', `${directory.split('/').at(-1)}-database`);
    const { stdout } = await run(durable, [data]);
    const uri = /^MONGODB_URI=(\S+)$/m.exec(stdout)?.[1];
    if (uri === undefined) throw new Error(`No connection string in: ${stdout}`);
    const stop = async () => {
      await run(durable, ['--stop', data]);
      await run('rm', ['-rf', data]);
    };
    return { uri, engine: 'documentdb', stop };
  }
  const database = await startDatabase({ env: process.env, directory: null });
  return { uri: database.uri, engine: database.engine, stop: () => database.stop() };
}
