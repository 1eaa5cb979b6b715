import { idWord } from '../elements/packs/ids.js';

/** The ids of rows, sorted. */
export interface SortedIds {
  /** Three 32-bit numbers for each id. */
  words: Uint32Array;
  /** The row of each id. */
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

  /** Sorts the ids. `repeatedIds` contains the ids of more than one row, up to `maxRepeatedIds`. */
  sortIds(maxRepeatedIds: number): SortedIds & { repeatedIds: string[] } {
    const { count } = this;
    const unsortedWords = this.#words;
    const compare = (a: number, b: number) =>
      unsortedWords[a * 3]! - unsortedWords[b * 3]! ||
      unsortedWords[a * 3 + 1]! - unsortedWords[b * 3 + 1]! ||
      unsortedWords[a * 3 + 2]! - unsortedWords[b * 3 + 2]!;
    const rows = Uint32Array.from({ length: count }, (_, i) => i).sort(compare);
    const words = new Uint32Array(count * 3);
    const repeatedIds = new Set<string>();
    for (let i = 0; i < count; i += 1) {
      const row = rows[i]!;
      words.set(unsortedWords.subarray(row * 3, row * 3 + 3), i * 3);
      if (i > 0 && repeatedIds.size < maxRepeatedIds && compare(row, rows[i - 1]!) === 0) repeatedIds.add(idAt(words, i));
    }
    return { words, rows, repeatedIds: [...repeatedIds] };
  }
}

/** Returns the id at a position as text. */
export function idAt(words: Uint32Array, position: number): string {
  return [0, 1, 2].map((word) => words[position * 3 + word]!.toString(16).padStart(8, '0')).join('');
}

/** Finds the position of an id among sorted ids. Returns -1 if it is not one of them. */
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
