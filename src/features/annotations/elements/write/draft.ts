import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import type { Measures } from '../../../../annotation-format/measures.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { idWord } from '../packs/ids.js';
import { defaultPackLayout, type PackLayout } from '../packs/pack-layout.js';
import { cellsOf, TableDraft, type ElementCells } from './table-draft.js';
import { AppearanceTable } from '../read/appearances.js';
import { diagonalLength, createRows, type PackRows } from '../packs/pack.js';

const numbersPerBox = 6;
const firstCapacity = 256;
const firstTextBytes = 64 * 1024;
/** Number of elements or appearances between checks of the time. */
const entriesAtOnce = 1024;

/** Collects the elements of a window: texts in one buffer, numbers in flat arrays. A draft is reused for later windows. */
export class WindowDraft {
  count = 0;
  #texts = Buffer.allocUnsafe(firstTextBytes);
  #textBytes = 0;
  #capacity = 0;
  #textEnds = new Uint32Array(0);
  #ids = new Uint32Array(0);
  #boxes = new Float64Array(0);
  #details = new Float64Array(0);
  #appearanceIndices = new Uint32Array(0);
  #appearances = new AppearanceTable();
  /** `null` if the cells of some element are unknown. */
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

  /** The table of the elements. `null` if the cells of some element are unknown. */
  get table(): TableDraft | null {
    return this.#table;
  }

  #grow(): void {
    this.#capacity = Math.max(firstCapacity, this.#capacity * 4);
    const enlarge = <T extends Uint32Array | Float64Array>(array: T, ArrayType: new (length: number) => T, width: number): T => {
      const largerArray = new ArrayType(this.#capacity * width);
      largerArray.set(array);
      return largerArray;
    };
    this.#textEnds = enlarge(this.#textEnds, Uint32Array, 1);
    this.#ids = enlarge(this.#ids, Uint32Array, 3);
    this.#boxes = enlarge(this.#boxes, Float64Array, numbersPerBox);
    this.#details = enlarge(this.#details, Float64Array, 1);
    this.#appearanceIndices = enlarge(this.#appearanceIndices, Uint32Array, 1);
  }

  /**
   * Reserves space for the text of the next element.
   *
   * @returns where to write the text, whose actual length the caller then gives to {@link add}.
   */
  reserve(bytes: number): { buffer: Buffer; offset: number } {
    const neededBytes = this.#textBytes + bytes;
    if (neededBytes > this.#texts.length) {
      const largerBuffer = Buffer.allocUnsafe(Math.max(neededBytes, this.#texts.length * 2));
      this.#texts.copy(largerBuffer, 0, 0, this.#textBytes);
      this.#texts = largerBuffer;
    }
    return { buffer: this.#texts, offset: this.#textBytes };
  }

  /**
   * Adds an element whose text the caller has written where {@link reserve} said.
   *
   * @param measures measures of the element, if they are known.
   */
  add(element: AnnotationElement, id: string, box: BoundingBox, textBytes: number, measures?: Measures): void {
    const appearanceIndex = this.#appearances.findOrAdd(element);
    this.#table?.add(cellsOf(element, box, measures));
    this.#add(appearanceIndex, id, box, textBytes);
  }

  /** Like {@link add}, for an element whose stored appearance is known. If its cells are unknown, the window gets no table. */
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

  #add(appearanceIndex: number, id: string, box: BoundingBox, textBytes: number): void {
    const index = this.count;
    if (index === this.#capacity) this.#grow();
    this.#textBytes += textBytes;
    this.#textEnds[index] = this.#textBytes;
    for (let word = 0; word < 3; word += 1) this.#ids[index * 3 + word] = idWord(id, word);
    const start = index * numbersPerBox;
    const boxes = this.#boxes;
    boxes[start] = box.lowx;
    boxes[start + 1] = box.lowy;
    boxes[start + 2] = box.lowz;
    boxes[start + 3] = box.highx;
    boxes[start + 4] = box.highy;
    boxes[start + 5] = box.highz;
    this.#details[index] = box.details;
    this.#appearanceIndices[index] = appearanceIndex;
    this.count = index + 1;
  }

  /** Counts the elements of each group. The key of elements without a group is `null`. */
  async countGroups(): Promise<Map<string | null, number>> {
    const countByGroup = new Map<string | null, number>();
    const counts = new Uint32Array(this.#appearances.texts.length);
    for (let i = 0; i < this.count; i += 1) counts[this.#appearanceIndices[i] as number]! += 1;
    for (const [appearanceIndex, count] of counts.entries()) {
      const group = this.#appearances.groups[appearanceIndex] as string | null;
      countByGroup.set(group, (countByGroup.get(group) ?? 0) + count);
      if (appearanceIndex % entriesAtOnce === 0 && isSliceOver()) await nextSlice();
    }
    return countByGroup;
  }

  /** Sorts the elements by size class, large ones first, then along a space-filling curve. @returns their original positions. */
  async #sortForPacks(): Promise<Uint32Array> {
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
    const [perX, perY] = [curveCellsPerAxis / (right - left || 1), curveCellsPerAxis / (bottom - top || 1)];
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i += 1) {
      const start = i * numbersPerBox;
      const size = diagonalLength(
        (boxes[start + 3] as number) - (boxes[start] as number),
        (boxes[start + 4] as number) - (boxes[start + 1] as number),
      );
      const alongCurve = hilbertPosition(
        curveCellOf((this.#center(i, 0) - left) * perX),
        curveCellOf((this.#center(i, 1) - top) * perY),
      );
      // A key has 52 bits, which a double holds exactly: 4 for the size class, 32 for the curve, and 16 for the position in the window.
      keys[i] = (sizeClasses - sizeClassOf(size)) * 2 ** 48 + alongCurve * 2 ** 16 + i;
      if (i % entriesAtOnce === 0 && isSliceOver()) await nextSlice();
    }
    const sortedKeys = await sortInSlices(keys);
    const order = new Uint32Array(count);
    for (let i = 0; i < count; i += 1) order[i] = (sortedKeys[i] as number) % 65_536;
    return order;
  }

  #center(index: number, axis: 0 | 1): number {
    const start = index * numbersPerBox + axis;
    return (this.#boxes[start] as number) / 2 + (this.#boxes[start + 3] as number) / 2;
  }

  /** Divides the elements into packs of neighbors of similar size. Texts are copied. */
  async *divideIntoPacks(): AsyncGenerator<{ rows: PackRows; text: Buffer }, void, undefined> {
    const order = await this.#sortForPacks();
    const { packElements, packTextBytes } = this.layout;
    let start = 0;
    while (start < order.length) {
      let end = start;
      let bytes = 0;
      while (end < order.length && end - start < packElements && bytes < packTextBytes) {
        bytes += this.#textBytesOf(order[end] as number);
        end += 1;
      }
      yield this.#makePack(order.subarray(start, end), bytes);
      if (isSliceOver()) await nextSlice();
      start = end;
    }
  }

  #textBytesOf(index: number): number {
    return (this.#textEnds[index] as number) - (index === 0 ? 0 : (this.#textEnds[index - 1] as number));
  }

  #makePack(members: Uint32Array, bytes: number): { rows: PackRows; text: Buffer } {
    const rows = createRows(members.length);
    const text = Buffer.allocUnsafeSlow(bytes);
    const indexInPackByAppearance = new Map<number, number>();
    let textOffset = 0;
    for (let i = 0; i < members.length; i += 1) {
      const position = members[i] as number;
      const end = this.#textEnds[position] as number;
      const length = this.#textBytesOf(position);
      this.#texts.copy(text, textOffset, end - length, end);
      textOffset += length;
      rows.positions[i] = position;
      rows.textLengths[i] = length;
      rows.details[i] = this.#details[position] as number;
      const boxStart = position * numbersPerBox;
      rows.lowx[i] = this.#boxes[boxStart] as number;
      rows.lowy[i] = this.#boxes[boxStart + 1] as number;
      rows.lowz[i] = this.#boxes[boxStart + 2] as number;
      rows.highx[i] = this.#boxes[boxStart + 3] as number;
      rows.highy[i] = this.#boxes[boxStart + 4] as number;
      rows.highz[i] = this.#boxes[boxStart + 5] as number;
      rows.ids.high[i] = this.#ids[position * 3] as number;
      rows.ids.middle[i] = this.#ids[position * 3 + 1] as number;
      rows.ids.low[i] = this.#ids[position * 3 + 2] as number;
      const appearanceIndex = this.#appearanceIndices[position] as number;
      let indexInPack = indexInPackByAppearance.get(appearanceIndex);
      if (indexInPack === undefined) {
        indexInPack = rows.appearanceTexts.length;
        indexInPackByAppearance.set(appearanceIndex, indexInPack);
        rows.appearanceTexts.push(this.#appearances.texts[appearanceIndex] as string);
      }
      rows.appearanceIndices[i] = indexInPack;
    }
    return { rows, text };
  }
}

/** Number of cells of the space-filling curve along each axis. */
const curveCellsPerAxis = 65_536;
const sizeClasses = 15;

/**
 * Returns the size class of a box. There is one class for each power of 4. Packs of large shapes come first, so that a view of the whole
 * slide reads few packs.
 */
function sizeClassOf(size: number): number {
  return Math.max(0, Math.min(sizeClasses, Math.floor(Math.log2(size + 1) / 2)));
}

function curveCellOf(value: number): number {
  // The difference of two coordinates can overflow to infinity.
  return Number.isFinite(value) ? Math.max(0, Math.min(curveCellsPerAxis - 1, Math.floor(value))) : 0;
}

/** Computes the position of a cell along a Hilbert curve through 65,536 × 65,536 cells. */
function hilbertPosition(cellX: number, cellY: number): number {
  let [x, y, alongCurve] = [cellX, cellY, 0];
  for (let side = curveCellsPerAxis / 2; side > 0; side >>= 1) {
    const right = (x & side) > 0 ? 1 : 0;
    const low = (y & side) > 0 ? 1 : 0;
    alongCurve += side * side * ((3 * right) ^ low);
    if (low === 0) {
      if (right === 1) [x, y] = [curveCellsPerAxis - 1 - x, curveCellsPerAxis - 1 - y];
      [x, y] = [y, x];
    }
  }
  return alongCurve;
}
