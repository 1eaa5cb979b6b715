import { describe, expect, it } from 'vitest';
import { mapConcurrently } from '../../../src/core/concurrency/map-concurrently.js';

describe('work on many items', () => {
  it('is done for a limited number at a time, and returns the results in order', async () => {
    let running = 0;
    let most = 0;
    const results = await mapConcurrently([5, 4, 3, 2, 1], 2, async (item) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
      running -= 1;
      return item * 10;
    });
    expect(results).toEqual([50, 40, 30, 20, 10]);
    expect(most).toBe(2);
  });

  it('ends with the first failure, after which nothing else is started', async () => {
    const started: number[] = [];
    const failing = mapConcurrently([1, 2, 3, 4], 1, async (item) => {
      started.push(item);
      if (item === 2) throw new Error('two');
    });
    await expect(failing).rejects.toThrow('two');
    expect(started).toEqual([1, 2]);
  });

  it('yields the event loop even if no item waits for anything', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await mapConcurrently(Array.from({ length: 60 }), 4, async () => {
      const until = performance.now() + 1;
      while (performance.now() < until) {
        // Work that blocks the event loop.
      }
    });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
  });
});
