import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import type { Measures } from '../../../../annotation-format/measures.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { idWord } from '../packs/ids.js';
import { defaultPackLayout, type PackLayout } from '../packs/pack-layout.js';
import { cellsOf, TableDraft, type ElementCells } from './table-draft.js';
import { AppearanceTable } from '../read/appearances.js';
import { diagonal, createRows, type PackRows } from '../packs/pack.js';

const numbersPerBox = 6;
const firstCapacity = 256;
const firstTextBytes = 64 * 1024;
/** Number of elements or appearances between checks of the time. */
const keysAtOnce = 1024;

/** Collects the elements of a window: texts in one buffer, numbers in flat arrays. It is reused for the next window. */
export class WindowDraft {
  count = 0;
  #texts = Buffer.allocUnsafe(firstTextBytes);
  #textBytes = 0;
  #capacity = 0;
  #ends = new Uint32Array(0);
  #ids = new Uint32Array(0);
  #boxes = new Float64Array(0);
  #details = new Float64Array(0);
  #appearanceIndices = new Uint32Array(0);
  #appearances = new AppearanceTable();
  /** `null` when the cells of an element are not known. */
  #table: TableDraft | null = new TableDraft();

  constructor(readonly layout: PackLayout = defaultPackLayout) {}

  get isFull(): boolean {
    return this.count >= this.layout.windowElements || this.#textBytes >= this.layout.windowTextBytes;
  }

  clear(): void {
    this.count = 0;
    this.#textBytes = 0;
    this.#appearances = new AppearanceTable();
    this.#table = new TableDraft();
  }

  /** The table of the elements; `null` when the cells of one are not known. */
  get table(): TableDraft | null {
    return this.#table;
  }

  #grow(): void {
    this.#capacity = Math.max(firstCapacity, this.#capacity * 4);
    const larger = <T extends Uint32Array | Float64Array>(old: T, make: new (length: number) => T, width: number): T => {
      const array = new make(this.#capacity * width);
      array.set(old);
      return array;
    };
    this.#ends = larger(this.#ends, Uint32Array, 1);
    this.#ids = larger(this.#ids, Uint32Array, 3);
    this.#boxes = larger(this.#boxes, Float64Array, numbersPerBox);
    this.#details = larger(this.#details, Float64Array, 1);
    this.#appearanceIndices = larger(this.#appearanceIndices, Uint32Array, 1);
  }

  /** Reserves space for a text at the end of the buffer. {@link add} says how long the text became. */
  reserve(bytes: number): { buffer: Buffer; at: number } {
    const needed = this.#textBytes + bytes;
    if (needed > this.#texts.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#texts.length * 2));
      this.#texts.copy(larger, 0, 0, this.#textBytes);
      this.#texts = larger;
    }
    return { buffer: this.#texts, at: this.#textBytes };
  }

  /** Adds an element whose text was written to {@link reserve}. @param measures of the element, if they are known. */
  add(element: AnnotationElement, id: string, box: BoundingBox, textBytes: number, measures?: Measures): void {
    const index = this.#appearances.findOrAdd(element);
    this.#table?.add(cellsOf(element, box, measures));
    this.#add(index, id, box, textBytes);
  }

  /** Like {@link add}, for an element whose stored appearance and cells are known. Without cells the window gets no table. */
  addWithAppearance(
    { appearance, group, cells = null }: { appearance: string; group: string | null; cells?: ElementCells | null },
    id: string,
    box: BoundingBox,
    textBytes: number,
  ): void {
    if (cells === null) this.#table = null;
    else this.#table?.add(cells);
    this.#add(this.#appearances.findOrAddText(appearance, group), id, box, textBytes);
  }

  #add(appearance: number, id: string, box: BoundingBox, textBytes: number): void {
    const at = this.count;
    if (at === this.#capacity) this.#grow();
    this.#textBytes += textBytes;
    this.#ends[at] = this.#textBytes;
    for (let word = 0; word < 3; word += 1) this.#ids[at * 3 + word] = idWord(id, word);
    const start = at * numbersPerBox;
    const boxes = this.#boxes;
    boxes[start] = box.lowx;
    boxes[start + 1] = box.lowy;
    boxes[start + 2] = box.lowz;
    boxes[start + 3] = box.highx;
    boxes[start + 4] = box.highy;
    boxes[start + 5] = box.highz;
    this.#details[at] = box.details;
    this.#appearanceIndices[at] = appearance;
    this.count = at + 1;
  }

  /** Number of elements of each group, with `null` for those without a group. */
  async groups(): Promise<Map<string | null, number>> {
    const groups = new Map<string | null, number>();
    const counts = new Uint32Array(this.#appearances.texts.length);
    for (let i = 0; i < this.count; i += 1) counts[this.#appearanceIndices[i] as number]! += 1;
    for (const [appearance, count] of counts.entries()) {
      const group = this.#appearances.groups[appearance] as string | null;
      groups.set(group, (groups.get(group) ?? 0) + count);
      if (appearance % keysAtOnce === 0 && isSliceOver()) await nextSlice();
    }
    return groups;
  }

  /** Original positions sorted by size class of their elements, large ones first, then along a space-filling curve. */
  async #packOrder(): Promise<Uint32Array> {
    const { count } = this;
    const boxes = this.#boxes;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < count; i += 1) {
      const [x, y] = [this.#center(i, 0), this.#center(i, 1)];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
    const [perX, perY] = [cellsPerAxis / (right - left || 1), cellsPerAxis / (bottom - top || 1)];
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i += 1) {
      const start = i * numbersPerBox;
      const size = diagonal(
        (boxes[start + 3] as number) - (boxes[start] as number),
        (boxes[start + 4] as number) - (boxes[start + 1] as number),
      );
      const alongCurve = hilbert(cellOf((this.#center(i, 0) - left) * perX), cellOf((this.#center(i, 1) - top) * perY));
      // The class, 32 bits of curve and 16 bits of position in the window: 52 bits, which a double holds exactly.
      keys[i] = (sizeClasses - sizeClass(size)) * 2 ** 48 + alongCurve * 2 ** 16 + i;
      if (i % keysAtOnce === 0 && isSliceOver()) await nextSlice();
    }
    const sorted = await sortInSlices(keys);
    const order = new Uint32Array(count);
    for (let i = 0; i < count; i += 1) order[i] = (sorted[i] as number) % 65_536;
    return order;
  }

  #center(at: number, axis: 0 | 1): number {
    const start = at * numbersPerBox + axis;
    return (this.#boxes[start] as number) / 2 + (this.#boxes[start + 3] as number) / 2;
  }

  /** The elements divided into packs of neighbors of similar size. The texts are copies. */
  async *packs(): AsyncGenerator<{ rows: PackRows; text: Buffer }, void, undefined> {
    const order = await this.#packOrder();
    const { packElements, packTextBytes } = this.layout;
    let start = 0;
    while (start < order.length) {
      let end = start;
      let bytes = 0;
      while (end < order.length && end - start < packElements && bytes < packTextBytes) {
        bytes += this.#textLength(order[end] as number);
        end += 1;
      }
      yield this.#pack(order.subarray(start, end), bytes);
      if (isSliceOver()) await nextSlice();
      start = end;
    }
  }

  #textLength(at: number): number {
    return (this.#ends[at] as number) - (at === 0 ? 0 : (this.#ends[at - 1] as number));
  }

  #pack(members: Uint32Array, bytes: number): { rows: PackRows; text: Buffer } {
    const rows = createRows(members.length);
    const text = Buffer.allocUnsafeSlow(bytes);
    const newIndexOf = new Map<number, number>();
    let written = 0;
    for (let i = 0; i < members.length; i += 1) {
      const at = members[i] as number;
      const end = this.#ends[at] as number;
      const length = this.#textLength(at);
      this.#texts.copy(text, written, end - length, end);
      written += length;
      rows.positions[i] = at;
      rows.textLengths[i] = length;
      rows.details[i] = this.#details[at] as number;
      const box = at * numbersPerBox;
      rows.lowx[i] = this.#boxes[box] as number;
      rows.lowy[i] = this.#boxes[box + 1] as number;
      rows.lowz[i] = this.#boxes[box + 2] as number;
      rows.highx[i] = this.#boxes[box + 3] as number;
      rows.highy[i] = this.#boxes[box + 4] as number;
      rows.highz[i] = this.#boxes[box + 5] as number;
      rows.ids.high[i] = this.#ids[at * 3] as number;
      rows.ids.middle[i] = this.#ids[at * 3 + 1] as number;
      rows.ids.low[i] = this.#ids[at * 3 + 2] as number;
      const appearance = this.#appearanceIndices[at] as number;
      let index = newIndexOf.get(appearance);
      if (index === undefined) {
        index = rows.appearanceTexts.length;
        newIndexOf.set(appearance, index);
        rows.appearanceTexts.push(this.#appearances.texts[appearance] as string);
      }
      rows.appearanceIndices[i] = index;
    }
    return { rows, text };
  }
}

/** Number of cells of the curve along each axis. */
const cellsPerAxis = 65_536;
const sizeClasses = 15;

/** Size class of a box, in powers of 4, so that a view of the whole slide reads few packs, those with large shapes first. */
function sizeClass(size: number): number {
  return Math.max(0, Math.min(sizeClasses, Math.floor(Math.log2(size + 1) / 2)));
}

function cellOf(value: number): number {
  // A difference of two coordinates can exceed the range of a number.
  return Number.isFinite(value) ? Math.max(0, Math.min(cellsPerAxis - 1, Math.floor(value))) : 0;
}

/** Position along a Hilbert curve through 65,536 × 65,536 cells. */
function hilbert(cellX: number, cellY: number): number {
  let [x, y, alongCurve] = [cellX, cellY, 0];
  for (let side = cellsPerAxis / 2; side > 0; side >>= 1) {
    const right = (x & side) > 0 ? 1 : 0;
    const low = (y & side) > 0 ? 1 : 0;
    alongCurve += side * side * ((3 * right) ^ low);
    if (low === 0) {
      if (right === 1) [x, y] = [cellsPerAxis - 1 - x, cellsPerAxis - 1 - y];
      [x, y] = [y, x];
    }
  }
  return alongCurve;
}
