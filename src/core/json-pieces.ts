import { isSliceOver, nextSlice } from './concurrency/slices.js';
import { toWire } from './wire.js';

/** A value that contains at most this many values is written at once, which takes less than a millisecond. */
const maxSmallValues = 2000;
/** Number of characters of a text that count as one value. */
const charactersPerValue = 64;
/** Approximate length of a piece in characters. */
const pieceLength = 64 * 1024;

/** Whether a value contains few values and only short texts. */
export function isSmall(value: unknown, maxValues = maxSmallValues): boolean {
  return subtractSize(value, maxValues) >= 0;
}

/** A value that contains more than this many values is long. The text of a value of this size has some 256 KiB. */
const maxShortValues = 30_000;

/** Whether writing or checking a value at once would block the event loop for long. */
export function isLong(value: unknown): boolean {
  return !isSmall(value, maxShortValues);
}

/** Subtracts the number of values in a value from `available`. The count stops when the result is below 0. */
function subtractSize(value: unknown, available: number): number {
  if (typeof value === 'string') return available - 1 - value.length / charactersPerValue;
  let remaining = available - 1;
  if (typeof value !== 'object' || value === null) return remaining;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && remaining >= 0; i += 1) remaining = subtractSize(value[i], remaining);
    return remaining;
  }
  if (!isPlainObject(value)) return remaining;
  for (const name in value) {
    remaining = subtractSize((value as Record<string, unknown>)[name], remaining - name.length / charactersPerValue);
    if (remaining < 0) break;
  }
  return remaining;
}

/** Whether an object is written member by member. Ids, dates and similar objects are written as one value. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Writes a value of any size as JSON text, in slices, between which the event loop can serve other requests. */
export async function* jsonPieces(value: unknown): AsyncGenerator<string, void, undefined> {
  let piece = '';
  for (const part of writeSmallParts(value)) {
    piece += part;
    if (piece.length >= pieceLength) {
      yield piece;
      piece = '';
    }
    if (isSliceOver()) await nextSlice();
  }
  if (piece !== '') yield piece;
}

/** Writes a value of any size as JSON text in UTF-8, in slices like {@link jsonPieces}. */
export async function jsonBytes(value: unknown): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of jsonPieces(value)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Writes a value as JSON text in parts, each of which is small enough to be written at once. */
function* writeSmallParts(value: unknown): Generator<string, void, undefined> {
  if (Array.isArray(value) && !isSmall(value)) {
    for (let i = 0; i < value.length; i += 1) {
      yield i === 0 ? '[' : ',';
      yield* writeSmallParts(value[i]);
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value) && isPlainObject(value) && !isSmall(value)) {
    let separator = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined || typeof member === 'function') continue;
      yield `${separator}${JSON.stringify(name)}:`;
      separator = ',';
      yield* writeSmallParts(member);
    }
    yield separator === '{' ? '{}' : '}';
  } else {
    // A value without a JSON form, such as a function in a list, becomes null.
    yield JSON.stringify(toWire(value)) ?? 'null';
  }
}
