import { expect, it } from 'vitest';
import { borrowBytes, returnBytes } from '../../../../src/tilesource/style/reused-bytes.js';

it('lends returned bytes once, even if they were returned twice, and lends no bytes that it did not make', () => {
  const [first, second] = [borrowBytes(4096), borrowBytes(4096)];
  expect(second.buffer).not.toBe(first.buffer);
  returnBytes(first);
  returnBytes(first);
  const again = borrowBytes(4096);
  expect(again.buffer).toBe(first.buffer);
  expect(borrowBytes(4096).buffer).not.toBe(first.buffer);
  const foreign = new Uint8Array(4096);
  returnBytes(foreign);
  expect(borrowBytes(4096).buffer).not.toBe(foreign.buffer);
});

it('keeps no more than some buffers of a few lengths', () => {
  const many = Array.from({ length: 20 }, () => borrowBytes(512));
  for (const each of many) returnBytes(each);
  const reused = Array.from({ length: 20 }, () => borrowBytes(512)).filter(({ buffer }) =>
    many.some((each) => each.buffer === buffer),
  );
  expect(reused.length).toBeLessThanOrEqual(8);
  const large = borrowBytes(2 ** 21);
  returnBytes(large);
  expect(borrowBytes(2 ** 21).buffer).not.toBe(large.buffer);
});
