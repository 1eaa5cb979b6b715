import { describe, expect, it } from 'vitest';
import { SourceCache } from '../../../../src/features/caches/source-cache.js';

/** A stand-in for an image, which records whether it is closed. */
class Handle {
  isOpen = true;
  closings = 0;

  constructor(readonly size = 1) {}

  async close(): Promise<void> {
    this.closings += 1;
    this.isOpen = false;
  }
}

function makeCache(limits: { maxEntries?: number; maxBytes?: number } = {}) {
  const closeErrors: unknown[] = [];
  const opened: Handle[] = [];
  const cache = new SourceCache<Handle>({
    maxEntries: 2,
    maxBytes: 1000,
    ...limits,
    sizeOf: (handle) => handle.size,
    onCloseError: (error) => closeErrors.push(error),
  });
  const open = (size?: number) => async () => {
    const handle = new Handle(size);
    opened.push(handle);
    return handle;
  };
  const touch = (key: string, size?: number) => cache.use(key, open(size), (handle) => handle);
  return { cache, open, opened, touch, closeErrors };
}

/** A promise with the functions that settle it. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((resolvePromise, rejectPromise) => {
    resolve = resolvePromise;
    reject = rejectPromise;
  });
  return { promise, resolve, reject };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('SourceCache', () => {
  it('opens once for readers at the same time and later ones', async () => {
    const { cache, open, opened, touch } = makeCache();
    const handles = await Promise.all([1, 2, 3].map(() => cache.use('a', open(), (handle) => handle)));
    expect(new Set([...handles, await touch('a')]).size).toBe(1);
    expect(opened).toHaveLength(1);
    expect(cache.report()).toEqual({ maxsize: 2, used: 1 });
  });

  it('aborts an opening when all waiting callers have left, and reopens for the next', async () => {
    const { cache, open } = makeCache();
    const signals: AbortSignal[] = [];
    const endless = (signal: AbortSignal) =>
      new Promise<Handle>((_resolve, reject) => {
        signals.push(signal);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = [first, second].map(({ signal }) => cache.use('a', endless, (handle) => handle, signal));
    first.abort();
    await expect(waiting[0]).rejects.toThrow();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    second.abort();
    await expect(waiting[1]).rejects.toThrow();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect((await cache.use('a', open(), (handle) => handle)).isOpen).toBe(true);
  });

  it('closes the least recently used image when there are too many', async () => {
    const { cache, opened, touch } = makeCache();
    for (const key of ['a', 'b', 'a', 'c']) await touch(key);
    await settled();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([true, false, true]);
    expect(cache.report().used).toBe(2);
  });

  it('closes images beyond its byte limit, and keeps a single one that exceeds it', async () => {
    const { opened, touch } = makeCache({ maxEntries: 10 });
    await touch('a', 600);
    await touch('b', 300);
    await settled();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([true, true]);
    await touch('c', 300);
    await settled();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, true, true]);
    await touch('huge', 5000);
    await settled();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, false, false, true]);
    await touch('huge', 5000);
    expect(opened).toHaveLength(4);
  });

  it('never closes under a reader', async () => {
    const { cache, open, opened, touch } = makeCache({ maxEntries: 1 });
    const gate = deferred<void>();
    const reading = cache.use('a', open(), async (handle) => {
      await gate.promise;
      return handle.isOpen;
    });
    await settled();
    await touch('b');
    cache.evict(() => true);
    await settled();
    expect(opened[0]?.isOpen).toBe(true);
    expect(opened[1]?.isOpen).toBe(false);
    gate.resolve();
    expect(await reading).toBe(true);
    await settled();
    expect(opened[0]?.closings).toBe(1);
    expect(cache.report().used).toBe(0);
  });

  it('closes an image that was evicted while it was being opened, once its reader is done', async () => {
    const { cache, touch } = makeCache({ maxEntries: 1 });
    const opening = deferred<Handle>();
    const reading = cache.use(
      'a',
      () => opening.promise,
      (handle) => handle.isOpen,
    );
    await touch('b');
    const handle = new Handle();
    opening.resolve(handle);
    expect(await reading).toBe(true);
    await settled();
    expect(handle.closings).toBe(1);
    expect(cache.report().used).toBe(1);
  });

  it('forgets a failed opening, and reports it to all waiting callers', async () => {
    const { cache, opened, touch } = makeCache();
    const opening = deferred<Handle>();
    const readers = [1, 2].map(() =>
      cache.use(
        'a',
        () => opening.promise,
        (handle) => handle,
      ),
    );
    opening.reject(new Error('cannot be read'));
    for (const reader of readers) await expect(reader).rejects.toThrow('cannot be read');
    expect(cache.report().used).toBe(0);
    await touch('a');
    expect(opened).toHaveLength(1);
    expect(cache.report().used).toBe(1);
  });

  it('passes on the error of a reader and stays usable', async () => {
    const { cache, open, opened, touch } = makeCache();
    await expect(
      cache.use('a', open(), () => {
        throw new Error('no such tile');
      }),
    ).rejects.toThrow('no such tile');
    await touch('a');
    expect(opened).toHaveLength(1);
  });

  it('closes all on clear, each once, and reports closings that fail', async () => {
    const { cache, open, opened, touch, closeErrors } = makeCache();
    await touch('a');
    await cache.use('b', open(), (handle) => {
      handle.close = async () => {
        throw new Error('cannot be closed');
      };
    });
    await cache.clear();
    expect(opened[0]?.closings).toBe(1);
    expect(closeErrors.map(String)).toEqual(['Error: cannot be closed']);
    expect(cache.report().used).toBe(0);
    await cache.clear();
    expect(opened[0]?.closings).toBe(1);
  });

  it('keeps none open when its limit is 0', async () => {
    const { cache, opened, touch } = makeCache({ maxEntries: 0 });
    await touch('a');
    await touch('a');
    await settled();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, false]);
    expect(cache.report()).toEqual({ maxsize: 0, used: 0 });
  });
});
