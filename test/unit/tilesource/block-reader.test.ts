import { describe, expect, it } from 'vitest';
import { LargeImageError } from '../../../src/index.js';
import { BlockCache } from '../../../src/features/images/block-cache.js';

const block = 512 * 1024;
const content = Uint8Array.from({ length: 5 * block + 77 }, (_, i) => (i * 31 + (i >> 9)) & 255);

interface Fetch {
  start: number;
  end: number;
  signal: AbortSignal | undefined;
  answer(bytes?: Uint8Array): void;
  fail(error: Error): void;
}

/** A file whose fetches are answered by the test, or at once. */
function fileOf(cache: BlockCache, { byHand = false } = {}) {
  const fetches: Fetch[] = [];
  const file = cache.openFile('a file', content.length, (range, signal) => {
    return new Promise((resolve, reject) => {
      const answer = (bytes = content.slice(range.start, range.end)) => resolve(bytes);
      fetches.push({ ...range, signal, answer, fail: reject });
      if (!byHand) answer();
    });
  });
  return { file, fetches, ranges: () => fetches.map(({ start, end }) => [start / block, end / block]) };
}

describe('a file that is read in blocks', () => {
  it('returns the requested bytes at any position, and fetches adjacent blocks together', async () => {
    const { file, ranges } = fileOf(new BlockCache(16 * block));
    for (const [offset, length] of [
      [10, 20],
      [block - 5, 10],
      [block + 3, 2 * block],
      [content.length - 9, 100],
      [content.length, 5],
      [0, content.length],
    ] as const) {
      expect(await file.read(offset, length)).toEqual(content.slice(offset, offset + length));
    }
    const last = content.length / block;
    expect(ranges()).toEqual([
      [0, 1],
      [1, 2],
      [2, 4],
      [5, last],
      [4, 5],
    ]);
    await expect(file.read(-1, 5)).rejects.toThrow('not a range of a file');
  });

  it('returns bytes that the caller can change', async () => {
    const { file } = fileOf(new BlockCache(16 * block));
    (await file.read(0, 100)).fill(7);
    expect(await file.read(0, 100)).toEqual(content.slice(0, 100));
  });

  it('fetches a block once for all callers, and stops when the last has left', async () => {
    const { file, fetches } = fileOf(new BlockCache(16 * block), { byHand: true });
    const leaving = [new AbortController(), new AbortController()];
    const readers = leaving.map(({ signal }, i) => file.read(i, 10, { signal }));
    expect(fetches.length).toBe(1);
    leaving[0]!.abort(new Error('left'));
    await expect(readers[0]).rejects.toThrow('left');
    expect(fetches[0]!.signal?.aborted).toBe(false);
    leaving[1]!.abort(new Error('left too'));
    await expect(readers[1]).rejects.toThrow('left too');
    expect(fetches[0]!.signal?.aborted).toBe(true);
    // A new reader does not wait for the canceled fetch.
    const next = file.read(0, 10);
    expect(fetches.length).toBe(2);
    fetches[1]!.answer();
    expect(await next).toEqual(content.slice(0, 10));
  });

  it('forgets failures, and reports them to all waiting callers', async () => {
    const { file, fetches } = fileOf(new BlockCache(16 * block), { byHand: true });
    const readers = [file.read(0, 10), file.read(5, 10)];
    fetches[0]!.fail(new LargeImageError('unavailable', 'out of order'));
    for (const reader of readers) await expect(reader).rejects.toThrow('out of order');
    const again = file.read(0, 10);
    fetches[1]!.answer();
    expect(await again).toEqual(content.slice(0, 10));
    const short = file.read(block, 10);
    fetches[2]!.answer(content.slice(block, block + 99));
    await expect(short).rejects.toThrow(`ends at byte ${block + 99}; according to its record it has ${content.length} bytes`);
  });

  it('keeps no more than its limit, and shares nothing between two openings', async () => {
    const cache = new BlockCache(2 * block);
    const { file, fetches } = fileOf(cache);
    await file.read(0, content.length);
    expect(cache.bytes).toBeLessThanOrEqual(2 * block);
    const other = fileOf(cache);
    await other.file.read(4 * block, 10);
    expect([fetches.length, other.fetches.length]).toEqual([1, 1]);
  });
});
