/** Number of cells in a tile. The position of a cell is row * 256 + column. */
const cellsPerTile = 65_536;

/** Cells of one class: their positions (row * 256 + column) and covered shares. */
export interface ClassCells {
  classIndex: number;
  positions: Uint16Array;
  shares: Float64Array;
}

/**
 * Covered shares of the cells of one tile, by class. A key is class * 65,536 + row * 256 + column. Shares with the same key are added up.
 * Sorted arrays are faster than a map: windows have hundreds of thousands of cells, and every level is the sum of the finer one.
 */
export class DensityCells {
  #keys = new Uint32Array(16);
  #shares = new Float64Array(16);
  #length = 0;
  /** Number of entries from the start that are sorted and without duplicates. */
  #sortedLength = 0;

  add(key: number, share: number): void {
    if (this.#length === this.#keys.length) this.#ensureCapacity();
    this.#keys[this.#length] = key;
    this.#shares[this.#length] = share;
    this.#length += 1;
  }

  /** Number of different keys. */
  get size(): number {
    this.#sortAndAddUp();
    return this.#length;
  }

  /** The keys in ascending order. The array is valid until something is added. */
  get keys(): Uint32Array {
    this.#sortAndAddUp();
    return this.#keys.subarray(0, this.#length);
  }

  /** The share of each of {@link keys}. */
  get shares(): Float64Array {
    this.#sortAndAddUp();
    return this.#shares.subarray(0, this.#length);
  }

  /** The cells of each class. */
  byClass(): ClassCells[] {
    const classes: ClassCells[] = [];
    const { keys, shares } = this;
    for (let start = 0; start < keys.length;) {
      const classIndex = keys[start]! >>> 16;
      let end = start;
      while (end < keys.length && keys[end]! >>> 16 === classIndex) end += 1;
      // The lower 16 bits of a key are the position.
      const positions = Uint16Array.from(keys.subarray(start, end));
      classes.push({ classIndex, positions, shares: shares.slice(start, end) });
      start = end;
    }
    return classes;
  }

  addAll(other: DensityCells): void {
    const { keys, shares } = other;
    for (let i = 0; i < keys.length; i += 1) this.add(keys[i]!, shares[i]!);
  }

  /** Adds these cells to a tile of the next coarser level, whose cells are twice as wide. @param offset position in `parent` of the cell that contains this tile's first cell. */
  addToCoarserTile(parent: DensityCells, offset: number): void {
    const { keys, shares } = this;
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i]!;
      const position = key & (cellsPerTile - 1);
      parent.add(key - position + offset + ((position >> 9) << 8) + ((position & 255) >> 1), shares[i]! / 4);
    }
  }

  #ensureCapacity(): void {
    this.#sortAndAddUp();
    if (this.#length <= this.#keys.length / 2) return;
    const capacity = this.#keys.length * 2;
    const [keys, shares] = [new Uint32Array(capacity), new Float64Array(capacity)];
    keys.set(this.#keys);
    shares.set(this.#shares);
    [this.#keys, this.#shares] = [keys, shares];
  }

  /** Sorts the entries, and adds up the shares of entries with the same key. */
  #sortAndAddUp(): void {
    if (this.#sortedLength === this.#length) return;
    const { keys, shares } = sortByKey(this.#keys, this.#shares, this.#length);
    let last = -1;
    for (let i = 0; i < this.#length; i += 1) {
      if (last >= 0 && this.#keys[last] === keys[i]) this.#shares[last]! += shares[i]!;
      else {
        last += 1;
        this.#keys[last] = keys[i]!;
        this.#shares[last] = shares[i]!;
      }
    }
    this.#length = last + 1;
    this.#sortedLength = this.#length;
  }
}

interface Entries {
  keys: Uint32Array;
  shares: Float64Array;
}

const digitBits = 8;
const digitValues = 2 ** digitBits;
const startByDigit = new Uint32Array(digitValues);

/** The first `length` entries sorted by key, with a stable radix sort, which is several times faster here than `sort`. */
function sortByKey(keys: Uint32Array, shares: Float64Array, length: number): Entries {
  let from: Entries = { keys: keys.slice(0, length), shares: shares.slice(0, length) };
  let to: Entries = { keys: new Uint32Array(length), shares: new Float64Array(length) };
  for (let shift = 0; shift < 32; shift += digitBits) {
    if (!sortByDigit(from, to, shift)) continue;
    [from, to] = [to, from];
  }
  return from;
}

/** Sorts entries by one digit of their keys. @returns false if nothing was done, because all have the same digit. */
function sortByDigit(from: Entries, to: Entries, shift: number): boolean {
  const { keys, shares } = from;
  startByDigit.fill(0);
  for (let i = 0; i < keys.length; i += 1) startByDigit[(keys[i]! >>> shift) & (digitValues - 1)]! += 1;
  if (startByDigit[(keys[0]! >>> shift) & (digitValues - 1)] === keys.length) return false;
  let start = 0;
  for (let digit = 0; digit < digitValues; digit += 1) {
    const count = startByDigit[digit]!;
    startByDigit[digit] = start;
    start += count;
  }
  for (let i = 0; i < keys.length; i += 1) {
    const digit = (keys[i]! >>> shift) & (digitValues - 1);
    const at = startByDigit[digit]!;
    startByDigit[digit] = at + 1;
    to.keys[at] = keys[i]!;
    to.shares[at] = shares[i]!;
  }
  return true;
}
