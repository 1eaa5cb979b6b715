import { ColumnStatistics, commonColumns, compareColumns, type CommonKey, type PlotColumn } from './columns.js';
import type { PlotField, PlotValue } from './fields.js';

/** What a value is about, from general to special; empty texts and -1 where it is about no special one. */
export interface RowKey {
  itemId: string;
  annotationId: string;
  elementId: string;
  index: number;
}

/** The row of what is about no item: folders. */
export const noRow: RowKey = { itemId: '', annotationId: '', elementId: '', index: -1 };

interface Row {
  key: RowKey;
  values: (PlotValue | undefined)[];
}

/** Columns and rows as they are answered; `index` is the place of a column in each row. */
export interface PlotRows {
  columns: (PlotColumn & { index: number })[];
  data: (PlotValue | null)[][];
}

/** Different columns that are told apart; those that come later are left out. */
const maxColumns = 5000;

/** Collects values by column, and by row for the columns that are asked for. */
export class PlotTable {
  readonly #columns = new Map<string, ColumnStatistics>();
  readonly #places: ReadonlyMap<string, number>;
  readonly #rows = new Map<string, Row>();

  /** @param keys columns whose values are kept; none for statistics alone. */
  constructor(keys: Iterable<string> = []) {
    this.#places = new Map([...new Set(keys)].map((key, place) => [key, place]));
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
    const place = this.#places.get(key);
    if (place !== undefined) this.#rowAt(row).values[place] = value;
  }

  #rowAt(key: RowKey): Row {
    const text = rowText(key);
    let row = this.#rows.get(text);
    if (row === undefined) this.#rows.set(text, (row = { key, values: [] }));
    return row;
  }

  /** All columns that have values, in order. */
  columns(): PlotColumn[] {
    return [...this.#columns.values()].map(({ column }) => column).sort(compareColumns);
  }

  /** Rows of some columns: what is more general is repeated; rows without a required value are left out. */
  rows(keys: readonly string[], required: readonly string[]): PlotRows {
    const columns = this.columns()
      .filter(({ key }) => keys.includes(key))
      .map((column, index) => ({ ...column, index }));
    if (columns.length === 0) return { columns: [], data: [] };
    const places = columns.map(({ key }) => this.#places.get(key)!);
    const requiredPlaces = required.map((key) => this.#places.get(key) ?? -1);
    const data: (PlotValue | null)[][] = [];
    for (const row of [...this.#rows.values()].sort(compareRows)) {
      const general = this.#generalRows(row.key);
      const valueAt = (place: number): PlotValue | null => {
        const own = row.values[place];
        return own ?? general.find(({ values }) => values[place] !== undefined)?.values[place] ?? null;
      };
      if (requiredPlaces.every((place) => valueAt(place) !== null)) data.push(places.map(valueAt));
    }
    return { columns, data };
  }

  /** Rows that say something about the same at a more general level, the most special first. */
  #generalRows(key: RowKey): Row[] {
    const keys: RowKey[] = [];
    const { itemId, annotationId } = key;
    if (key.index !== -1) keys.push({ ...key, index: -1 });
    if (key.elementId !== '') keys.push({ ...key, elementId: '', index: -1 });
    if (annotationId !== '') keys.push({ ...noRow, itemId });
    if (itemId !== '') keys.push(noRow);
    return keys.flatMap((general) => this.#rows.get(rowText(general)) ?? []);
  }
}

function rowText({ itemId, annotationId, elementId, index }: RowKey): string {
  return `${itemId}/${annotationId}/${elementId}/${index}`;
}

function compareRows({ key: a }: Row, { key: b }: Row): number {
  for (const name of ['itemId', 'annotationId', 'elementId'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1;
  }
  return a.index - b.index;
}
