import { readFile } from 'node:fs/promises';
import { SourceCache } from '../../src/features/caches/source-cache.js';
import type { TileSource } from '../../src/tilesource/tile-source.js';
import { median, megabytes } from '../support/measure.js';
import { repeat } from '../tiles/measure.js';
import type { Openable } from './pictures.js';

/** How many times the memory is measured. */
const measurementCount = 20;

/** Resident bytes of this process and of its child processes, as far as Linux reports them. */
async function resident(): Promise<number> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, 'latin1').catch(() => '');
  const pages = await Promise.all(
    children
      .trim()
      .split(' ')
      .map(async (pid) => Number((await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '0 0')).split(' ')[1])),
  );
  return process.memoryUsage.rss() + pages.reduce((sum, count) => sum + count, 0) * 4096;
}

/** Requests tiles of random files, some of which are kept open, until there were enough requests or the time is over. */
export async function memoryOverRequests(
  files: readonly Openable[],
  limits: { requests: number; seconds: number; concurrency: number },
  anyTile: (source: TileSource) => Promise<unknown>,
): Promise<void> {
  const cache = new SourceCache<TileSource>({
    maxEntries: 64,
    maxBytes: 2 ** 28,
    sizeOf: ({ retainedBytes = 0 }) => retainedBytes,
    onCloseError: (error) => console.error(error),
  });
  const residentBytes: number[] = [];
  const counts = new Map<string, number>();
  let requestsLeft = limits.requests;
  const requestTile = async () => {
    requestsLeft -= 1;
    const index = Math.floor(Math.random() * files.length);
    const { name, open } = files[index]!;
    await cache.use(String(index), open, anyTile);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (let measurement = 1; measurement <= measurementCount; measurement += 1) {
    const requestsLeftAtEnd = Math.round(limits.requests * (1 - measurement / measurementCount));
    await repeat(limits.concurrency, requestTile, limits.seconds / measurementCount, () => requestsLeft <= requestsLeftAtEnd);
    residentBytes.push(await resident());
  }
  await cache.clear();
  const [earlyBytes, lateBytes] = [median(residentBytes.slice(2, 7)), median(residentBytes.slice(-5))];
  const requestCount = [...counts.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `${requestCount} requests on ${files.length} files of ${counts.size} formats: ${megabytes(earlyBytes)} resident after a quarter, ${megabytes(lateBytes)} at the end` +
      ` (target: 50 MB more; ${lateBytes - earlyBytes < 50e6 ? 'reached' : 'NOT REACHED'})`,
  );
  console.log(`MB at each twentieth: ${residentBytes.map((bytes) => (bytes / 1e6).toFixed(0)).join(' ')}`);
  console.log([...counts].map(([name, count]) => `${name} ${count}`).join('; '));
}
