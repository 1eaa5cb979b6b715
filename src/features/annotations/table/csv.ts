import { Block, type Cell, type FilteredBlock } from './block.js';
import type { TableColumn } from './columns.js';

/** Writes the rows of a block that match a filter as lines of comma-separated values (RFC 4180). */
export function csv({ block: input, filter, columns }: FilteredBlock & { columns: TableColumn[] }): Uint8Array {
  const block = new Block(input);
  const rows = block.selectRows(filter);
  const cellsByColumn = columns.map((column) => block.cells(column, rows));
  let text = '';
  for (let i = 0; i < rows.length; i += 1) {
    for (let column = 0; column < cellsByColumn.length; column += 1)
      text += `${column === 0 ? '' : ','}${csvCell(cellsByColumn[column]![i] as Cell)}`;
    text += '\r\n';
  }
  return Buffer.from(text);
}

/** Writes a cell of comma-separated values. An empty string is put in quotes, to distinguish it from a missing value. */
export function csvCell(value: Cell): string {
  if (value === null) return '';
  const text = String(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
