import { describe, expect, it } from 'vitest';
import { UnsatisfiableRangeError } from '../../../src/errors.js';
import { rangeHeaders, requestedRange } from '../../../src/http/ranges.js';

const tag = '"state"';
const completeContent = null;
const unsatisfiable = 'unsatisfiable';

describe('requestedRange', () => {
  it.each<
    [
      header: string | undefined,
      size: number,
      expected: [number, number] | typeof completeContent | typeof unsatisfiable,
      condition?: string,
    ]
  >([
    [undefined, 10, completeContent],
    ['bytes=0-0', 10, [0, 1]],
    ['bytes=2-5', 10, [2, 6]],
    ['bytes=2-', 10, [2, 10]],
    ['bytes=2-99', 10, [2, 10]],
    ['bytes=-3', 10, [7, 10]],
    ['bytes=-30', 10, [0, 10]],
    ['BYTES=2-5', 10, [2, 6]],
    [` bytes= 2-5 ${' '.repeat(14_000)}`, 10, [2, 6]],
    ['bytes=9007199254740993-', 10, unsatisfiable],
    [`bytes=0-${'9'.repeat(400)}`, 10, [0, 10]],
    // Several ranges
    ['bytes=0-0,2-3', 10, [0, 1]],
    ['bytes=10-,2-3', 10, [2, 4]],
    ['bytes=,2-3,', 10, [2, 4]],
    ['bytes=10-,11-', 10, unsatisfiable],
    // Outside
    ['bytes=10-', 10, unsatisfiable],
    ['bytes=10-20', 10, unsatisfiable],
    ['bytes=-0', 10, unsatisfiable],
    // Malformed
    ['bytes=5-2', 10, completeContent],
    ['bytes=0-1,5-2', 10, completeContent],
    ['bytes=0-1,x', 10, completeContent],
    ['bytes=', 10, completeContent],
    ['bytes=-', 10, completeContent],
    ['bytes=1', 10, completeContent],
    ['bytes=1x-2', 10, completeContent],
    ['bytes=1-2-3', 10, completeContent],
    ['bytes=--2', 10, completeContent],
    ['bytes=1.5-2', 10, completeContent],
    ['bytes=1 2-3', 10, completeContent],
    ['items=1-2', 10, completeContent],
    ['1-2', 10, completeContent],
    // Empty contents
    ['bytes=-2', 0, completeContent],
    ['bytes=0-', 0, completeContent],
    ['bytes=0-0', 0, completeContent],
    ['bytes=-0', 0, unsatisfiable],
    ['bytes=5-', 0, unsatisfiable],
    // Conditions
    ['bytes=2-5', 10, [2, 6], tag],
    ['bytes=2-5', 10, completeContent, `W/${tag}`],
    ['bytes=2-5', 10, completeContent, '"other"'],
    ['bytes=20-', 10, completeContent, '"other"'],
    ['bytes=2-5', 10, completeContent, 'Thu, 26 Nov 2026 10:00:00 GMT'],
  ])('reads %j of %d bytes as %j', (range, size, expected, condition) => {
    const find = () => requestedRange({ range, 'if-range': condition }, { size, tag });
    if (expected === unsatisfiable) expect(find).toThrow(UnsatisfiableRangeError);
    else expect(find()).toEqual(expected === completeContent ? completeContent : { start: expected[0], end: expected[1] });
  });

  it('treats every condition as unmet when the content has no entity tag', () => {
    expect(requestedRange({ range: 'bytes=2-5', 'if-range': tag }, { size: 10, tag: null })).toBe(null);
    expect(requestedRange({ range: 'bytes=2-5' }, { size: 10, tag: null })).toEqual({ start: 2, end: 6 });
  });
});

describe('rangeHeaders', () => {
  it('names the last byte, and none when the whole content is sent', () => {
    expect(rangeHeaders({ start: 2, end: 6 }, 10)).toEqual({ 'Accept-Ranges': 'bytes', 'Content-Range': 'bytes 2-5/10' });
    expect(rangeHeaders(null, 10)).toEqual({ 'Accept-Ranges': 'bytes' });
  });
});
