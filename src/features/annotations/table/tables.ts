import { LRUCache } from 'lru-cache';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import type { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { BadParameterError } from '../../../errors.js';
import type { BlockInput, Cell } from './block.js';
import type { OpenTable, TableBlock } from './blocks.js';
import type { TableColumn } from './columns.js';
import { filterColumns, mayMatch, type TableFilter } from './filter.js';
import {
  byCount,
  maxCategories,
  mergeMoments,
  type Axis,
  type CategoryCounts,
  type CategoryMoments,
  type ColumnDescription,
} from './statistics.js';
import type { TableFunctions } from './table-thread.js';
import { addValues, emptyWindowValues, type WindowValues } from './values.js';

/** Number of blocks of a request that are processed at the same time. */
const blocksAtOnce = 2;
/** Number of values that are loaded at a time to describe a table. */
const valuesAtOnce = 16_000_000;
const maxDescriptionBytes = 16 * 1024 * 1024;

/** Number of bytes of an id in a JSON list: 24 digits, quotes and a comma. */
const idEntryBytes = 27;

/** A table, and a filter that selects elements of the table. The filter `null` selects all elements. */
export interface TableQuery {
  table: OpenTable;
  filter: TableFilter | null;
  signal: AbortSignal;
}

/** Statistics of the values of a column. */
interface ColumnSummary {
  count: number;
  mean: number | null;
  /** Standard deviation of a sample (divided by n - 1). `null` if there are fewer than two values. */
  deviation: number | null;
  min: number | null;
  max: number | null;
}

/** Runs queries on tables, block by block in threads. */
export class Tables {
  /** Descriptions by `content` of the table. Tables with the same `content` are equal. */
  readonly #descriptions = new LRUCache<string, ColumnDescription[]>({
    maxSize: maxDescriptionBytes,
    sizeCalculation: (columns) => JSON.stringify(columns).length * 2 + 64,
  });

  constructor(private readonly threads: ThreadPool<TableFunctions>) {}

  /** Runs a thread function on each block that may have matching elements. Returns these blocks, and the results in the same order. */
  async #runOnBlocks<Name extends 'histogram' | 'summarize' | 'select' | 'ids', Extra extends object>(
    name: Name,
    { table, filter, signal }: TableQuery,
    columns: readonly TableColumn[],
    extra: Extra,
  ) {
    const neededColumns = [...columns, ...filterColumns(filter, table.columnsByName)];
    const blocks = candidateBlocks(table, filter);
    const results = await mapConcurrently(blocks, blocksAtOnce, async (tableBlock) => {
      const { block, transfer } = await tableBlock.load(neededColumns, signal);
      // Each of these functions takes a block, a filter and the members of `extra`.
      const input = { block, filter, ...extra } as unknown as Parameters<TableFunctions[Name]>[0];
      return this.threads.run(name, input, { inputName: 'The table', signal, transfer });
    });
    return { blocks, results };
  }

  /** Describes all columns. */
  async describe({ table, signal }: Omit<TableQuery, 'filter'>): Promise<ColumnDescription[]> {
    const cached = this.#descriptions.get(table.content);
    if (cached !== undefined) return cached;
    const { columns } = table.columnsByName;
    const rowCount = table.blocks.reduce((sum, { header }) => sum + header.rows, 0);
    const columnsAtOnce = Math.max(1, Math.min(32, Math.floor(valuesAtOnce / Math.max(1, rowCount))));
    const descriptions: ColumnDescription[] = [];
    for (let start = 0; start < columns.length; start += columnsAtOnce) {
      const columnGroup = columns.slice(start, start + columnsAtOnce);
      const loadedBlocks = await mapConcurrently(table.blocks, 4, (block) => block.load(columnGroup, signal));
      const blocks: BlockInput[] = loadedBlocks.map(({ block }) => block);
      const transfer = loadedBlocks.flatMap((loadedBlock) => loadedBlock.transfer);
      descriptions.push(
        ...(await this.threads.run('describe', { columns: columnGroup, blocks }, { inputName: 'The table', signal, transfer })),
      );
    }
    this.#descriptions.set(table.content, descriptions);
    return descriptions;
  }

  /** Loads the values of columns for one page of rows. `total` is the number of rows on all pages. */
  async rows(
    query: TableQuery,
    { columns, by, descending, offset, limit }: PageRequest,
  ): Promise<{ total: number; rows: Cell[][] }> {
    const { table, signal } = query;
    const order = table.columnsByName.find('order');
    const extra = { by, descending, maxRows: Math.max(1, offset + limit) };
    const { blocks, results } = await this.#runOnBlocks('select', query, [by, order], extra);
    const page = await this.threads.run(
      'page',
      { blocks: results, offset, limit, descending },
      {
        inputName: 'The table',
        signal,
        transfer: results.flatMap(({ rows, keys, orders }) => [rows, keys, orders].map(arrayBufferOf)),
      },
    );
    const rows: Cell[][] = page.rows.map(() => []);
    const rowsByBlock = new Map<number, { row: number; pageIndex: number }[]>();
    for (const [pageIndex, { blockIndex, row }] of page.rows.entries()) {
      const existing = rowsByBlock.get(blockIndex);
      if (existing === undefined) rowsByBlock.set(blockIndex, [{ row, pageIndex }]);
      else existing.push({ row, pageIndex });
    }
    await mapConcurrently([...rowsByBlock], blocksAtOnce, async ([blockIndex, blockRows]) => {
      const rowIndices = Uint32Array.from(blockRows, ({ row }) => row);
      const cells = await blocks[blockIndex]!.loadCells(columns, rowIndices, signal);
      for (const [i, { pageIndex }] of blockRows.entries()) rows[pageIndex] = cells.map((column) => column[i] as Cell);
    });
    return { total: page.total, rows };
  }

  /** Counts elements in bins, by category. */
  async histogram(query: TableQuery, axes: Axis[], by: TableColumn | null): Promise<CategoryCounts[]> {
    const columns = [...axes.map(({ column }) => column), ...(by === null ? [] : [by])];
    const { results } = await this.#runOnBlocks('histogram', query, columns, { axes, by });
    const countsByCategory = new Map<Cell, CategoryCounts>();
    for (const part of results.flat()) {
      const existing = countsByCategory.get(part.value);
      if (existing === undefined) countsByCategory.set(part.value, part);
      else {
        for (let i = 0; i < part.counts.length; i += 1) existing.counts[i]! += part.counts[i] as number;
        existing.nulls += part.nulls;
        existing.outside += part.outside;
      }
    }
    requireFewCategories(countsByCategory.size, by);
    return [...countsByCategory.values()].sort((a, b) => byCount([a.value, totalCount(a)], [b.value, totalCount(b)]));
  }

  /** Sums up columns, by category. */
  async summarize(query: TableQuery, columns: readonly TableColumn[], by: TableColumn | null): Promise<CategorySummary[]> {
    return toSummaries(await this.computeMoments(query, columns, by), columns);
  }

  /** Sums up columns by category, in a form in which the results of several tables can be merged. */
  async computeMoments(query: TableQuery, columns: readonly TableColumn[], by: TableColumn | null): Promise<CategoryMoments[]> {
    const { results } = await this.#runOnBlocks('summarize', query, [...columns, ...(by === null ? [] : [by])], { columns, by });
    return mergeCategories(results.flat(), by);
  }

  /**
   * Loads the values that a column has for the elements of a window that match a filter.
   *
   * @param options `subtrahend`: is subtracted from numbers before they are stored as floats, which have only seven digits.
   */
  async loadValues(
    { table, filter, signal }: TableQuery,
    { windowIndex, column, subtrahend }: { windowIndex: number; column: TableColumn | null; subtrahend: number },
  ): Promise<WindowValues> {
    const neededColumns = [
      table.columnsByName.find('order'),
      ...(column === null ? [] : [column]),
      ...filterColumns(filter, table.columnsByName),
    ];
    const blocks = candidateBlocks(table, filter).filter((block) => block.windowIndex === windowIndex);
    let windowValues: WindowValues | null = null;
    for (const tableBlock of blocks) {
      const { block, transfer } = await tableBlock.load(neededColumns, signal);
      const input = { block, filter, column, subtrahend };
      const part = await this.threads.run('values', input, { inputName: 'The table', signal, transfer });
      if (windowValues === null) windowValues = part;
      else addValues(windowValues, part);
    }
    return windowValues ?? emptyWindowValues();
  }

  /**
   * Finds the ids of elements, up to a limit. `texts` are parts of a JSON list: the caller writes the brackets, and commas between the parts.
   * `count` is the number of all elements that match.
   */
  async ids(query: TableQuery, limit: number): Promise<{ count: number; texts: Uint8Array[] }> {
    const { results } = await this.#runOnBlocks('ids', query, [query.table.columnsByName.find('id')], { limit });
    const texts: Uint8Array[] = [];
    let remainingCount = limit;
    for (const { text } of results) {
      if (remainingCount === 0 || text.length === 0) continue;
      const cutText = text.subarray(0, remainingCount * idEntryBytes - 1);
      texts.push(cutText);
      remainingCount -= Math.ceil(cutText.length / idEntryBytes);
    }
    return { count: results.reduce((sum, { count }) => sum + count, 0), texts };
  }
}

/** A summary of the elements of a category. */
export interface CategorySummary {
  value: Cell;
  count: number;
  columns: Record<string, ColumnSummary>;
}

/** Merges the results of several blocks or tables. @throws BadParameterError for too many categories. */
export function mergeCategories(parts: readonly CategoryMoments[], by: TableColumn | null): CategoryMoments[] {
  const momentsByCategory = new Map<Cell, CategoryMoments>();
  for (const part of parts) {
    const existing = momentsByCategory.get(part.value);
    if (existing === undefined) momentsByCategory.set(part.value, part);
    else {
      existing.count += part.count;
      existing.columns = existing.columns.map((moments, i) => mergeMoments(moments, part.columns[i]!));
    }
  }
  requireFewCategories(momentsByCategory.size, by);
  return [...momentsByCategory.values()];
}

/** Makes the summaries of categories for a response. The categories with the most elements come first. */
export function toSummaries(categories: CategoryMoments[], columns: readonly TableColumn[]): CategorySummary[] {
  return categories
    .sort((a, b) => byCount([a.value, a.count], [b.value, b.count]))
    .map(({ value, count, columns: columnMoments }) => ({
      value,
      count,
      columns: Object.fromEntries(columnMoments.map((moments, i) => [columns[i]!.name, summarizeMoments(moments)])),
    }));
}

/** A request for a page of rows. */
export interface PageRequest {
  columns: TableColumn[];
  /** The column by which the rows are ordered. */
  by: TableColumn;
  descending: boolean;
  offset: number;
  limit: number;
}

/** Finds the blocks that may have matching elements. */
export function candidateBlocks({ blocks }: OpenTable, filter: TableFilter | null): TableBlock[] {
  return blocks.filter(({ header, liveCount }) => {
    if (liveCount === 0) return false;
    return mayMatch(filter, (source) => limitsOf(header, source));
  });
}

/**
 * Finds the smallest and the largest number of a column in a table. Returns `null` if the column has no numbers, or if its limits are not
 * stored.
 */
export function limitsOfTable(table: OpenTable, source: string): { low: number; high: number } | null {
  let [low, high] = [Infinity, -Infinity];
  for (const { header } of table.blocks) {
    const limits = limitsOf(header, source);
    if (limits === null) continue;
    low = Math.min(low, limits.low);
    high = Math.max(high, limits.high);
  }
  return Number.isFinite(low) && Number.isFinite(high) ? { low, high } : null;
}

/**
 * Finds the range of a column of numbers. Limits that are not requested are the column's smallest and largest number.
 *
 * @throws BadParameterError if the range ends before it begins.
 */
export function requestedRange(
  table: OpenTable,
  { name, source }: TableColumn,
  requestedLimits: { low: number | undefined; high: number | undefined },
): { low: number; high: number } {
  // A column without values has no limits, and the limits of the column `order` are not stored. In both cases, the range is from 0 to the
  // number of rows.
  const limits = limitsOfTable(table, source) ?? { low: 0, high: table.blocks.reduce((sum, { header }) => sum + header.rows, 0) };
  const low = requestedLimits.low ?? limits.low;
  const high = requestedLimits.high ?? limits.high;
  if (low > high) throw new BadParameterError(`The range of ${JSON.stringify(name)} begins at ${low}, after its end at ${high}.`);
  return low === high ? { low: low - 0.5, high: high + 0.5 } : { low, high };
}

/** Finds the smallest and the largest number of a stored column in a segment. Returns `null` if the column has no numbers. */
function limitsOf({ columns }: OpenTable['blocks'][number]['header'], source: string): { low: number; high: number } | null {
  // Stored orders are relative to the window, so they are not limits in the table.
  if (source === 'order') return { low: -Infinity, high: Infinity };
  const column = columns.find(({ kind, name }) => kind === 'number' && name === source);
  if (column?.low === undefined || column.high === undefined) return null;
  return { low: column.low, high: column.high };
}

function arrayBufferOf({ buffer }: Uint32Array | Float64Array): ArrayBuffer {
  // The cast is safe: each array from a thread has its own buffer.
  return buffer as ArrayBuffer;
}

function requireFewCategories(categoryCount: number, by: TableColumn | null): void {
  if (by === null || categoryCount <= maxCategories) return;
  throw new BadParameterError(`The column ${JSON.stringify(by.name)} has more than ${maxCategories} categories.`);
}

function totalCount({ counts, nulls, outside }: CategoryCounts): number {
  return counts.reduce((sum, count) => sum + count, nulls + outside);
}

function summarizeMoments({ count, mean, squares, min, max }: CategoryMoments['columns'][number]): ColumnSummary {
  if (count === 0) return { count, mean: null, deviation: null, min: null, max: null };
  return {
    count,
    mean: finiteOrNull(mean),
    deviation: count > 1 ? finiteOrNull(Math.sqrt(squares / (count - 1))) : null,
    min,
    max,
  };
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
