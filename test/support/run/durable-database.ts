import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../../../shared/tools/documentdb/start', import.meta.url));

/** A database that keeps what was acknowledged on disk. */
interface DurableDatabase {
  uri: string;
  stop(): Promise<void>;
}

/** The database of `MONGODB_URI`, or one that is started if its tool is next to the repository; `null` if there is neither. */
export async function startDurableDatabase(): Promise<DurableDatabase | null> {
  if (process.env.MONGODB_URI) return { uri: process.env.MONGODB_URI, stop: () => Promise.resolve() };
  if (!existsSync(program)) return null;
  // The folder for temporary files may be in memory, but PostgreSQL needs a disk.
  const folder = await mkdtemp('/var/tmp/large-image-documentdb.');
  const stop = async (): Promise<void> => {
    spawnSync(program, ['--stop', folder], { stdio: 'inherit' });
    // Both processes write until they have ended.
    await rm(folder, { recursive: true, force: true, maxRetries: 50 });
  };
  const { stdout, status } = spawnSync(program, [folder], { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
  const uri = /^MONGODB_URI=(.*)$/m.exec(stdout)?.[1];
  if (status === 0 && uri !== undefined) return { uri, stop };
  await stop();
  throw new Error(`The durable database did not start (exit code ${status}).`);
}
