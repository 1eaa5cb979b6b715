import { Readable } from 'node:stream';
import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { parse } from 'csv-parse';
import { createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { aliasOf } from './columns.js';
import { csvField, type PlotValue } from './fields.js';

/** A file to be read by a thread. */
interface CsvTask {
  /** Delivers the bytes, one chunk for each message `next`, and `null` at the end. */
  port: MessagePort;
  /** Keys of the requested columns, in addition to those that identify the subject of a row. `null`: all. */
  keys: readonly string[] | null;
  maxRows: number;
  maxColumns: number;
  maxCells: number;
}

/** The requested columns of a file: a value, or `null`, for each row. */
export interface CsvColumns {
  rowCount: number;
  columns: { name: string; values: (PlotValue | null)[] }[];
  /** Whether there are more cells than the limit. Then there are no columns. */
  isTooLarge: boolean;
}

/** Longest row, in characters. */
const maxRowLength = 1024 * 1024;

async function* chunksOf(port: MessagePort): AsyncGenerator<Uint8Array> {
  const closed = once(port, 'close').then(() => [null]);
  for (;;) {
    const arrived = once(port, 'message');
    port.postMessage('next');
    const [chunk] = (await Promise.race([arrived, closed])) as [Uint8Array | null];
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

/** The cells as numbers, if all that are not empty are numbers. */
function convertCells(cells: readonly string[]): (PlotValue | null)[] {
  const numbers = cells.map((cell) => (cell === '' ? null : parseNumber(cell)));
  if (numbers.every((value, at) => value !== null || cells[at] === '')) return numbers;
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
  let selected: { at: number; name: string; cells: string[] }[] | null = null;
  let rowCount = 0;
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (selected === null) {
        const keySet = keys === null ? null : new Set(keys);
        selected = cells
          .slice(0, maxColumns)
          .map((name, at) => ({ at, name, cells: [] as string[] }))
          .filter(({ name }) => name !== '')
          .filter(({ name }) => keySet === null || keySet.has(csvField(name, 0).key) || aliasOf(csvField(name, 0)) !== null);
        continue;
      }
      rowCount += 1;
      if (rowCount * selected.length > maxCells) return { rowCount, columns: [], isTooLarge: true };
      for (const column of selected) column.cells.push(cells[column.at] ?? '');
    }
  } catch (error) {
    // The rest of the file is malformed. The rows before it are used.
    if (!isFormatError(error)) throw error;
  } finally {
    bytes.destroy();
    port.close();
  }
  const columns = (selected ?? []).map(({ name, cells }) => ({ name, values: convertCells(cells) }));
  return { rowCount, columns, isTooLarge: false };
}

const functions = { read };

/** The functions that run in threads for CSV files. */
export type CsvFunctions = typeof functions;

export default createCallHandler(functions);
