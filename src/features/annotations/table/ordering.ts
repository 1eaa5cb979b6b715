import { Block, type BlockInput, type FilteredBlock, type Cell } from './block.js';
import type { TableColumn } from './columns.js';

/** The rows of a block that match a filter and may be on a page, and their sort keys. */
export interface CandidateRows {
  /** Number of rows that match the filter, including rows that cannot be on the page. */
  total: number;
  rows: Uint32Array;
  /** Sort keys of the rows. A key is a number, or an index of `texts` if these are not `null`. `NaN` means that a row has no value. */
  keys: Float64Array;
  texts: string[] | null;
  /** Original order of each row, which decides between equal keys. */
  orders: Float64Array;
}

/**
 * Selects the rows of a block that can be on a page: its first `maxRows` rows in the order of the page.
 *
 * @param by the column by which the rows of the page are ordered.
 * @param maxRows number of rows up to the end of the page (offset + limit), at least 1.
 */
export function select({
  block: input,
  filter,
  by,
  descending,
  maxRows,
}: FilteredBlock & { by: TableColumn; descending: boolean; maxRows: number }): CandidateRows {
  const block = new Block(input);
  // The rows are copied, because sending a part of a buffer would send the whole buffer.
  const rows = block.selectRows(filter).slice();
  const orders = valuesAt(block.numbers('order'), rows);
  const candidateRows = { total: rows.length, rows, orders, ...sortKeysOf(block, by, rows) };
  if (rows.length <= maxRows) return candidateRows;
  const ascendingKeys = ascendingKeysOf([candidateRows], descending);
  const last = sortKeyAt(maxRows - 1, { sortedKeys: ascendingKeys.slice().sort(), keys: ascendingKeys, orders });
  const selectedIndices = new Uint32Array(maxRows);
  let count = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const key = ascendingKeys[i] as number;
    if (key < last.key || (key === last.key && (orders[i] as number) <= last.order)) selectedIndices[count++] = i;
  }
  return {
    ...candidateRows,
    rows: selectedIndices.map((i) => rows[i] as number),
    keys: valuesAt(candidateRows.keys, selectedIndices),
    orders: valuesAt(orders, selectedIndices),
  };
}

function sortKeysOf(block: Block, by: TableColumn, rows: Uint32Array): Pick<CandidateRows, 'keys' | 'texts'> {
  if (by.type === 'number') return { keys: valuesAt(block.numbers(by.source), rows), texts: null };
  const { codes, distinctValues } = block.codedColumn(by);
  const keys = valuesAt(codes, rows);
  for (let i = 0; i < keys.length; i += 1) keys[i] = keys[i] === 0 ? NaN : (keys[i] as number) - 1;
  return { keys, texts: distinctValues.map(String) };
}

function valuesAt(values: ArrayLike<number>, rows: Uint32Array): Float64Array {
  const selectedValues = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i += 1) selectedValues[i] = values[rows[i] as number] as number;
  return selectedValues;
}

/** A row of a block, by the index of the block. */
export interface PageRow {
  blockIndex: number;
  row: number;
}

/**
 * Finds the rows of a page. To find the first and the last row, only the keys are sorted, which takes a tenth of the time of sorting rows.
 * Only the rows of the page are then sorted.
 */
export function page({
  blocks,
  offset,
  limit,
  descending,
}: {
  blocks: CandidateRows[];
  offset: number;
  limit: number;
  descending: boolean;
}): { total: number; rows: PageRow[] } {
  const total = blocks.reduce((sum, block) => sum + block.total, 0);
  const end = Math.min(total, offset + limit);
  if (offset >= end) return { total, rows: [] };
  const keys = ascendingKeysOf(blocks, descending);
  const orders = new Float64Array(keys.length);
  let index = 0;
  for (const block of blocks) {
    orders.set(block.orders, index);
    index += block.orders.length;
  }
  const sortedKeys = keys.slice().sort();
  const first = sortKeyAt(offset, { sortedKeys, keys, orders });
  const last = sortKeyAt(end - 1, { sortedKeys, keys, orders });
  const entries: { key: number; order: number; blockIndex: number; row: number }[] = [];
  index = 0;
  for (const [blockIndex, { rows }] of blocks.entries()) {
    for (let i = 0; i < rows.length; i += 1, index += 1) {
      const [key, order] = [keys[index] as number, orders[index] as number];
      if (
        key < first.key ||
        key > last.key ||
        (key === first.key && order < first.order) ||
        (key === last.key && order > last.order)
      )
        continue;
      entries.push({ key, order, blockIndex, row: rows[i] as number });
    }
  }
  entries.sort((a, b) => (a.key === b.key ? a.order - b.order : a.key - b.key));
  return { total, rows: entries.map(({ blockIndex, row }) => ({ blockIndex, row })) };
}

/** Converts the keys of all rows, block by block, to numbers that ascend in the order of the page. Rows without a value come last. */
function ascendingKeysOf(blocks: readonly CandidateRows[], descending: boolean): Float64Array {
  const ranks = rankTexts(blocks);
  const keys = new Float64Array(blocks.reduce((sum, block) => sum + block.rows.length, 0));
  let index = 0;
  for (const [blockIndex, block] of blocks.entries()) {
    const blockRanks = ranks?.[blockIndex];
    for (const key of block.keys) {
      const value = blockRanks === undefined || Number.isNaN(key) ? key : (blockRanks[key] as number);
      keys[index++] = Number.isNaN(value) ? Infinity : descending ? -value : value;
    }
  }
  return keys;
}

/** Finds the sort key and the original order of the row that sorting would put at an index. No two rows have the same original order. */
function sortKeyAt(
  index: number,
  { sortedKeys, keys, orders }: { sortedKeys: Float64Array; keys: Float64Array; orders: Float64Array },
): { key: number; order: number } {
  const key = sortedKeys[index] as number;
  const firstIndexOfKey = sortedKeys.indexOf(key);
  const ordersOfKey = orders.filter((_, i) => keys[i] === key).sort();
  return { key, order: ordersOfKey[index - firstIndexOfKey] as number };
}

/** Computes, for each block, the rank of each of its texts among the texts of all blocks. Returns `null` if the keys are numbers. */
function rankTexts(blocks: readonly CandidateRows[]): Float64Array[] | null {
  if (blocks.every(({ texts }) => texts === null)) return null;
  const distinctTexts = [...new Set(blocks.flatMap(({ texts }) => texts ?? []))].sort();
  const rankByText = new Map(distinctTexts.map((text, rank) => [text, rank]));
  return blocks.map(({ texts }) => Float64Array.from(texts ?? [], (text) => rankByText.get(text) as number));
}

/** Returns the values of columns at rows of a block, column by column. */
export function cells({
  block: input,
  columns,
  rows,
}: {
  block: BlockInput;
  columns: TableColumn[];
  rows: Uint32Array;
}): Cell[][] {
  const block = new Block(input);
  return columns.map((column) => block.cells(column, rows));
}

/** Writes the ids of the elements of a block that match a filter, up to a limit, as a JSON list without brackets. `count` counts all matches. */
export function ids({ block: input, filter, limit }: FilteredBlock & { limit: number }): {
  count: number;
  text: Uint8Array;
} {
  const block = new Block(input);
  const rows = block.selectRows(filter);
  const selectedIds = block.cells(idColumn, rows.subarray(0, limit));
  return { count: rows.length, text: Buffer.from(JSON.stringify(selectedIds).slice(1, -1)) };
}

const idColumn: TableColumn = { name: 'id', type: 'id', source: 'id', isMixed: false };
