import { Readable } from 'node:stream';
import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { parse } from 'csv-parse';
import { createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { aliasOf } from './columns.js';
import { csvField, type PlotValue } from './fields.js';

/** A file that a thread reads. */
interface CsvTask {
  /** The port that delivers the bytes: one chunk for each message `next`, and `null` at the end. */
  port: MessagePort;
  /** Keys of the requested columns. Columns that identify the subject of a row are always read. `null` requests all columns. */
  keys: readonly string[] | null;
  maxRows: number;
  maxColumns: number;
  maxCells: number;
}

/** The requested columns of a file. */
export interface CsvColumns {
  rowCount: number;
  /** The columns, with a value or `null` for each row. */
  columns: { name: string; values: (PlotValue | null)[] }[];
  /** Whether the columns have more cells than the limit. `columns` is empty then. */
  isTooLarge: boolean;
}

/** Maximum length of a row in characters. */
const maxRowLength = 1024 * 1024;

async function* chunksOf(port: MessagePort): AsyncGenerator<Uint8Array> {
  const closePromise = once(port, 'close').then(() => [null]);
  for (;;) {
    const messagePromise = once(port, 'message');
    port.postMessage('next');
    const [chunk] = (await Promise.race([messagePromise, closePromise])) as [Uint8Array | null];
    if (chunk === null) return;
    yield chunk;
  }
}

/** Whether the parser reports an error in the contents of a file. */
function isFormatError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_');
}

function parseNumber(cell: string): number | null {
  if (!/^[-+]?(\d+(?:\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(cell)) return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** Converts the cells of a column to numbers if all cells that are not empty are numbers. Empty cells become `null`. */
function convertCells(cells: readonly string[]): (PlotValue | null)[] {
  const numbers = cells.map((cell) => (cell === '' ? null : parseNumber(cell)));
  if (numbers.every((value, row) => value !== null || cells[row] === '')) return numbers;
  return cells.map((cell) => (cell === '' ? null : cell));
}

/** Reads a file of comma-separated values whose first line names the columns. */
async function read({ port, keys, maxRows, maxColumns, maxCells }: CsvTask): Promise<CsvColumns> {
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: maxRowLength,
    to: maxRows + 1,
  });
  const bytes = Readable.from(chunksOf(port), { objectMode: false });
  bytes.on('error', (error) => parser.destroy(error));
  bytes.pipe(parser);
  let selectedColumns: { index: number; name: string; cells: string[] }[] | null = null;
  let rowCount = 0;
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (selectedColumns === null) {
        const keySet = keys === null ? null : new Set(keys);
        selectedColumns = cells
          .slice(0, maxColumns)
          .map((name, index) => ({ index, name, cells: [] as string[] }))
          .filter(({ name }) => name !== '')
          .filter(({ name }) => keySet === null || keySet.has(csvField(name, 0).key) || aliasOf(csvField(name, 0)) !== null);
        continue;
      }
      rowCount += 1;
      if (rowCount * selectedColumns.length > maxCells) return { rowCount, columns: [], isTooLarge: true };
      for (const column of selectedColumns) column.cells.push(cells[column.index] ?? '');
    }
  } catch (error) {
    // If the file is malformed from some row on, the rows before that row are used.
    if (!isFormatError(error)) throw error;
  } finally {
    bytes.destroy();
    port.close();
  }
  const columns = (selectedColumns ?? []).map(({ name, cells }) => ({ name, values: convertCells(cells) }));
  return { rowCount, columns, isTooLarge: false };
}

const functions = { read };

/** The functions that run in threads for CSV files. */
export type CsvFunctions = typeof functions;

export default createCallHandler(functions);
