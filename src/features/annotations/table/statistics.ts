import { Block, type BlockInput, type FilteredBlock, type Cell } from './block.js';
import type { TableColumn } from './columns.js';

/** Maximum number of values from which quantiles are computed. If there are more, an evenly spaced sample is used. */
const maxSample = 1_000_000;
/** Maximum number of categories in a description. It lists the categories with the most elements. */
const maxListedCategories = 100;
const quantiles = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/** The description of a column for clients. */
export interface ColumnDescription {
  name: string;
  type: TableColumn['type'];
  count: number;
  nulls: number;
  min?: number;
  max?: number;
  mean?: number;
  quantiles?: Record<string, number>;
  distinct?: number;
  categories?: { value: Cell; count: number }[];
}

/** Describes columns over all blocks of a table. */
export function describe({ columns, blocks }: { columns: TableColumn[]; blocks: BlockInput[] }): ColumnDescription[] {
  const selectedBlocks = blocks.map((input) => {
    const block = new Block(input);
    return { block, rows: block.selectRows(null) };
  });
  return columns.map((column) => {
    const rowCount = selectedBlocks.reduce((sum, { rows }) => sum + rows.length, 0);
    if (column.type === 'id') return { name: column.name, type: column.type, count: rowCount, nulls: 0 };
    return column.type === 'number'
      ? describeNumbers(column, selectedBlocks, rowCount)
      : describeTexts(column, selectedBlocks, rowCount);
  });
}

type SelectedBlocks = readonly { block: Block; rows: Uint32Array }[];

function describeNumbers(column: TableColumn, selectedBlocks: SelectedBlocks, rowCount: number): ColumnDescription {
  const values = new Float64Array(rowCount);
  let count = 0;
  let sum = 0;
  for (const { block, rows } of selectedBlocks) {
    const numbers = block.numbers(column.source);
    for (const row of rows) {
      const value = numbers[row] as number;
      if (Number.isNaN(value)) continue;
      values[count++] = value;
      sum += value;
    }
  }
  const description: ColumnDescription = { name: column.name, type: column.type, count, nulls: rowCount - count };
  if (count === 0) return description;
  let [min, max] = [Infinity, -Infinity];
  for (let i = 0; i < count; i += 1) {
    const value = values[i] as number;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const step = Math.ceil(count / maxSample);
  const sample =
    step === 1 ? values.subarray(0, count) : Float64Array.from({ length: Math.floor(count / step) }, (_, i) => values[i * step]!);
  sample.sort();
  description.min = min;
  description.max = max;
  if (Number.isFinite(sum)) description.mean = sum / count;
  description.quantiles = Object.fromEntries(quantiles.map((quantile) => [String(quantile), quantileOf(sample, quantile)]));
  return description;
}

/** Computes a quantile of sorted values. Interpolates between the two nearest values, as most programs do. */
function quantileOf(sortedValues: Float64Array, quantile: number): number {
  const index = (sortedValues.length - 1) * quantile;
  const [low, high] = [sortedValues[Math.floor(index)] as number, sortedValues[Math.ceil(index)] as number];
  return low + (high - low) * (index - Math.floor(index));
}

function describeTexts(column: TableColumn, selectedBlocks: SelectedBlocks, rowCount: number): ColumnDescription {
  const counts = new Map<Cell, number>();
  let count = 0;
  for (const { block, rows } of selectedBlocks) {
    for (const [value, countInBlock] of countTexts(block, column, rows)) {
      counts.set(value, (counts.get(value) ?? 0) + countInBlock);
      count += countInBlock;
    }
  }
  const topCounts = [...counts].sort(byCount).slice(0, maxListedCategories);
  const categories = topCounts.map(([value, totalCount]) => ({ value, count: totalCount }));
  return { name: column.name, type: column.type, count, nulls: rowCount - count, distinct: counts.size, categories };
}

/**
 * Compares two categories by count, the largest first, and by value if the counts are equal, so that responses do not depend on the order
 * of blocks.
 */
export function byCount([a, countA]: [Cell, number], [b, countB]: [Cell, number]): number {
  return countB - countA || (String(a) < String(b) ? -1 : 1);
}

function countTexts(block: Block, column: TableColumn, rows: Uint32Array): [Cell, number][] {
  const { codes, distinctValues } = block.codedColumn(column);
  const counts = new Uint32Array(distinctValues.length + 1);
  for (const row of rows) counts[codes[row] as number]! += 1;
  return distinctValues.flatMap((value, i): [Cell, number][] => (counts[i + 1] === 0 ? [] : [[value, counts[i + 1]!]]));
}

/** Returns the categories of a block. `indexOf` returns the category of a row, as an index of `values`. */
function categoriesOf(block: Block, by: TableColumn | null): { values: Cell[]; indexOf: (row: number) => number } {
  if (by === null) return { values: [null], indexOf: () => 0 };
  const { codes, distinctValues } = block.codedColumn(by);
  return { values: [null, ...distinctValues], indexOf: (row) => codes[row] as number };
}

/** An axis of a histogram. */
export interface Axis {
  column: TableColumn;
  low: number;
  high: number;
  bins: number;
}

/** The number of elements of one category in each bin. With two axes, `counts` begins with all bins of y for the first bin of x. */
export interface CategoryCounts {
  value: Cell;
  counts: Uint32Array;
  /** Number of elements without a value on an axis. */
  nulls: number;
  /** Number of elements whose value is outside an axis. */
  outside: number;
}

/** Counts the elements of a block in bins. The last bin includes its upper end. */
export function histogram({
  block: input,
  filter,
  axes,
  by,
}: FilteredBlock & { axes: Axis[]; by: TableColumn | null }): CategoryCounts[] {
  const block = new Block(input);
  const { values, indexOf } = categoriesOf(block, by);
  const size = axes.reduce((product, { bins }) => product * bins, 1);
  const categories = new Map<number, CategoryCounts>();
  const columns = axes.map(({ column }) => block.numbers(column.source));
  for (const row of block.selectRows(filter)) {
    const category = indexOf(row);
    let categoryCounts = categories.get(category);
    if (categoryCounts === undefined) {
      categoryCounts = { value: values[category] as Cell, counts: new Uint32Array(size), nulls: 0, outside: 0 };
      categories.set(category, categoryCounts);
      if (categories.size > maxCategories) break;
    }
    let bin = 0;
    for (let i = 0; i < axes.length; i += 1) {
      const axisBin = binOf(columns[i]![row] as number, axes[i] as Axis);
      if (axisBin < 0) {
        bin = axisBin;
        break;
      }
      bin = bin * axes[i]!.bins + axisBin;
    }
    if (bin === nullBin) categoryCounts.nulls += 1;
    else if (bin === outsideBin) categoryCounts.outside += 1;
    else categoryCounts.counts[bin]! += 1;
  }
  return [...categories.values()];
}

/** Maximum number of categories. */
export const maxCategories = 1000;

/** Returned by {@link binOf} if the value is missing. */
const nullBin = -1;
/** Returned by {@link binOf} if the value is outside the axis. */
const outsideBin = -2;

function binOf(value: number, { low, high, bins }: Axis): number {
  if (Number.isNaN(value)) return nullBin;
  if (value < low || value > high) return outsideBin;
  if (value === high) return bins - 1;
  // Halves are subtracted, because the difference of two large numbers could overflow.
  return Math.min(bins - 1, Math.floor(((value / 2 - low / 2) / (high / 2 - low / 2)) * bins));
}

/** Statistics of a set of values. The moments of two sets can be merged. */
export interface Moments {
  count: number;
  mean: number;
  /** Sum of the squared differences from the mean. */
  squares: number;
  min: number;
  max: number;
}

/** The number of elements of a category, and the moments of each column. */
export interface CategoryMoments {
  value: Cell;
  count: number;
  columns: Moments[];
}

const emptyMoments = (): Moments => ({ count: 0, mean: 0, squares: 0, min: Infinity, max: -Infinity });

/** Computes the moments of columns of a block, by category. */
export function summarize({
  block: input,
  filter,
  columns,
  by,
}: FilteredBlock & { columns: TableColumn[]; by: TableColumn | null }): CategoryMoments[] {
  const block = new Block(input);
  const { values, indexOf } = categoriesOf(block, by);
  const categories = new Map<number, CategoryMoments>();
  const numbers = columns.map(({ source }) => block.numbers(source));
  for (const row of block.selectRows(filter)) {
    const category = indexOf(row);
    let categoryMoments = categories.get(category);
    if (categoryMoments === undefined) {
      categoryMoments = { value: values[category] as Cell, count: 0, columns: columns.map(emptyMoments) };
      categories.set(category, categoryMoments);
      if (categories.size > maxCategories) break;
    }
    categoryMoments.count += 1;
    for (let i = 0; i < numbers.length; i += 1) {
      const value = numbers[i]![row] as number;
      if (Number.isNaN(value)) continue;
      const moments = categoryMoments.columns[i] as Moments;
      moments.count += 1;
      const difference = value - moments.mean;
      moments.mean += difference / moments.count;
      moments.squares += difference * (value - moments.mean);
      if (value < moments.min) moments.min = value;
      if (value > moments.max) moments.max = value;
    }
  }
  return [...categories.values()];
}

/** Computes the moments of two sets of values together. */
export function mergeMoments(a: Moments, b: Moments): Moments {
  const count = a.count + b.count;
  if (count === 0) return emptyMoments();
  const difference = b.mean - a.mean;
  return {
    count,
    mean: a.mean + (difference * b.count) / count,
    squares: a.squares + b.squares + (difference * difference * a.count * b.count) / count,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
  };
}
