import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FreshCache } from '../../../src/core/concurrency/fresh-cache.js';

describe('a cache of short-lived answers', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** A function whose results are numbered. */
  function numbered() {
    let count = 0;
    return { ask: vi.fn(async () => ({ number: ++count })) };
  }
  const makeCache = () => new FreshCache<{ number: number }>({ max: 10, lifetimeMs: 1000 });

  it('makes one request for simultaneous callers', async () => {
    const { ask } = numbered();
    const cache = makeCache();
    const answers = await Promise.all(Array.from({ length: 5 }, async () => cache.get('a', ask)));
    expect(answers.map(({ number }) => number)).toEqual([1, 1, 1, 1, 1]);
    expect(cache.get('a', ask)).toEqual({ number: 1 });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('renews used entries in the background, so that nobody waits', async () => {
    const { ask } = numbered();
    const cache = makeCache();
    await cache.get('a', ask);
    await vi.advanceTimersByTimeAsync(500);
    // The cached value itself, not a promise.
    expect(cache.get('a', ask)).toEqual({ number: 1 });
    await vi.advanceTimersByTimeAsync(0);
    expect(cache.get('a', ask)).toEqual({ number: 2 });
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('trusts no response older than its lifetime, counted from the request', async () => {
    const { ask } = numbered();
    const cache = makeCache();
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 900));
      return ask();
    };
    const first = cache.get('a', slow);
    await vi.advanceTimersByTimeAsync(900);
    await first;
    await vi.advanceTimersByTimeAsync(99);
    // A call that renews the value is running, and will fail.
    expect(cache.get('a', () => Promise.reject(new Error('away')))).toEqual({ number: 1 });
    await vi.advanceTimersByTimeAsync(1);
    await expect(cache.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await cache.get('a', ask)).toEqual({ number: 2 });
  });

  it('does not keep a response that was invalidated before it arrived', async () => {
    const { ask } = numbered();
    const cache = makeCache();
    const deleted = cache.get('a', ask);
    cache.delete('a');
    await deleted;
    expect(await cache.get('a', ask)).toEqual({ number: 2 });
    const cleared = cache.get('b', ask);
    cache.clear();
    await cleared;
    expect(await cache.get('b', ask)).toEqual({ number: 4 });
  });
});
