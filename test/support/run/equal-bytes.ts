import { expect } from 'vitest';

/** Pictures of the same bytes are equal, which the comparison element by element takes seconds to say. What differs is left to that one. */
function haveEqualBytes(one: unknown, other: unknown): true | undefined {
  if (!ArrayBuffer.isView(one) || !ArrayBuffer.isView(other) || one.constructor !== other.constructor) return undefined;
  const [left, right] = [one, other].map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return left!.equals(right!) ? true : undefined;
}

expect.addEqualityTesters([haveEqualBytes]);
