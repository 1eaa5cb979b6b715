import { availableParallelism } from 'node:os';

/** Returns the result of `run`, and how long it took in milliseconds. */
export async function timed<T>(run: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await run();
  return [result, performance.now() - start];
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** The ratio of elapsed time to processor time of a fixed piece of work: 1 if no other program uses the processor. */
function busyness(): number {
  const before = { wall: performance.now(), cpu: process.cpuUsage() };
  let sum = 0;
  for (let i = 0; i < 100_000_000; i += 1) sum += i % 7;
  const { user, system } = process.cpuUsage(before.cpu);
  return sum === 0 ? 0 : (performance.now() - before.wall) / ((user + system) / 1000);
}

/** Prints whether other programs keep the processors busy. */
export function printLoad(): void {
  const busy = busyness();
  console.log(`${availableParallelism()} processors; the clock runs ${busy.toFixed(2)} times as fast as the processor.`);
  if (busy > 1.1) console.log('Something else is running. The measurements are not reliable.');
}
