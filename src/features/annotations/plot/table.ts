import { ColumnStatistics, commonColumns, compareColumns, type CommonKey, type PlotColumn } from './columns.js';
import type { PlotField, PlotValue } from './fields.js';
import { BadValueError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';

/** The subject of a value, from general to specific; empty texts and -1 for the parts that do not apply. */
export interface RowKey {
  itemId: string;
  annotationId: string;
  elementId: string;
  index: number;
}

/** The row for values about the folder instead of an item. Keys of other rows are made from it. */
export const folderRow: RowKey = { itemId: '', annotationId: '', elementId: '', index: -1 };

interface Row {
  key: RowKey;
  values: (PlotValue | undefined)[];
}

/** Columns and rows of a response; `index` is the position of a column in each row. */
export interface PlotRows {
  columns: (PlotColumn & { index: number })[];
  data: AsyncIterable<(PlotValue | null)[]>;
}

/** Maximum number of columns. Further ones are left out. */
const maxColumns = 5000;
/** Maximum number of values in one response. */
const maxValues = 5_000_000;

/** Collects values by column, and by row for the requested columns. */
export class PlotTable {
  readonly #columns = new Map<string, ColumnStatistics>();
  /** The index of each requested column in the values of a row. */
  readonly #positionByKey: ReadonlyMap<string, number>;
  readonly #rows = new Map<string, Row>();

  /** @param keys columns whose values are kept; `null` for statistics alone. */
  constructor(readonly keys: readonly string[] | null = null) {
    this.#positionByKey = new Map([...new Set(keys)].map((key, position) => [key, position]));
  }

  /** Adds a value of a common column. */
  addCommon(key: CommonKey, row: RowKey, value: PlotValue | null | undefined): void {
    if (value !== null && value !== undefined) this.#add(key, commonColumns[key], row, value);
  }

  /** Adds a value of a dictionary. */
  addField({ key, path }: PlotField, row: RowKey, value: PlotValue): void {
    this.#add(key, path.join(' '), row, value);
  }

  #add(key: string, title: string, row: RowKey, value: PlotValue): void {
    let column = this.#columns.get(key);
    if (column === undefined) {
      if (this.#columns.size >= maxColumns) return;
      this.#columns.set(key, (column = new ColumnStatistics(key, title)));
    }
    column.add(value);
    const position = this.#positionByKey.get(key);
    if (position !== undefined) this.#rowAt(row).values[position] = value;
  }

  #rowAt(key: RowKey): Row {
    const text = rowKeyText(key);
    let row = this.#rows.get(text);
    if (row === undefined) this.#rows.set(text, (row = { key, values: [] }));
    return row;
  }

  /** All columns that have values, in order. */
  columns(): PlotColumn[] {
    return [...this.#columns.values()].map(({ column }) => column).sort(compareColumns);
  }

  /**
   * Rows of some columns. More general values are repeated in each row; rows without a required value are left out.
   *
   * @throws BadValueError if the response could have too many values.
   */
  rows(keys: readonly string[], required: readonly string[], signal: AbortSignal): PlotRows {
    const requestedKeys = new Set(keys);
    const columns = this.columns()
      .filter(({ key }) => requestedKeys.has(key))
      .map((column, index) => ({ ...column, index }));
    const valueCount = columns.length * this.#rows.size;
    if (valueCount > maxValues) {
      const counted = `${columns.length} columns of ${this.#rows.size} rows`;
      throw new BadValueError(`A response can have at most ${maxValues} values; ${counted} are more. Request fewer columns.`);
    }
    return { columns, data: this.#eachRow({ columns, required }, signal) };
  }

  async *#eachRow(
    { columns, required }: { columns: readonly PlotColumn[]; required: readonly string[] },
    signal: AbortSignal,
  ): AsyncGenerator<(PlotValue | null)[]> {
    if (columns.length === 0) return;
    const positions = columns.map(({ key }) => this.#positionByKey.get(key)!);
    const requiredPositions = required.map((key) => this.#positionByKey.get(key) ?? -1);
    for await (const row of this.#sortedRows(signal)) {
      const generalRows = this.#generalRows(row.key);
      const valueAt = (position: number): PlotValue | null => {
        const own = row.values[position];
        return own ?? generalRows.find(({ values }) => values[position] !== undefined)?.values[position] ?? null;
      };
      if (requiredPositions.every((position) => valueAt(position) !== null)) yield positions.map(valueAt);
    }
  }

  /** The rows by item, annotation, element and index, sorted in small parts. */
  async *#sortedRows(signal: AbortSignal): AsyncGenerator<Row> {
    const groups = new Map<string, Map<string, Row[]>>();
    for (const row of this.#rows.values()) {
      if (isSliceOver()) await nextSlice(signal);
      const { itemId, annotationId, elementId } = row.key;
      const groupKey = `${itemId}/${annotationId}`;
      const group = groups.get(groupKey) ?? new Map<string, Row[]>();
      groups.set(groupKey, group);
      const rows = group.get(elementId);
      if (rows === undefined) group.set(elementId, [row]);
      else rows.push(row);
    }
    // A slash sorts before every character of an id.
    for (const groupKey of [...groups.keys()].sort()) {
      const group = groups.get(groupKey)!;
      for (const elementId of [...group.keys()].sort()) {
        for (const row of group.get(elementId)!.sort((a, b) => a.key.index - b.key.index)) {
          if (isSliceOver()) await nextSlice(signal);
          yield row;
        }
      }
    }
  }

  /** Rows about the same subject at more general levels, the most specific first. */
  #generalRows(key: RowKey): Row[] {
    const keys: RowKey[] = [];
    const { itemId, annotationId } = key;
    if (key.index !== -1) keys.push({ ...key, index: -1 });
    if (key.elementId !== '') keys.push({ ...key, elementId: '', index: -1 });
    if (annotationId !== '') keys.push({ ...folderRow, itemId });
    if (itemId !== '') keys.push(folderRow);
    return keys.flatMap((general) => this.#rows.get(rowKeyText(general)) ?? []);
  }
}

function rowKeyText({ itemId, annotationId, elementId, index }: RowKey): string {
  return `${itemId}/${annotationId}/${elementId}/${index}`;
}
