import { expect } from 'vitest';

/**
 * Pictures of the same bytes are equal. Comparing them element by element takes seconds, and is done only for pictures that
 * differ.
 */
function haveEqualBytes(one: unknown, other: unknown): true | undefined {
  if (!ArrayBuffer.isView(one) || !ArrayBuffer.isView(other) || one.constructor !== other.constructor) return undefined;
  const [left, right] = [one, other].map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return left!.equals(right!) ? true : undefined;
}

expect.addEqualityTesters([haveEqualBytes]);
