import { isSliceOver, nextSlice } from './slices.js';

/** How many numbers are sorted without a pause: by value, and with a comparison function, which takes longer. */
const plainRunLength = 32_768;
const comparedRunLength = 4096;
/** How many numbers are merged between two checks of the time. */
const mergesPerCheck = 8192;

/**
 * Sorts numbers in slices, so that other work can run: sorts runs of limited length, and then merges them.
 *
 * @param compare default: by value.
 * @returns the sorted numbers, in the same array or in another one.
 */
export async function sortInSlices<Numbers extends Float64Array | Uint32Array>(
  numbers: Numbers,
  compare?: (a: number, b: number) => number,
  signal?: AbortSignal,
): Promise<Numbers> {
  const { length } = numbers;
  const runLength = compare === undefined ? plainRunLength : comparedRunLength;
  for (let start = 0; start < length; start += runLength) {
    numbers.subarray(start, start + runLength).sort(compare);
    if (isSliceOver()) await nextSlice(signal);
  }
  const compareNumbers = compare ?? ((a, b) => a - b);
  let source = numbers;
  // `slice` of a typed array returns an array of the same type.
  let target = (length > runLength ? numbers.slice() : numbers) as Numbers;
  for (let width = runLength; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at += 1) {
        const takesLeft = left < middle && (right >= end || compareNumbers(source[left]!, source[right]!) <= 0);
        target[at] = takesLeft ? source[left++]! : source[right++]!;
        if (at % mergesPerCheck === 0 && isSliceOver()) await nextSlice(signal);
      }
    }
    [source, target] = [target, source];
  }
  return source;
}
