import { idWord } from '../elements/packs/ids.js';

/** Sorted ids of rows, each as three 32-bit numbers, and the rows that they belong to. */
export interface SortedIds {
  words: Uint32Array;
  rows: Uint32Array;
}

/** Collects the ids of rows. */
export class IdList {
  #words = new Uint32Array(3 * 1024);
  count = 0;

  add(id: string): void {
    if (this.count * 3 === this.#words.length) {
      const words = new Uint32Array(this.#words.length * 2);
      words.set(this.#words);
      this.#words = words;
    }
    for (let i = 0; i < 3; i += 1) this.#words[this.count * 3 + i] = idWord(id, i);
    this.count += 1;
  }

  /** The ids in order, and at most this many of the repeated ones. */
  sortIds(maxRepeated: number): SortedIds & { repeated: string[] } {
    const { count } = this;
    const unsorted = this.#words;
    const compare = (a: number, b: number) =>
      unsorted[a * 3]! - unsorted[b * 3]! ||
      unsorted[a * 3 + 1]! - unsorted[b * 3 + 1]! ||
      unsorted[a * 3 + 2]! - unsorted[b * 3 + 2]!;
    const rows = Uint32Array.from({ length: count }, (_, i) => i).sort(compare);
    const words = new Uint32Array(count * 3);
    const repeated = new Set<string>();
    for (let i = 0; i < count; i += 1) {
      const row = rows[i]!;
      words.set(unsorted.subarray(row * 3, row * 3 + 3), i * 3);
      if (i > 0 && repeated.size < maxRepeated && compare(row, rows[i - 1]!) === 0) repeated.add(idAt(words, i));
    }
    return { words, rows, repeated: [...repeated] };
  }
}

/** An id as text. */
export function idAt(words: Uint32Array, i: number): string {
  return [0, 1, 2].map((part) => words[i * 3 + part]!.toString(16).padStart(8, '0')).join('');
}

/** Position of an id among sorted ids; -1 if it is not one of them. */
export function findId({ words }: SortedIds, id: string): number {
  const [a, b, c] = [idWord(id, 0), idWord(id, 1), idWord(id, 2)];
  let [low, high] = [0, words.length / 3 - 1];
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const difference = words[middle * 3]! - a || words[middle * 3 + 1]! - b || words[middle * 3 + 2]! - c;
    if (difference === 0) return middle;
    if (difference < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
