import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { measure, type Measures } from '../../../../annotation-format/measures.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import {
  appearanceColumn,
  encodeNumbers,
  encodeTexts,
  idColumns,
  packColumns,
  type SegmentColumn,
  type SegmentHeader,
  type Text,
} from '../packs/segment.js';
import { idWord } from '../packs/ids.js';

/** Names in `user` that get columns, for each segment. */
const maxNames = 1000;
/** Places in `user`, those that only hold others included, and the longest name of one. */
const maxPlaces = 4 * maxNames;
const maxNameLength = 1024;
/** Values of one element that are looked at; more than this many are not measurements. */
const maxValues = 10_000;
/** How deep `user` is looked into. */
const maxDepth = 16;
/** Longest text in a cell, in UTF-16 units; longer ones are not categories, and only in the element itself. */
export const maxCellLength = 1024;
/** Most different appearances in a segment. Reading more would occupy the event loop for too long; they are read from packs. */
const maxAppearances = 4096;
/** A document takes 16 MiB, so longer columns take several parts. */
const partBytes = 8 * 1024 * 1024;

/** The values of an element for the table, besides its id and its box. */
export interface ElementCells extends Measures {
  type: string;
  group: string | null;
  label: string | null;
  user: Record<string, unknown> | undefined;
}

/** The cells of an element that passed validation. */
export function cellsOf(element: AnnotationElement, box: BoundingBox): ElementCells {
  const { type, group = null, label, user } = element;
  const cells = measure(element, box) as ElementCells;
  cells.type = type;
  cells.group = group;
  cells.label = label?.value ?? null;
  cells.user = user;
  return cells;
}

/** Values of a column with their rows. Only rows that have one take memory. */
class Cells {
  length = 0;
  rows = new Uint32Array(64);
  values = new Float64Array(64);

  add(row: number, value: number): void {
    if (this.length === this.rows.length) {
      const [rows, values] = [new Uint32Array(this.length * 2), new Float64Array(this.length * 2)];
      rows.set(this.rows);
      values.set(this.values);
      this.rows = rows;
      this.values = values;
    }
    this.rows[this.length] = row;
    this.values[this.length] = value;
    this.length += 1;
  }
}

/** Values of a column that are not numbers: numbers of these values, from 1. */
class TextCells extends Cells {
  readonly codes = new Map<Text, number>();

  addText(row: number, value: Text): void {
    let code = this.codes.get(value);
    if (code === undefined) {
      code = this.codes.size + 1;
      this.codes.set(value, code);
    }
    this.add(row, code);
  }
}

/** A place in `user`, and the values that elements have there. */
interface Place {
  pointer: string;
  numbers: Cells | null;
  texts: TextCells | null;
  below: Map<string, Place> | null;
}

function newPlace(pointer: string): Place {
  return { pointer, numbers: null, texts: null, below: null };
}

const baseNumbers = [...idColumns, 'order', 'area', 'length', 'x', 'y', 'xmin', 'ymin', 'xmax', 'ymax', ...packColumns] as const;
const baseTexts = ['type', 'group', 'label', appearanceColumn] as const;

/** An element as a row of the columns of a pack. */
export interface PackRow {
  id: string;
  box: BoundingBox;
  /** Its position in the window. */
  order: number;
  /** Length of its text in bytes. */
  bytes: number;
  /** See AppearanceTable. */
  appearance: string;
}

/** The table of a window, or of some packs, while its elements come in. */
export class TableDraft {
  count = 0;
  readonly #numbers = Object.fromEntries(baseNumbers.map((name) => [name, new Cells()])) as Record<
    (typeof baseNumbers)[number],
    Cells
  >;
  readonly #texts = Object.fromEntries(baseTexts.map((name) => [name, new TextCells()])) as Record<
    (typeof baseTexts)[number],
    TextCells
  >;
  readonly #user = newPlace('');
  readonly #named: Place[] = [];
  #places = 0;
  #isCut = false;
  #valuesLeft = 0;

  /** Adds an element. */
  add(cells: ElementCells, { id, box, order, bytes, appearance }: PackRow): void {
    const row = this.count;
    const numbers = this.#numbers;
    numbers.id0.add(row, idWord(id, 0));
    numbers.id1.add(row, idWord(id, 1));
    numbers.id2.add(row, idWord(id, 2));
    numbers.order.add(row, order);
    // Values too large for a number are left out.
    if (Number.isFinite(cells.area)) numbers.area.add(row, cells.area);
    if (Number.isFinite(cells.length)) numbers.length.add(row, cells.length);
    if (Number.isFinite(cells.x)) numbers.x.add(row, cells.x);
    if (Number.isFinite(cells.y)) numbers.y.add(row, cells.y);
    numbers.xmin.add(row, box.lowx);
    numbers.ymin.add(row, box.lowy);
    numbers.xmax.add(row, box.highx);
    numbers.ymax.add(row, box.highy);
    numbers.zmin.add(row, box.lowz);
    numbers.zmax.add(row, box.highz);
    numbers.details.add(row, box.details);
    numbers.bytes.add(row, bytes);
    this.#texts.appearance.addText(row, appearance);
    this.#texts.type.addText(row, cells.type);
    if (cells.group !== null && cells.group.length <= maxCellLength) this.#texts.group.addText(row, cells.group);
    if (cells.label !== null && cells.label.length <= maxCellLength) this.#texts.label.addText(row, cells.label);
    if (cells.user !== undefined) {
      this.#valuesLeft = maxValues;
      this.#addValues(row, cells.user, this.#user, maxDepth);
    }
    this.count = row + 1;
  }

  #addValues(row: number, values: object, place: Place, depth: number): void {
    if (depth === 0) return;
    const below = (place.below ??= new Map<string, Place>());
    for (const key in values) {
      if (this.#valuesLeft === 0) return;
      this.#valuesLeft -= 1;
      const value = (values as Record<string, unknown>)[key];
      if (value === null) continue;
      let at = below.get(key);
      if (at === undefined) {
        const pointer = `${place.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        if (this.#places >= maxPlaces || this.#named.length >= maxNames || pointer.length > maxNameLength) {
          this.#isCut = true;
          continue;
        }
        at = newPlace(pointer);
        below.set(key, at);
        this.#places += 1;
      }
      if (typeof value === 'object') this.#addValues(row, value, at, depth - 1);
      else this.#addValue(row, value, at);
    }
  }

  #addValue(row: number, value: unknown, at: Place): void {
    if (typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'string' && value.length > maxCellLength) return;
    if (at.numbers === null && at.texts === null) this.#named.push(at);
    if (typeof value === 'number') (at.numbers ??= new Cells()).add(row, value);
    else (at.texts ??= new TextCells()).addText(row, value as Text);
  }

  /**
   * The parts of a segment: its header, then the columns.
   *
   * @param order rows in the order in which they are stored.
   * @param packs ids and counts of the packs that they are in then.
   */
  async *segment(order: Uint32Array, packs: Pick<SegmentHeader, 'packs' | 'counts'>): AsyncGenerator<Buffer, void, undefined> {
    const { count } = this;
    const places = new Uint32Array(count);
    for (let i = 0; i < count; i += 1) places[order[i] as number] = i;
    const columns: SegmentColumn[] = [];
    const parts: Buffer[] = [];
    const dense = new Float64Array(count);
    for (const { name, cells } of this.#columns()) {
      const isText = cells instanceof TextCells;
      dense.fill(isText ? 0 : NaN);
      let [low, high] = [Infinity, -Infinity];
      for (let i = 0; i < cells.length; i += 1) {
        const value = cells.values[i] as number;
        if (value < low) low = value;
        if (value > high) high = value;
        dense[places[cells.rows[i] as number] as number] = value;
      }
      const texts = isText ? [...cells.codes.keys()] : [];
      const bytes = isText ? await encodeTexts(dense, texts) : encodeNumbers(dense);
      const before = parts.length;
      for (let start = 0; start < bytes.length; start += partBytes) parts.push(bytes.subarray(start, start + partBytes));
      const column = { name, nulls: count - cells.length, parts: parts.length - before };
      if (!isText) columns.push({ ...column, kind: 'number', ...(cells.length > 0 && { low, high }) });
      else {
        const isBoolean = texts.length > 0 && texts.every((text) => typeof text === 'boolean');
        columns.push({ ...column, kind: 'text', ...(isBoolean && { isBoolean }) });
      }
      if (isSliceOver()) await nextSlice();
    }
    const header: SegmentHeader = { rows: count, ...packs, columns, ...(this.#isCut && { isCut: true }) };
    yield Buffer.from(JSON.stringify(header));
    yield* parts;
  }

  *#columns(): Generator<{ name: string; cells: Cells }> {
    for (const name of baseNumbers) yield { name, cells: this.#numbers[name] };
    for (const name of baseTexts) {
      const cells = this.#texts[name];
      if (name !== appearanceColumn || cells.codes.size <= maxAppearances) yield { name, cells };
    }
    for (const { pointer, numbers, texts } of this.#named) {
      if (numbers !== null) yield { name: pointer, cells: numbers };
      if (texts !== null) yield { name: pointer, cells: texts };
    }
  }
}
