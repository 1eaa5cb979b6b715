import { windowPositions } from '../elements/packs/pack-index.js';
import type { TextOrBoolean } from '../elements/packs/segment.js';
import { Block, type FilteredBlock } from './block.js';
import type { TableColumn } from './columns.js';

/** Value of an element that does not match a filter. Elements without a value have `NaN`. */
export const notMatching = -Infinity;

/** Values are clamped to this, so that they stay finite as 32-bit floats. */
const maxNumber = 3e38;

/** The values of the elements of a window by their position in it. */
export interface WindowValues {
  /** For a column of numbers: the numbers minus the requested subtrahend. For other columns: indices of `texts`. Without a column: `NaN`. */
  values: Float32Array;
  texts: TextOrBoolean[];
}

/** A window in which no element matches. */
export function noValues(): WindowValues {
  return { values: new Float32Array(windowPositions).fill(notMatching), texts: [] };
}

/** The values of a column in those elements of a block that match a filter. */
export function values({
  block: input,
  filter,
  column,
  subtrahend,
}: FilteredBlock & { column: TableColumn | null; subtrahend: number }): WindowValues {
  const block = new Block(input);
  const windowValues = noValues();
  const rows = block.selectRows(filter);
  const orders = block.numbers('order');
  const firstOrder = input.windowIndex * windowPositions;
  const valueAt = column === null ? () => NaN : valueReader(block, column, { subtrahend, texts: windowValues.texts });
  for (const row of rows) windowValues.values[orders[row]! - firstOrder] = valueAt(row);
  return windowValues;
}

function valueReader(
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

/** Adds the values of another block of the same window. */
export function addValues(target: WindowValues, { values: added, texts }: WindowValues): void {
  const targetIndices = texts.map((text) => {
    const existing = target.texts.indexOf(text);
    return existing < 0 ? target.texts.push(text) - 1 : existing;
  });
  for (let position = 0; position < added.length; position += 1) {
    const value = added[position]!;
    // The values of a column of numbers, and `NaN`, are no indices of texts.
    if (value !== notMatching) target.values[position] = targetIndices[value] ?? value;
  }
}
