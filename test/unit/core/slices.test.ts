import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startRequestInTurn, isSliceOver, nextSlice } from '../../../src/core/concurrency/slices.js';

/** A clock that advances only through work. */
let now = performance.now();
beforeAll(() => void vi.spyOn(performance, 'now').mockImplementation(() => now));
afterAll(() => void vi.restoreAllMocks());
const busy = (ms: number): void => {
  now += ms;
};
/** Number of turns of the event loop until a promise is settled. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  void work.then(() => (isDone = true));
  let turns = 0;
  for (; !isDone; turns += 1) await turn();
  return turns;
}

describe('work in slices', () => {
  it('continues in the same turn as long as the slice lasts, and then yields the event loop', async () => {
    const short = Promise.all(Array.from({ length: 200 }, () => nextSlice()));
    expect(await turnsOf(short)).toBeLessThan(20);
    let turns = 0;
    const perTurn = new Map<number, number>();
    const long = Promise.all(
      Array.from({ length: 20 }, async () => {
        await nextSlice();
        for (let i = 0; i < 3; i += 1) {
          busy(4);
          perTurn.set(turns, (perTurn.get(turns) ?? 0) + 1);
          if (isSliceOver()) await nextSlice();
        }
      }),
    );
    let isDone = false;
    void long.then(() => (isDone = true));
    for (; !isDone; turns += 1) await turn();
    // Two tasks fill a slice; the turn is counted before or after them.
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(6);
  });

  it('starts simultaneous requests in order, in several turns between which other work continues', async () => {
    const order: (number | string)[] = [];
    const otherWork = (async () => {
      for (let i = 0; i < 3; i += 1) {
        await nextSlice();
        order.push('work');
      }
    })();
    const request = new AsyncLocalStorage<number>();
    for (let n = 0; n < 120; n += 1) {
      const begin = () => {
        busy(1);
        order.push(request.getStore()!);
      };
      request.run(n, () => startRequestInTurn(begin));
    }
    await otherWork;
    expect(order).not.toContain(119);
    while (!order.includes(119)) await turn();
    expect(order.filter((entry) => entry !== 'work')).toEqual(Array.from({ length: 120 }, (_, n) => n));
  });
});
