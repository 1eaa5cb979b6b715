import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { startChild } from '../support/children.js';

/** The results of one side of a comparison in a round: tasks per second, and per second of processor time of this process. */
export interface Throughput {
  perSecond: number;
  perCpuSecond: number;
}

/** One side of a comparison, which does its work for some seconds. */
export type Side = (seconds: number) => Promise<Throughput>;

/** Number of tasks, and how long they took. */
export interface TaskResult {
  count: number;
  seconds: number;
}

async function measureThroughput(work: () => Promise<TaskResult>): Promise<Throughput> {
  const before = process.cpuUsage();
  const { count, seconds } = await work();
  const { user, system } = process.cpuUsage(before);
  return { perSecond: count / seconds, perCpuSecond: count / ((user + system) / 1e6) };
}

/** A side that sends requests over keep-alive connections. Every response must be a success. */
export function requests(options: {
  url: string;
  connections: number;
  headers?: Record<string, string>;
  path: () => string;
}): Side {
  const { url, connections, headers = {}, path } = options;
  return (duration) =>
    measureThroughput(async () => {
      const next = { method: 'GET' as const, headers, setupRequest: (request: object) => ({ ...request, path: path() }) };
      const result = await autocannon({ url, connections, duration, requests: [next] });
      if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`);
      return { count: result.requests.total, seconds: result.duration };
    });
}

/** Repeats a task, with `concurrency` calls at the same time, until the time is over or `isEnough` returns true. */
export async function repeat(
  concurrency: number,
  work: () => Promise<unknown>,
  duration: number,
  isEnough = () => false,
): Promise<TaskResult> {
  let count = 0;
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  const worker = async () => {
    while (elapsed() < duration && !isEnough()) {
      await work();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { count, seconds: elapsed() };
}

/** A side that repeats work of this process, with `concurrency` calls at the same time. */
export function loop(concurrency: number, work: () => Promise<unknown>): Side {
  return (duration) => measureThroughput(() => repeat(concurrency, work, duration));
}

/** A client in a separate process, so that its processor time does not count as the server's. It discards what it receives. */
export interface Client {
  downloads(options: Omit<Download, 'paths' | 'seconds'> & { path: () => string }): Side;
  stop(): Promise<void>;
}

/** No host makes more pictures per second than this, so a download gets enough paths. */
const maxPerSecond = 2000;

/** Starts the client. */
export async function startClient(): Promise<Client> {
  const child = await startChild(fileURLToPath(new URL('client.ts', import.meta.url)), []);
  return {
    stop: () => child.stop(),
    downloads:
      ({ path, ...options }) =>
      (seconds) =>
        measureThroughput(async () => {
          const paths = Array.from({ length: Math.ceil(seconds * maxPerSecond) }, path);
          const download: Download = { ...options, paths, seconds };
          const answer = (await child.ask('download', JSON.stringify(download))) as TaskResult | { failed: string };
          if ('failed' in answer) throw new Error(answer.failed);
          return answer;
        }),
  };
}

const warmUpSeconds = 5;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

interface CompareOptions {
  rounds?: number;
  seconds?: number;
  target: number;
  /** Prints the ratio by processor time, too. With `judged`, the target is for that ratio. */
  cpu?: boolean | 'judged';
  /** Compares the best rounds of both sides instead of the medians. */
  best?: boolean;
}

/** Runs both sides in turns and prints the ratio of their medians. @returns whether the target is reached. */
export async function compare(
  name: string,
  sides: { ours: Side; reference: Side; against: string },
  { rounds = 5, seconds = 3, target, cpu = false, best = false }: CompareOptions,
): Promise<boolean> {
  const ours: Throughput[] = [];
  const reference: Throughput[] = [];
  // The first seconds of both sides warm up caches and the compiler, which uses the same processors.
  await sides.reference(warmUpSeconds);
  await sides.ours(warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    reference.push(await sides.reference(seconds));
    ours.push(await sides.ours(seconds));
  }
  const of = (side: readonly Throughput[], key: keyof Throughput) => {
    const values = side.map((each) => each[key]);
    return best ? Math.max(...values) : median(values);
  };
  const ratio = (key: keyof Throughput) => of(ours, key) / of(reference, key);
  const isReached = ratio(cpu === 'judged' ? 'perCpuSecond' : 'perSecond') >= target;
  const perSecond = of(ours, 'perSecond');
  console.log(
    `${name.padEnd(44)} ${perSecond.toFixed(0).padStart(6)}/s  ${ratio('perSecond').toFixed(2).padStart(6)} × ${sides.against}` +
      (cpu === 'judged' ? ` by the clock, ${ratio('perCpuSecond').toFixed(2)} × by processor time` : '') +
      ` (to reach: ${target}; ${isReached ? 'reached' : 'NOT REACHED'})` +
      (cpu === true ? `, by processor time ${ratio('perCpuSecond').toFixed(2)} ×` : ''),
  );
  return isReached;
}

/** Requests for each path once, until the time is up. */
export interface Download {
  url: string;
  connections: number;
  headers: Record<string, string>;
  paths: string[];
  seconds: number;
}
