import { BadParameterError, LargeImageError } from '../../../errors.js';
import { describeValue } from '../../../annotation-format/messages.js';

/** Formats of tables that can be read. */
export type TableKind = 'csv' | 'parquet' | 'arrow';

/** The names of the formats in messages. */
const kindNames = { csv: 'CSV', parquet: 'Parquet', arrow: 'Arrow' } as const;

/** Maximum number of columns of a table: enough for an exported table, which has up to 1000 columns and the columns of shapes. */
const maxColumns = 1100;
/** Maximum number of rows of a table. */
const maxRows = 10_000_000;
/** Maximum length of a column's name, enough for exported tables. */
const maxNameLength = 1100;
/** Maximum length of the text in a cell, in UTF-16 units. */
const maxTextLength = 1024 * 1024;
/** Maximum number of characters of a name or text that a message repeats. */
const maxQuotedCharacters = 100;

/** The value of a cell; `null` if the cell has none. */
export type ImportCell = string | number | boolean | null;

/** A column of a received table. */
export interface ImportColumn {
  name: string;
  /** `value`: numbers, texts, booleans and dates. `binary`: bytes, such as geometries. `nested`: all other types. */
  kind: 'value' | 'binary' | 'nested';
  /** Whether all values of the column are numbers. */
  isNumber: boolean;
}

/** Consecutive rows. */
export interface ImportRows {
  count: number;
  /** The values of the requested columns, column by column, see {@link cellOf}. */
  columns: ArrayLike<unknown>[];
}

/** A received table, opened for reading. */
export interface IncomingTable {
  columns: readonly ImportColumn[];
  /** The columns of shapes by name. `crs` is the coordinate system; `undefined` if the file does not name one. */
  shapes: ReadonlyMap<string, { crs: unknown }>;
  /** Name of the main column of shapes. `null` if the metadata of the file names no column of shapes. */
  primary: string | null;
  /** Reads all rows. Can be called once. @param indices the positions of the columns to read. */
  rows(indices: readonly number[]): AsyncIterable<ImportRows>;
  close(): Promise<void>;
}

/** Puts a name or text in quotes for a message, and cuts it if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxQuotedCharacters ? `${text.slice(0, maxQuotedCharacters)}…` : text);
}

/** Checks columns. @throws BadParameterError for too many columns, columns of the same name, and names that are too long. */
export function requireValidColumns(columns: readonly ImportColumn[]): void {
  if (columns.length > maxColumns)
    throw new BadParameterError(`The table has ${columns.length} columns; at most ${maxColumns} are allowed.`);
  const names = new Set<string>();
  for (const { name } of columns) {
    if (name.length > maxNameLength) throw new BadParameterError(`The name of the column ${quoted(name)} is too long.`);
    if (names.has(name)) throw new BadParameterError(`The table has more than one column ${quoted(name)}.`);
    names.add(name);
  }
}

/** Checks a number of rows. @throws LargeImageError `too-large` for too many rows. */
export function requireRowCount(rowCount: number): void {
  if (rowCount <= maxRows) return;
  throw new LargeImageError('too-large', `The table has more than ${maxRows} rows.`);
}

function cellSubject(name: string, row: number): string {
  return `Row ${row} of the column ${quoted(name)} is`;
}

/**
 * Converts the value of a cell to a value of JSON.
 *
 * @throws BadParameterError, which names column and row, for values that JSON does not have.
 */
export function cellOf(value: unknown, name: string, row: number): ImportCell {
  switch (typeof value) {
    case 'string':
      if (value.length <= maxTextLength) return value;
      throw new BadParameterError(
        `${cellSubject(name, row)} a text of ${value.length} characters; at most ${maxTextLength} are allowed.`,
      );
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      // Programs for tables write a missing number as "not a number".
      if (Number.isNaN(value)) return null;
      throw new BadParameterError(`${cellSubject(name, row)} ${value}, which is not a finite number.`);
    case 'bigint':
      if (Number.isSafeInteger(Number(value))) return Number(value);
      throw new BadParameterError(`${cellSubject(name, row)} ${value}, which a double cannot represent exactly.`);
    case 'undefined':
      throw new BadParameterError(`The table is corrupt: row ${row} of the column ${quoted(name)} has no value.`);
    default:
      if (value === null) return null;
      if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
      throw new BadParameterError(
        `${cellSubject(name, row)} ${describeValue(value)}; only numbers, strings and booleans can be read.`,
      );
  }
}

/** Returns the bytes of a cell, or `null` if the cell is empty. @throws BadParameterError for other values. */
export function bytesOf(value: unknown, name: string, row: number): Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value;
  throw new BadParameterError(`${cellSubject(name, row)} ${describeValue(value)} in place of a shape in well-known binary.`);
}

/**
 * Makes the error to report when a table cannot be read. Damaged files cause all kinds of errors in the libraries. Errors that are meant for
 * the client, and errors of the operating system, are returned unchanged.
 */
export function toReadError(kind: TableKind, error: unknown): unknown {
  if (error instanceof LargeImageError || !(error instanceof Error) || isSystemError(error)) return error;
  const detail = error.message.slice(0, 200).replace(/\.$/, '');
  return new BadParameterError(`The table cannot be read: it is corrupt or not ${kindNames[kind]} (${detail}).`, {
    cause: error,
  });
}

function isSystemError(error: Error): boolean {
  return 'syscall' in error;
}
