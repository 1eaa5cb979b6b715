import { bufferOf } from '../../../core/buffer-of.js';
import { decodeNumbers, decodeTexts, type TextOrBoolean } from '../elements/packs/segment.js';
import { idAt, type IdColumns } from '../elements/packs/ids.js';
import { windowPositions } from '../elements/packs/pack-index.js';
import type { TableColumn } from './columns.js';
import type { TableFilter } from './filter.js';

/** A part of a table with the columns that a query needs, in the form in which it is sent to a thread. */
export interface BlockInput {
  windowIndex: number;
  rowCount: number;
  /** Ranges of rows whose elements have not changed since the block was written. `to` is exclusive. */
  liveRanges: readonly (readonly [from: number, to: number])[];
  columns: { name: string; kind: 'number' | 'text'; bytes: Uint8Array }[];
}

/** A value in a table. */
export type Cell = string | number | boolean | null;

/** Values of a column that are not numbers. Each row has a code: 0 if it has no value, otherwise 1 + index in `distinctValues`. */
export interface CodedColumn {
  codes: ArrayLike<number>;
  distinctValues: TextOrBoolean[];
}

/** A block, and a filter that selects some of its rows (`null` selects all): the input of most functions in threads. */
export interface FilteredBlock {
  block: BlockInput;
  filter: TableFilter | null;
}

/** A part of a table, whose columns are decoded when they are needed. */
export class Block {
  readonly rowCount: number;
  readonly #storedBytes = new Map<string, Buffer>();
  readonly #numbers = new Map<string, Float64Array>();
  readonly #codedColumns = new Map<string, CodedColumn>();

  constructor(private readonly input: BlockInput) {
    this.rowCount = input.rowCount;
    for (const { name, kind, bytes } of input.columns) this.#storedBytes.set(`${kind} ${name}`, bufferOf(bytes));
  }

  /** Returns the numbers of a stored column, with `NaN` in rows without a number. */
  numbers(source: string): Float64Array {
    let values = this.#numbers.get(source);
    if (values === undefined) {
      const stored = this.#storedBytes.get(`number ${source}`);
      values = stored === undefined ? new Float64Array(this.rowCount).fill(NaN) : decodeNumbers(stored, this.rowCount);
      if (source === 'order') values = values.map((position) => this.input.windowIndex * windowPositions + position);
      this.#numbers.set(source, values);
    }
    return values;
  }

  /** Decodes the values of a stored column that are not numbers. */
  #storedNonNumbers(source: string): CodedColumn {
    const stored = this.#storedBytes.get(`text ${source}`);
    if (stored === undefined) return { codes: new Uint8Array(this.rowCount), distinctValues: [] };
    const { codes, texts: distinctValues } = decodeTexts(stored, this.rowCount);
    return { codes, distinctValues };
  }

  /** Returns the values of a column of texts, booleans or ids. If a column also has numbers, all its values become texts. */
  codedColumn(column: TableColumn): CodedColumn {
    let codedColumn = this.#codedColumns.get(column.name);
    if (codedColumn === undefined) {
      codedColumn =
        column.type === 'id'
          ? this.#ids()
          : column.type === 'boolean'
            ? this.#storedNonNumbers(column.source)
            : this.#convertToTexts(column);
      this.#codedColumns.set(column.name, codedColumn);
    }
    return codedColumn;
  }

  #idWords(): IdColumns {
    return { high: this.numbers('id0'), middle: this.numbers('id1'), low: this.numbers('id2') };
  }

  #ids(): CodedColumn {
    const ids = this.#idWords();
    return {
      codes: Uint32Array.from({ length: this.rowCount }, (_, row) => row + 1),
      distinctValues: Array.from({ length: this.rowCount }, (_, row) => idAt(ids, row)),
    };
  }

  #convertToTexts({ source, isMixed }: TableColumn): CodedColumn {
    const stored = this.#storedNonNumbers(source);
    if (!isMixed && stored.distinctValues.every((value) => typeof value === 'string')) return stored;
    const distinctValues: string[] = [];
    const codesByText = new Map<string, number>();
    const findOrAddText = (text: string) => {
      let existing = codesByText.get(text);
      if (existing === undefined) {
        distinctValues.push(text);
        existing = distinctValues.length;
        codesByText.set(text, existing);
      }
      return existing;
    };
    const newCodes = [0, ...stored.distinctValues.map((value) => findOrAddText(String(value)))];
    const codes = Uint32Array.from({ length: this.rowCount }, (_, row) => newCodes[stored.codes[row] as number] as number);
    if (isMixed) {
      const numbers = this.numbers(source);
      for (let row = 0; row < this.rowCount; row += 1) {
        if (codes[row] === 0 && !Number.isNaN(numbers[row])) codes[row] = findOrAddText(String(numbers[row]));
      }
    }
    return { codes, distinctValues };
  }

  /** Returns the values of a column at some rows. */
  cells(column: TableColumn, rows: ArrayLike<number>): Cell[] {
    const cells: Cell[] = Array.from({ length: rows.length });
    if (column.type === 'number') {
      const numbers = this.numbers(column.source);
      for (let i = 0; i < rows.length; i += 1) {
        const value = numbers[rows[i] as number] as number;
        cells[i] = Number.isNaN(value) ? null : value;
      }
      return cells;
    }
    if (column.type === 'id') {
      const ids = this.#idWords();
      for (let i = 0; i < rows.length; i += 1) cells[i] = idAt(ids, rows[i] as number);
      return cells;
    }
    const { codes, distinctValues } = this.codedColumn(column);
    for (let i = 0; i < rows.length; i += 1) {
      const code = codes[rows[i] as number] as number;
      cells[i] = code === 0 ? null : (distinctValues[code - 1] as TextOrBoolean);
    }
    return cells;
  }

  /** Finds the rows that match a filter and whose elements have not changed since the block was written. */
  selectRows(filter: TableFilter | null): Uint32Array {
    const mask = filter === null ? null : this.#maskOf(filter);
    const rows = new Uint32Array(this.rowCount);
    let count = 0;
    for (const [from, to] of this.input.liveRanges) {
      for (let row = from; row < to; row += 1) if (mask === null || mask[row] === 1) rows[count++] = row;
    }
    return rows.subarray(0, count);
  }

  /** Evaluates a filter. Returns 1 for each row that matches, and 0 for each other row. */
  #maskOf(filter: TableFilter): Uint8Array {
    const { rowCount } = this;
    const mask = new Uint8Array(rowCount);
    switch (filter.kind) {
      case 'and':
      case 'or': {
        mask.fill(filter.kind === 'and' ? 1 : 0);
        for (const part of filter.parts) {
          const partMask = this.#maskOf(part);
          if (filter.kind === 'and') for (let row = 0; row < rowCount; row += 1) mask[row]! &= partMask[row]!;
          else for (let row = 0; row < rowCount; row += 1) mask[row]! |= partMask[row]!;
        }
        return mask;
      }
      case 'not': {
        const partMask = this.#maskOf(filter.part);
        for (let row = 0; row < rowCount; row += 1) mask[row] = 1 - partMask[row]!;
        return mask;
      }
      case 'number': {
        const values = this.numbers(filter.column.source);
        const { gte, lte } = filter;
        const listedValues = filter.in === null ? null : new Set(filter.in);
        for (let row = 0; row < rowCount; row += 1) {
          const value = values[row] as number;
          if (value >= gte && value <= lte && (listedValues === null || listedValues.has(value))) mask[row] = 1;
        }
        return mask;
      }
      case 'values': {
        const { codes, distinctValues } = this.codedColumn(filter.column);
        const listedValues = new Set(filter.in);
        const maskByCode = Uint8Array.from([0, ...distinctValues.map((value) => (listedValues.has(value) ? 1 : 0))]);
        for (let row = 0; row < rowCount; row += 1) mask[row] = maskByCode[codes[row] as number]!;
        return mask;
      }
      case 'null':
        this.#maskNulls(filter.column, filter.isNull, mask);
        return mask;
      case 'box': {
        const [left, top, right, bottom] = filter.box;
        const [xmin, ymin] = [this.numbers('xmin'), this.numbers('ymin')];
        const [xmax, ymax] = [this.numbers('xmax'), this.numbers('ymax')];
        for (let row = 0; row < rowCount; row += 1) {
          const overlapsX = (xmax[row] as number) >= left && (xmin[row] as number) <= right;
          if (overlapsX && (ymax[row] as number) >= top && (ymin[row] as number) <= bottom) mask[row] = 1;
        }
        return mask;
      }
      case 'polygon': {
        const [x, y] = [this.numbers('x'), this.numbers('y')];
        const isInside = createPolygonTest(filter.points);
        for (let row = 0; row < rowCount; row += 1) if (isInside(x[row] as number, y[row] as number)) mask[row] = 1;
        return mask;
      }
    }
  }

  #maskNulls(column: TableColumn, isNull: boolean, mask: Uint8Array): void {
    if (column.type === 'number') {
      const values = this.numbers(column.source);
      for (let row = 0; row < this.rowCount; row += 1) if (Number.isNaN(values[row]) === isNull) mask[row] = 1;
      return;
    }
    const { codes } = this.codedColumn(column);
    for (let row = 0; row < this.rowCount; row += 1) if ((codes[row] === 0) === isNull) mask[row] = 1;
  }
}

/**
 * Makes a function that tests whether a position is inside a polygon (even-odd rule). It tests the polygon's box first, because most
 * positions are outside.
 */
function createPolygonTest(points: readonly (readonly [number, number])[]): (x: number, y: number) => boolean {
  const [xs, ys] = [Float64Array.from(points, ([x]) => x), Float64Array.from(points, ([, y]) => y)];
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return (x, y) => {
    if (!(x >= left && x <= right && y >= top && y <= bottom)) return false;
    let isInside = false;
    for (let i = 0, j = xs.length - 1; i < xs.length; j = i, i += 1) {
      const [xi, yi, xj, yj] = [xs[i] as number, ys[i] as number, xs[j] as number, ys[j] as number];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) isInside = !isInside;
    }
    return isInside;
  };
}
