import { describe, expect, it } from 'vitest';
import { groupCalls } from '../../../src/core/database/group-calls.js';

describe('grouped calls', () => {
  it('are sent alone when they are rare, and together when many come at once', async () => {
    const groups: number[][] = [];
    const double = groupCalls(async (inputs: readonly number[]) => {
      groups.push([...inputs]);
      return inputs.map((input) => input * 2);
    });
    expect(await double(1)).toBe(2);
    expect(await Promise.all([2, 3, 4].map((each) => double(each)))).toEqual([4, 6, 8]);
    expect(groups).toEqual([[1], [2, 3, 4]]);
  });

  it('wait for others after a group, and never form a larger one than allowed', async () => {
    const groups: number[] = [];
    const same = groupCalls(
      async (inputs: readonly number[]) => {
        groups.push(inputs.length);
        return inputs;
      },
      { maxSize: 10, pauseMs: 50 },
    );
    expect(await same(0)).toBe(0);
    const calls = Array.from({ length: 95 }, (_, index) => index);
    const later = calls.map(async (each) => {
      if (each % 2 === 1) await new Promise(setImmediate);
      return same(each);
    });
    expect(await Promise.all(later)).toEqual(calls);
    expect(Math.max(...groups)).toBe(10);
    expect(groups.reduce((sum, size) => sum + size, 0)).toBe(96);
  });

  it('are not affected by the errors of others', async () => {
    const parse = groupCalls(async (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as unknown));
    const results = await Promise.allSettled(['1', '{', '"x"'].map((each) => parse(each)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await parse('[2]')).toEqual([2]);
  });
});
