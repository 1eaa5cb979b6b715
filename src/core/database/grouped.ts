import { isDatabaseOutage } from './outage.js';

/**
 * Joins calls into groups: those of the same moment share one way to the database.
 *
 * @param work gives one result for each input, in order. When it fails for several together, each is tried alone, so that none
 * suffers from another's fault: it must bear being repeated.
 * @param options `maxSize`: most inputs of a group; `pauseMs`: what comes so soon after a group waits, for company, until then.
 */
export function grouped<T, R>(
  work: (inputs: readonly T[]) => Promise<readonly R[]>,
  { maxSize = 100, pauseMs = 0 }: { maxSize?: number; pauseMs?: number } = {},
): (input: T) => Promise<R> {
  interface Call {
    input: T;
    resolve: (result: R) => void;
    reject: (error: unknown) => void;
  }
  let waiting: Call[] = [];
  let begunAt = -Infinity;

  const settle = async (group: readonly Call[]): Promise<void> => {
    try {
      const results = await work(group.map(({ input }) => input));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
    } catch (error) {
      if (group.length === 1 || isDatabaseOutage(error)) for (const { reject } of group) reject(error);
      else await Promise.all(group.map((each) => settle([each])));
    }
  };
  const begin = (): void => {
    begunAt = performance.now();
    const group = waiting;
    waiting = [];
    for (let start = 0; start < group.length; start += maxSize) void settle(group.slice(start, start + maxSize));
  };
  return (input) =>
    new Promise((resolve, reject) => {
      const due = begunAt + pauseMs - performance.now();
      if (waiting.length === 0) {
        if (due > 0) setTimeout(begin, due);
        else setImmediate(begin);
      }
      waiting.push({ input, resolve, reject });
    });
}
