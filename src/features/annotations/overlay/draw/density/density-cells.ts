/** Number of cells in a tile. The position of a cell is row * 256 + column. */
const cellsPerTile = 65_536;

/** The cells of one class in a tile. */
export interface ClassCells {
  classIndex: number;
  /** The position of each cell: row * 256 + column. */
  positions: Uint16Array;
  /** The covered share of each cell. */
  coverages: Float64Array;
}

/**
 * The covered shares of the cells of one tile, by class. A key is class * 65,536 + row * 256 + column. The coverages of equal keys are added up.
 * Sorted arrays are faster here than a map, because a window of elements fills hundreds of thousands of cells, and each level is added up from the
 * next finer level.
 */
export class DensityCells {
  #keys = new Uint32Array(16);
  #coverages = new Float64Array(16);
  #length = 0;
  /** Number of entries at the beginning that are sorted and have distinct keys. */
  #sortedLength = 0;

  add(key: number, coverage: number): void {
    if (this.#length === this.#keys.length) this.#ensureCapacity();
    this.#keys[this.#length] = key;
    this.#coverages[this.#length] = coverage;
    this.#length += 1;
  }

  /** Number of different keys. */
  get size(): number {
    this.#sortAndAddUp();
    return this.#length;
  }

  /** The distinct keys in ascending order. The array is valid until the next coverage is added. */
  get keys(): Uint32Array {
    this.#sortAndAddUp();
    return this.#keys.subarray(0, this.#length);
  }

  /** The coverage of each of {@link keys}. */
  get coverages(): Float64Array {
    this.#sortAndAddUp();
    return this.#coverages.subarray(0, this.#length);
  }

  /** Divides the cells by class. */
  byClass(): ClassCells[] {
    const classes: ClassCells[] = [];
    const { keys, coverages } = this;
    for (let start = 0; start < keys.length;) {
      const classIndex = keys[start]! >>> 16;
      let end = start;
      while (end < keys.length && keys[end]! >>> 16 === classIndex) end += 1;
      // The lower 16 bits of a key are the position.
      const positions = Uint16Array.from(keys.subarray(start, end));
      classes.push({ classIndex, positions, coverages: coverages.slice(start, end) });
      start = end;
    }
    return classes;
  }

  addAll(other: DensityCells): void {
    const { keys, coverages } = other;
    for (let i = 0; i < keys.length; i += 1) this.add(keys[i]!, coverages[i]!);
  }

  /**
   * Adds these cells to a tile of the next coarser level, whose cells are twice as wide.
   *
   * @param offset the position in `parent` of the cell that contains this tile's first cell.
   */
  addToCoarserTile(parent: DensityCells, offset: number): void {
    const { keys, coverages } = this;
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i]!;
      const position = key & (cellsPerTile - 1);
      parent.add(key - position + offset + ((position >> 9) << 8) + ((position & 255) >> 1), coverages[i]! / 4);
    }
  }

  #ensureCapacity(): void {
    this.#sortAndAddUp();
    if (this.#length <= this.#keys.length / 2) return;
    const capacity = this.#keys.length * 2;
    const [keys, coverages] = [new Uint32Array(capacity), new Float64Array(capacity)];
    keys.set(this.#keys);
    coverages.set(this.#coverages);
    [this.#keys, this.#coverages] = [keys, coverages];
  }

  /** Sorts the entries, and adds up the coverages of entries with the same key. */
  #sortAndAddUp(): void {
    if (this.#sortedLength === this.#length) return;
    const { keys, coverages } = sortByKey(this.#keys, this.#coverages, this.#length);
    let lastIndex = -1;
    for (let i = 0; i < this.#length; i += 1) {
      if (lastIndex >= 0 && this.#keys[lastIndex] === keys[i]) this.#coverages[lastIndex]! += coverages[i]!;
      else {
        lastIndex += 1;
        this.#keys[lastIndex] = keys[i]!;
        this.#coverages[lastIndex] = coverages[i]!;
      }
    }
    this.#length = lastIndex + 1;
    this.#sortedLength = this.#length;
  }
}

interface Entries {
  keys: Uint32Array;
  coverages: Float64Array;
}

const digitBits = 8;
const digitValues = 2 ** digitBits;
// Each call of `sortByDigit` uses these two arrays.
const countByDigit = new Uint32Array(digitValues);
const nextIndexByDigit = new Uint32Array(digitValues);

/** Returns the first `length` entries sorted by key. A stable radix sort is several times faster here than `sort`. */
function sortByKey(keys: Uint32Array, coverages: Float64Array, length: number): Entries {
  let from: Entries = { keys: keys.slice(0, length), coverages: coverages.slice(0, length) };
  let to: Entries = { keys: new Uint32Array(length), coverages: new Float64Array(length) };
  for (let shift = 0; shift < 32; shift += digitBits) {
    if (!sortByDigit(from, to, shift)) continue;
    [from, to] = [to, from];
  }
  return from;
}

/** Sorts entries by one digit of their keys. @returns false if nothing was done, because all keys have the same digit. */
function sortByDigit(from: Entries, to: Entries, shift: number): boolean {
  const { keys, coverages } = from;
  countByDigit.fill(0);
  for (let i = 0; i < keys.length; i += 1) countByDigit[(keys[i]! >>> shift) & (digitValues - 1)]! += 1;
  if (countByDigit[(keys[0]! >>> shift) & (digitValues - 1)] === keys.length) return false;
  let start = 0;
  for (let digit = 0; digit < digitValues; digit += 1) {
    nextIndexByDigit[digit] = start;
    start += countByDigit[digit]!;
  }
  for (let i = 0; i < keys.length; i += 1) {
    const digit = (keys[i]! >>> shift) & (digitValues - 1);
    const index = nextIndexByDigit[digit]!;
    nextIndexByDigit[digit] = index + 1;
    to.keys[index] = keys[i]!;
    to.coverages[index] = coverages[i]!;
  }
  return true;
}
