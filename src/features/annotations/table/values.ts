import { windowPositions } from '../elements/packs/pack-index.js';
import type { TextOrBoolean } from '../elements/packs/segment.js';
import { Block, type FilteredBlock } from './block.js';
import type { TableColumn } from './columns.js';

/** Marks an element that does not match the filter. Elements that match but have no value are marked by `NaN`. */
export const notMatching = -Infinity;

/** Numbers are clamped to ± this number, so that they stay finite as 32-bit floats. */
const maxNumber = 3e38;

/** The values of the elements of a window. */
export interface WindowValues {
  /**
   * The value of each element, by the element's position in the window. For a column of numbers, the values are the numbers minus the
   * requested subtrahend. For other columns, they are indices of `texts`. Without a column, they are `NaN`.
   */
  values: Float32Array;
  texts: TextOrBoolean[];
}

/** Makes the values of a window in which no element matches. */
export function emptyWindowValues(): WindowValues {
  return { values: new Float32Array(windowPositions).fill(notMatching), texts: [] };
}

/** Returns the values that a column has for the elements of a block that match a filter. */
export function values({
  block: input,
  filter,
  column,
  subtrahend,
}: FilteredBlock & { column: TableColumn | null; subtrahend: number }): WindowValues {
  const block = new Block(input);
  const windowValues = emptyWindowValues();
  const rows = block.selectRows(filter);
  const orders = block.numbers('order');
  const firstOrder = input.windowIndex * windowPositions;
  const valueAt = column === null ? () => NaN : createValueReader(block, column, { subtrahend, texts: windowValues.texts });
  for (const row of rows) windowValues.values[orders[row]! - firstOrder] = valueAt(row);
  return windowValues;
}

function createValueReader(
  block: Block,
  column: TableColumn,
  { subtrahend, texts }: { subtrahend: number; texts: TextOrBoolean[] },
): (row: number) => number {
  if (column.type === 'number') {
    const numbers = block.numbers(column.source);
    return (row) => Math.max(-maxNumber, Math.min(maxNumber, numbers[row]! - subtrahend));
  }
  const { codes, distinctValues } = block.codedColumn(column);
  texts.push(...distinctValues);
  return (row) => (codes[row] === 0 ? NaN : codes[row]! - 1);
}

/** Adds the values of another block of the same window to `target`. */
export function addValues(target: WindowValues, { values: blockValues, texts }: WindowValues): void {
  const targetIndices = texts.map((text) => {
    const existing = target.texts.indexOf(text);
    return existing < 0 ? target.texts.push(text) - 1 : existing;
  });
  for (let position = 0; position < blockValues.length; position += 1) {
    const value = blockValues[position]!;
    // Only indices of `texts` need to be converted. For a column of numbers, there are no texts.
    if (value !== notMatching) target.values[position] = targetIndices[value] ?? value;
  }
}
