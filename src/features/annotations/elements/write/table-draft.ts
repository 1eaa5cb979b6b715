import type { BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { measure, type Measures } from '../../../../annotation-format/measures.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import {
  appearanceColumnName,
  encodeNumbers,
  encodeTexts,
  copiedColumnGetters,
  type SegmentColumn,
  type SegmentHeader,
  type TextOrBoolean,
} from '../packs/segment.js';
import type { PackColumns } from '../packs/pack.js';

/** Maximum number of names in `user` that get columns in a segment. */
const maxUserColumns = 1000;
/** Maximum number of distinct JSON pointers in `user`, including pointers to objects. */
const maxUserNodes = 4 * maxUserColumns;
/** Maximum length of the JSON pointer to a node. */
const maxPointerLength = 1024;
/** Maximum number of values that are read from one element. Further values are hardly measurements. */
const maxValuesPerElement = 10_000;
/** Maximum depth at which values in `user` are read. */
const maxDepth = 16;
/** Maximum length of a text in a cell, in UTF-16 units. A longer text is not a category, so only the element itself contains it. */
export const maxCellLength = 1024;
/**
 * Maximum number of different appearances in a segment. If there are more, appearances are read from packs instead, because decoding a
 * longer column would block the event loop.
 */
const maxAppearances = 4096;
/** Maximum size of a part in bytes. Longer columns are divided into several parts, because MongoDB limits a document to 16 MiB. */
const maxPartBytes = 8 * 1024 * 1024;

/** The values of an element in the table, except its id and its box. */
export interface ElementCells extends Measures {
  type: string;
  group: string | null;
  label: string | null;
  user: Record<string, unknown> | undefined;
}

/** Makes the cells of an element that passed validation. @param measures measures of the element. This object becomes the result. */
export function cellsOf(element: AnnotationElement, box: BoundingBox, measures = measure(element, box)): ElementCells {
  const { type, group = null, label, user } = element;
  const cells = measures as ElementCells;
  cells.type = type;
  cells.group = group;
  cells.label = label?.value ?? null;
  cells.user = user;
  return cells;
}

/** Whether an object is a GeoJSON geometry, such as the nucleus of a cell from QuPath. The coordinates of a geometry are not measurements. */
function isGeometry({ type, coordinates }: { type?: unknown; coordinates?: unknown }): boolean {
  return typeof type === 'string' && Array.isArray(coordinates);
}

/** The values of a column, with their rows. Rows without a value take no memory. */
class ColumnCells {
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

/** The values of a column of texts or booleans. Each value is stored as a code. The codes number the distinct values from 1. */
class TextColumnCells extends ColumnCells {
  readonly codes = new Map<TextOrBoolean, number>();

  addText(row: number, value: TextOrBoolean): void {
    let code = this.codes.get(value);
    if (code === undefined) {
      code = this.codes.size + 1;
      this.codes.set(value, code);
    }
    this.add(row, code);
  }
}

/** The values of elements at a JSON pointer into `user`, and the nodes below this pointer. */
interface UserNode {
  pointer: string;
  numbers: ColumnCells | null;
  texts: TextColumnCells | null;
  children: Map<string, UserNode> | null;
}

function newUserNode(pointer: string): UserNode {
  return { pointer, numbers: null, texts: null, children: null };
}

const measureNames = ['area', 'length', 'x', 'y'] as const;
const textNames = ['type', 'group', 'label'] as const;

/** Collects the columns of the table of a window, or of some packs. Columns that packs contain are left out. */
export class TableDraft {
  count = 0;
  readonly #numbers = Object.fromEntries(measureNames.map((name) => [name, new ColumnCells()])) as Record<
    (typeof measureNames)[number],
    ColumnCells
  >;
  readonly #texts = Object.fromEntries(textNames.map((name) => [name, new TextColumnCells()])) as Record<
    (typeof textNames)[number],
    TextColumnCells
  >;
  readonly #userRoot = newUserNode('');
  /** The nodes at which elements have values. Each becomes one or two columns. */
  readonly #nodesWithValues: UserNode[] = [];
  #nodeCount = 0;
  #isCut = false;
  #valuesLeft = 0;

  /** Adds the cells of the next element. */
  add(cells: ElementCells): void {
    const row = this.count;
    const numbers = this.#numbers;
    // Measures that overflow are left out.
    if (Number.isFinite(cells.area)) numbers.area.add(row, cells.area);
    if (Number.isFinite(cells.length)) numbers.length.add(row, cells.length);
    if (Number.isFinite(cells.x)) numbers.x.add(row, cells.x);
    if (Number.isFinite(cells.y)) numbers.y.add(row, cells.y);
    this.#texts.type.addText(row, cells.type);
    if (cells.group !== null && cells.group.length <= maxCellLength) this.#texts.group.addText(row, cells.group);
    if (cells.label !== null && cells.label.length <= maxCellLength) this.#texts.label.addText(row, cells.label);
    if (cells.user !== undefined) {
      this.#valuesLeft = maxValuesPerElement;
      this.#addValues(row, cells.user, this.#userRoot, maxDepth);
    }
    this.count = row + 1;
  }

  #addValues(row: number, values: object, node: UserNode, remainingDepth: number): void {
    if (remainingDepth === 0) return;
    const children = (node.children ??= new Map<string, UserNode>());
    for (const key in values) {
      if (this.#valuesLeft === 0) return;
      this.#valuesLeft -= 1;
      const value = (values as Record<string, unknown>)[key];
      if (value === null || (key === 'coordinates' && isGeometry(values))) continue;
      let child = children.get(key);
      if (child === undefined) {
        const pointer = `${node.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        if (
          this.#nodeCount >= maxUserNodes ||
          this.#nodesWithValues.length >= maxUserColumns ||
          pointer.length > maxPointerLength
        ) {
          this.#isCut = true;
          continue;
        }
        child = newUserNode(pointer);
        children.set(key, child);
        this.#nodeCount += 1;
      }
      if (typeof value === 'object') this.#addValues(row, value, child, remainingDepth - 1);
      else this.#addValue(row, value, child);
    }
  }

  #addValue(row: number, value: unknown, node: UserNode): void {
    if (typeof value === 'number' ? !Number.isFinite(value) : typeof value === 'string' && value.length > maxCellLength) return;
    if (node.numbers === null && node.texts === null) this.#nodesWithValues.push(node);
    if (typeof value === 'number') (node.numbers ??= new ColumnCells()).add(row, value);
    else (node.texts ??= new TextColumnCells()).addText(row, value as TextOrBoolean);
  }

  /**
   * Encodes a segment as parts: its header, then the columns.
   *
   * @param packs the columns of the packs that contain the elements.
   * @param ids the ids of these packs.
   * @param order for each element of the packs, in order, its row in the draft. `null` if the draft's rows are in this order already.
   */
  async *encodeSegment(
    packs: readonly PackColumns[],
    ids: readonly string[],
    order: Float64Array | null = null,
  ): AsyncGenerator<Buffer, void, undefined> {
    const { count } = this;
    const newRows = order === null ? null : new Uint32Array(count);
    for (let i = 0; i < (order?.length ?? 0); i += 1) newRows![order![i] as number] = i;
    const columns: SegmentColumn[] = [];
    const parts: Buffer[] = [];
    const valuesByRow = new Float64Array(count);
    const addColumn = (column: Omit<SegmentColumn, 'parts'>, bytes: Buffer) => {
      const countBefore = parts.length;
      for (let start = 0; start < bytes.length; start += maxPartBytes) parts.push(bytes.subarray(start, start + maxPartBytes));
      columns.push({ ...column, parts: parts.length - countBefore });
    };
    for (const [name, getNumbers] of Object.entries(copiedColumnGetters)) {
      writeColumnOfPacks(valuesByRow, packs, getNumbers);
      addColumn({ name, kind: 'number', nulls: 0, ...rangeOf(valuesByRow) }, encodeNumbers(valuesByRow));
      if (isSliceOver()) await nextSlice();
    }
    const appearances = await writeAppearancesOfPacks(valuesByRow, packs);
    if (appearances.length <= maxAppearances) {
      addColumn({ name: appearanceColumnName, kind: 'text', nulls: 0 }, await encodeTexts(valuesByRow, appearances));
    }
    for (const { name, cells } of this.#columns()) {
      const isText = cells instanceof TextColumnCells;
      valuesByRow.fill(isText ? 0 : NaN);
      for (let i = 0; i < cells.length; i += 1) {
        const row = cells.rows[i] as number;
        valuesByRow[newRows === null ? row : (newRows[row] as number)] = cells.values[i] as number;
      }
      const nulls = count - cells.length;
      if (isText) {
        const values = [...cells.codes.keys()];
        const isBoolean = values.length > 0 && values.every((value) => typeof value === 'boolean');
        addColumn({ name, kind: 'text', nulls, ...(isBoolean && { isBoolean }) }, await encodeTexts(valuesByRow, values));
      } else addColumn({ name, kind: 'number', nulls, ...rangeOf(valuesByRow) }, encodeNumbers(valuesByRow));
      if (isSliceOver()) await nextSlice();
    }
    const counts = packs.map((pack) => pack.count);
    const header: SegmentHeader = { rows: count, packs: [...ids], counts, columns, ...(this.#isCut && { isCut: true }) };
    yield Buffer.from(JSON.stringify(header));
    yield* parts;
  }

  *#columns(): Generator<{ name: string; cells: ColumnCells }> {
    for (const name of measureNames) yield { name, cells: this.#numbers[name] };
    for (const name of textNames) yield { name, cells: this.#texts[name] };
    for (const { pointer: name, numbers, texts } of this.#nodesWithValues) {
      if (numbers !== null) yield { name, cells: numbers };
      if (texts !== null) yield { name, cells: texts };
    }
  }
}

/** Writes one column of all packs to `valuesByRow`, pack by pack. */
function writeColumnOfPacks(
  valuesByRow: Float64Array,
  packs: readonly PackColumns[],
  getNumbers: (pack: PackColumns) => Float64Array,
): void {
  let firstRow = 0;
  for (const pack of packs) {
    valuesByRow.set(getNumbers(pack), firstRow);
    firstRow += pack.count;
  }
}

/** Writes the appearance of each element to `valuesByRow`, as 1 + its index in the returned list of distinct appearances. */
async function writeAppearancesOfPacks(valuesByRow: Float64Array, packs: readonly PackColumns[]): Promise<string[]> {
  const codes = new Map<string, number>();
  let row = 0;
  for (const pack of packs) {
    const codesOfPack = pack.appearanceTexts().map((text) => {
      const code = codes.get(text) ?? codes.size + 1;
      codes.set(text, code);
      return code;
    });
    for (const index of pack.appearanceIndices) valuesByRow[row++] = codesOfPack[index] as number;
    // The loop may pause here, because there can be as many appearances as elements.
    if (isSliceOver()) await nextSlice();
  }
  return [...codes.keys()];
}

/** Finds the smallest and the largest number. Returns an empty object if there are no numbers. */
function rangeOf(values: Float64Array): { low?: number; high?: number } {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : {};
}
