import { parse } from 'csv-parse';
import type { PlotValue } from './fields.js';
import type { HostFiles } from '../../../host.js';
import type { FileRecord } from '../../../core/host-records.js';

/** Rows of one file that are read. */
const maxRows = 250_000;
const maxColumns = 1000;
/** Longest file that is read, in bytes. */
const maxBytes = 64 * 1024 * 1024;
/** Longest row, in characters. */
const maxRowLength = 1024 * 1024;

/** Whether a file holds comma-separated values. */
export function isDataFile({ name, mimeType, size }: FileRecord): boolean {
  return size <= maxBytes && (/\.csv$/i.test(name) || mimeType === 'text/csv');
}

/**
 * The rows of a file of comma-separated values whose first line names the columns. A column is of numbers when all its cells that are
 * not empty are. Empty cells are absent. A file that cannot be read so has no rows.
 *
 * @param options `limit`: only the first rows.
 */
export async function readDataFile(
  file: FileRecord,
  files: HostFiles,
  { limit = maxRows, signal }: { limit?: number; signal?: AbortSignal },
): Promise<Record<string, PlotValue>[]> {
  const bytes = await files.read(file.doc, { start: 0, end: file.size }, { ...(signal && { signal }) });
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: maxRowLength,
    to: Math.min(limit, maxRows) + 1,
  });
  bytes.on('error', (error) => parser.destroy(error));
  bytes.pipe(parser);
  let names: string[] | null = null;
  const rows: string[][] = [];
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      signal?.throwIfAborted();
      if (names === null) names = cells.slice(0, maxColumns);
      else rows.push(cells.slice(0, names.length));
    }
  } catch (error) {
    signal?.throwIfAborted();
    // Broken in the middle: what was read before is still what the file says.
    if (!isFormatError(error)) throw error;
  } finally {
    bytes.destroy();
  }
  return names === null ? [] : typed(names, rows);
}

/** Errors about the contents of a file, as the parser marks them. */
function isFormatError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_');
}

function typed(names: readonly string[], rows: readonly string[][]): Record<string, PlotValue>[] {
  const isNumber = names.map((_, at) => rows.every((cells) => (cells[at] ?? '') === '' || numberOf(cells[at]!) !== null));
  return rows.map((cells) => {
    const entries: [string, PlotValue][] = [];
    for (const [at, name] of names.entries()) {
      const cell = cells[at] ?? '';
      if (name !== '' && cell !== '') entries.push([name, isNumber[at] ? numberOf(cell)! : cell]);
    }
    return Object.fromEntries(entries);
  });
}

function numberOf(cell: string): number | null {
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cell)) return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}
