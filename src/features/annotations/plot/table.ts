import { ColumnStatistics, commonColumns, compareColumns, type CommonKey, type PlotColumn } from './columns.js';
import type { PlotField, PlotValue } from './fields.js';
import { BadValueError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';

/** The subject of a value, from general to specific. Ids that do not apply are empty, and an index that does not apply is -1. */
export interface RowKey {
  itemId: string;
  annotationId: string;
  elementId: string;
  index: number;
}

/** The key of the row for values of the folder. Keys of other rows are made from this key. */
export const folderRow: RowKey = { itemId: '', annotationId: '', elementId: '', index: -1 };

interface Row {
  key: RowKey;
  /** The values of the requested columns. */
  values: (PlotValue | undefined)[];
}

/** Columns and rows of a response. */
export interface PlotRows {
  /** The columns. `index` is the index of the column's value in each row. */
  columns: (PlotColumn & { index: number })[];
  data: AsyncIterable<(PlotValue | null)[]>;
}

/** Maximum number of columns. Further columns are left out. */
const maxColumns = 5000;
/** Maximum number of values in one response. */
const maxValues = 5_000_000;

/** Collects the descriptions of all columns, and the rows of the requested columns. */
export class PlotTable {
  readonly #columns = new Map<string, ColumnStatistics>();
  /** The index of each requested column in {@link Row.values}, by the column's key. */
  readonly #positionByKey: ReadonlyMap<string, number>;
  readonly #rows = new Map<string, Row>();

  /** @param keys keys of the columns whose values are kept. `null` if only descriptions are needed. */
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

  /** Returns all columns that have values, in the order of {@link compareColumns}. */
  columns(): PlotColumn[] {
    return [...this.#columns.values()].map(({ column }) => column).sort(compareColumns);
  }

  /**
   * Returns the rows of some columns. Values of more general subjects are repeated in each row. Rows without a value in a required column are
   * left out.
   *
   * @throws BadValueError if the response could have too many values.
   */
  rows(keys: readonly string[], requiredKeys: readonly string[], signal: AbortSignal): PlotRows {
    const requestedKeys = new Set(keys);
    const columns = this.columns()
      .filter(({ key }) => requestedKeys.has(key))
      .map((column, index) => ({ ...column, index }));
    const valueCount = columns.length * this.#rows.size;
    if (valueCount > maxValues) {
      const request = `${columns.length} columns of ${this.#rows.size} rows`;
      throw new BadValueError(`A response can have at most ${maxValues} values; ${request} are more. Request fewer columns.`);
    }
    return { columns, data: this.#eachRow({ columns, requiredKeys }, signal) };
  }

  async *#eachRow(
    { columns, requiredKeys }: { columns: readonly PlotColumn[]; requiredKeys: readonly string[] },
    signal: AbortSignal,
  ): AsyncGenerator<(PlotValue | null)[]> {
    if (columns.length === 0) return;
    const positions = columns.map(({ key }) => this.#positionByKey.get(key)!);
    const requiredPositions = requiredKeys.map((key) => this.#positionByKey.get(key) ?? -1);
    for await (const row of this.#sortedRows(signal)) {
      const generalRows = this.#generalRows(row.key);
      const valueAt = (position: number): PlotValue | null => {
        const specificValue = row.values[position];
        return specificValue ?? generalRows.find(({ values }) => values[position] !== undefined)?.values[position] ?? null;
      };
      if (requiredPositions.every((position) => valueAt(position) !== null)) yield positions.map(valueAt);
    }
  }

  /** Yields the rows in the order of item, annotation, element and index. They are sorted in small parts, so that other work can run. */
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
    // Sorting the keys sorts by item and then by annotation, because a slash comes before every character of an id.
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

  /** Finds the rows of the more general subjects to which a row belongs, the most specific first. */
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
