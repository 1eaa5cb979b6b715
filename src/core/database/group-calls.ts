import { isDatabaseOutage } from './outage.js';

/**
 * Joins simultaneous calls into groups, each of which is one command to the database.
 *
 * @param work returns one result for each input, in order. It must be repeatable: if it fails for a group, it is called again for
 * each input alone, so that no call fails because of another one.
 * @param options `maxSize` is the maximum number of inputs in a group. `pauseMs` is the minimum time between the starts of two
 * groups; calls in between wait and form the next group.
 */
export function groupCalls<T, R>(
  work: (inputs: readonly T[]) => Promise<readonly R[]>,
  { maxSize = 100, pauseMs = 0 }: { maxSize?: number; pauseMs?: number } = {},
): (input: T) => Promise<R> {
  interface Call {
    input: T;
    resolve: (result: R) => void;
    reject: (error: unknown) => void;
  }
  let waitingCalls: Call[] = [];
  let lastStartMs = -Infinity;

  const runGroup = async (group: readonly Call[]): Promise<void> => {
    try {
      const results = await work(group.map(({ input }) => input));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
    } catch (error) {
      if (group.length === 1 || isDatabaseOutage(error)) for (const { reject } of group) reject(error);
      else await Promise.all(group.map((call) => runGroup([call])));
    }
  };
  const startGroups = (): void => {
    lastStartMs = performance.now();
    const calls = waitingCalls;
    waitingCalls = [];
    for (let start = 0; start < calls.length; start += maxSize) void runGroup(calls.slice(start, start + maxSize));
  };
  return (input) =>
    new Promise((resolve, reject) => {
      const dueInMs = lastStartMs + pauseMs - performance.now();
      if (waitingCalls.length === 0) {
        if (dueInMs > 0) setTimeout(startGroups, dueInMs);
        else setImmediate(startGroups);
      }
      waitingCalls.push({ input, resolve, reject });
    });
}
