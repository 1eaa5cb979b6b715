import { Block, type Cell, type FilteredBlock } from './block.js';
import type { TableColumn } from './columns.js';

/** Rows of a block that match a filter, as lines of comma-separated values (RFC 4180). */
export function csv({ block: input, filter, columns }: FilteredBlock & { columns: TableColumn[] }): Uint8Array {
  const block = new Block(input);
  const rows = block.selectRows(filter);
  const cellsByColumn = columns.map((column) => block.cells(column, rows));
  let text = '';
  for (let i = 0; i < rows.length; i += 1) {
    for (let at = 0; at < cellsByColumn.length; at += 1)
      text += `${at === 0 ? '' : ','}${csvCell(cellsByColumn[at]![i] as Cell)}`;
    text += '\r\n';
  }
  return Buffer.from(text);
}

/** A cell of comma-separated values. An empty string is in quotes, to distinguish it from a missing value. */
export function csvCell(value: Cell): string {
  if (value === null) return '';
  const text = String(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
