import { Agent, get } from 'node:http';
import autocannon from 'autocannon';

/** What one side of a comparison did in a round: pieces of work per second, and per second of processor time of this process. */
export interface Measured {
  perSecond: number;
  perCpuSecond: number;
}

/** Does its work for some seconds. */
export type Side = (seconds: number) => Promise<Measured>;

async function measured(work: () => Promise<{ count: number; seconds: number }>): Promise<Measured> {
  const before = process.cpuUsage();
  const { count, seconds } = await work();
  const { user, system } = process.cpuUsage(before);
  return { perSecond: count / seconds, perCpuSecond: count / ((user + system) / 1e6) };
}

/** Requests over keep-alive connections. Every answer must be a success. */
export function requests(options: {
  url: string;
  connections: number;
  headers?: Record<string, string>;
  path: () => string;
}): Side {
  const { url, connections, headers = {}, path } = options;
  return (duration) =>
    measured(async () => {
      const next = { method: 'GET' as const, headers, setupRequest: (request: object) => ({ ...request, path: path() }) };
      const result = await autocannon({ url, connections, duration, requests: [next] });
      if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`);
      return { count: result.requests.total, seconds: result.duration };
    });
}

/** Work of this process in a loop, so many at a time. */
export function loop(concurrency: number, work: () => Promise<unknown>): Side {
  return (duration) =>
    measured(async () => {
      let count = 0;
      const start = performance.now();
      const elapsed = () => (performance.now() - start) / 1000;
      const worker = async () => {
        while (elapsed() < duration) {
          await work();
          count += 1;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
      return { count, seconds: elapsed() };
    });
}

/**
 * The same as {@link requests} with a client that does nothing with what it gets: the usual one turns all of it into text, which
 * counts where answers are large and few.
 */
export function downloads(options: {
  url: string;
  connections: number;
  headers: Record<string, string>;
  path: () => string;
}): Side {
  const { url, connections, headers, path } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const download = () =>
    new Promise<void>((resolve, reject) => {
      const address = url + path();
      get(address, { agent, headers }, (response) => {
        response.resume();
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${address} answered ${response.statusCode}`));
        });
      }).once('error', reject);
    });
  return loop(connections, download);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Lets both sides work in turns and prints how the medians compare. @returns whether the target is reached. */
export async function compare(
  name: string,
  sides: { ours: Side; reference: Side; against: string },
  { rounds = 5, seconds = 3, target, cpu = false }: { rounds?: number; seconds?: number; target: number; cpu?: boolean },
): Promise<boolean> {
  const ours: Measured[] = [];
  const reference: Measured[] = [];
  // The first second of each is for compilers and caches.
  await sides.reference(1);
  await sides.ours(1);
  for (let round = 0; round < rounds; round += 1) {
    reference.push(await sides.reference(seconds));
    ours.push(await sides.ours(seconds));
  }
  const ratio = (key: keyof Measured) => median(ours.map((each) => each[key])) / median(reference.map((each) => each[key]));
  const reached = ratio('perSecond') >= target;
  const perSecond = median(ours.map((each) => each.perSecond));
  console.log(
    `${name.padEnd(44)} ${perSecond.toFixed(0).padStart(6)}/s  ${ratio('perSecond').toFixed(2).padStart(6)} × ${sides.against}` +
      ` (to reach: ${target}; ${reached ? 'reached' : 'NOT REACHED'})` +
      (cpu ? `, by processor time ${ratio('perCpuSecond').toFixed(2)} ×` : ''),
  );
  return reached;
}
