import { forEachRange } from '../../core/concurrency/slices.js';

/** Number of values that are processed between two checks of the time. */
const valuesPerCheck = 32_768;

/**
 * Number of bits of a digit by which values are sorted. For 11 bits, the 2048 positions of digits just fit into the fast memory.
 */
const digitBits = 11;
const digitMask = 2 ** digitBits - 1;

/**
 * Sorts numbers in ascending order, in slices. No number may be NaN. Sorting by digits takes half the time of sorting by
 * comparisons, and can be interrupted.
 *
 * @param values is overwritten.
 */
export async function sortByDigits(values: Float64Array<ArrayBuffer>): Promise<Float64Array> {
  let from = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  let to = new Uint32Array(from.length);
  const inSlices = (work: (first: number, end: number) => void) => forEachRange(from.length, 2 * valuesPerCheck, work);
  await inSlices((first, end) => flipBits({ from, first, end }, false));
  for (const word of [0, 1]) {
    for (let shift = 0; shift < 32; shift += digitBits) {
      const counts = new Uint32Array(digitMask + 1);
      const digit = { word, shift };
      await inSlices((first, end) => countDigits({ from, first, end }, digit, counts));
      // A digit that is the same in all numbers, such as the last one of whole numbers, is skipped.
      if (counts.includes(values.length)) continue;
      /** Where the next number with each digit is written. */
      const positions = new Uint32Array(counts.length);
      for (let at = 1; at < counts.length; at += 1) positions[at] = positions[at - 1]! + counts[at - 1]!;
      await inSlices((first, end) => moveByDigit({ from, first, end }, digit, positions, to));
      [from, to] = [to, from];
    }
  }
  await inSlices((first, end) => flipBits({ from, first, end }, true));
  return new Float64Array(from.buffer, from.byteOffset, values.length);
}

/** The words of doubles from index `first` to `end`, the lower word of each double first. */
interface Words {
  from: Uint32Array;
  first: number;
  end: number;
}

/** Position of a digit in a double: the bits from `shift` on of the lower word (0) or the higher one (1). */
interface Digit {
  word: number;
  shift: number;
}

/**
 * Flips bits so that they can be sorted as unsigned numbers; with `isSortable`, flips them back. Before flipping, the bits of
 * positive doubles have the order of their values, while the bits of negative doubles have the opposite order and come after the
 * positive ones. So the highest bit of every double, and all other bits of negative doubles, are flipped.
 */
function flipBits({ from, first, end }: Words, isSortable: boolean): void {
  for (let at = first; at < end; at += 2) {
    const high = from[at + 1]!;
    const flippedBits = high >= 2 ** 31 === isSortable ? 0 : -1;
    from[at]! ^= flippedBits;
    from[at + 1] = high ^ (flippedBits | (1 << 31));
  }
}

function countDigits({ from, first, end }: Words, { word, shift }: Digit, counts: Uint32Array): void {
  for (let at = first + word; at < end; at += 2) counts[(from[at]! >>> shift) & digitMask]! += 1;
}

/** Moves doubles to the positions of their digits. Each moved double advances the position of its digit. */
function moveByDigit({ from, first, end }: Words, { word, shift }: Digit, positions: Uint32Array, to: Uint32Array): void {
  for (let at = first; at < end; at += 2) {
    const position = 2 * positions[(from[at + word]! >>> shift) & digitMask]!++;
    to[position] = from[at]!;
    to[position + 1] = from[at + 1]!;
  }
}
