import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { BadParameterError } from '../../../errors.js';
import { quoted, requireValidColumns, requireRowCount, type ImportRows, type IncomingTable } from './incoming-table.js';

/** Maximum length of a row in bytes. */
const maxRowBytes = 16 * 1024 * 1024;
/** Number of rows that are passed on together. */
const rowsAtOnce = 4096;

type Row = (string | null)[];

const numberPattern = /^-?(?:0|[1-9]\d*|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const booleanTexts = new Map([
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
]);
/** Texts that programs write for missing and for infinite numbers. */
const nonFiniteTexts = new Map([
  ['NaN', NaN],
  ['nan', NaN],
  ['NA', NaN],
  ['inf', Infinity],
  ['Infinity', Infinity],
  ['-inf', -Infinity],
  ['-Infinity', -Infinity],
]);

/** Parses a number. Returns `undefined` if the text is not a number, or is an integer that a double cannot represent exactly. */
function parseNumber(text: string): number | undefined {
  if (!numberPattern.test(text)) return nonFiniteTexts.get(text);
  const value = Number(text);
  return /^-?\d{16,}$/.test(text) && !Number.isSafeInteger(value) ? undefined : value;
}

/** Determines the most specific type that fits all values of a column. */
class ColumnType {
  #mayBeNumber: boolean;
  #mayBeBoolean = true;
  #hasNumbers = false;
  #hasBooleans = false;

  /** @param mayBeNumber false for ids, some of which look like numbers with an exponent. */
  constructor(mayBeNumber: boolean) {
    this.#mayBeNumber = mayBeNumber;
  }

  addText(text: string | null): void {
    if (text === null || text === '') {
      if (text !== null) this.#mayBeNumber = this.#mayBeBoolean = false;
      return;
    }
    if (this.#mayBeBoolean && booleanTexts.has(text)) this.#hasBooleans = true;
    else this.#mayBeBoolean = false;
    if (!this.#mayBeNumber) return;
    if (parseNumber(text) === undefined) this.#mayBeNumber = false;
    else if (!nonFiniteTexts.has(text)) this.#hasNumbers = true;
  }

  get isNumber(): boolean {
    return this.#mayBeNumber && this.#hasNumbers;
  }

  get converter(): (text: string) => unknown {
    if (this.isNumber) return parseNumber;
    return this.#mayBeBoolean && this.#hasBooleans ? (text) => booleanTexts.get(text) : (text) => text;
  }
}

/** Reads the text of a file. @throws BadParameterError if the text is not UTF-8. */
async function* textOf(path: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
      yield decoder.decode(chunk as Uint8Array, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    throw error instanceof TypeError ? new BadParameterError('The table is not UTF-8 text.', { cause: error }) : error;
  }
}

/**
 * Reads the rows of a file. The first row contains the names of the columns. An empty cell is `null`, but an empty cell in quotes is an
 * empty text.
 */
async function* rowsOf(path: string): AsyncGenerator<Row, void, undefined> {
  const parser = parse({
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    max_record_size: maxRowBytes,
    cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
  });
  const text = Readable.from(textOf(path));
  text.on('error', (error) => parser.destroy(error));
  text.pipe(parser);
  try {
    yield* parser as AsyncIterable<Row>;
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('CSV_')) throw error;
    throw new BadParameterError(`The table cannot be read as CSV: ${message.slice(0, 300)}.`, { cause: error });
  } finally {
    text.destroy();
    parser.destroy();
  }
}

/** Opens comma-separated values. The file is read once here, to determine the type of each column, and again by `rows`. */
export async function openCsv(path: string): Promise<IncomingTable> {
  let names: string[] | null = null;
  let types: ColumnType[] = [];
  let count = 0;
  for await (const row of rowsOf(path)) {
    if (names === null) {
      names = row.map((name) => name ?? '');
      types = names.map((name) => new ColumnType(name !== 'id'));
      requireValidColumns(names.map((name) => ({ name, kind: 'value', isNumber: false })));
      continue;
    }
    count += 1;
    requireRowCount(count);
    for (const [position, text] of row.entries()) types[position]!.addText(text);
  }
  if (names === null) throw new BadParameterError('The table is empty: its first line must name the columns.');
  const unnamedPosition = names.indexOf('');
  if (unnamedPosition >= 0)
    throw new BadParameterError(
      `Column ${unnamedPosition} has no name. The names are ${names.slice(0, 5).map(quoted).join(', ')}.`,
    );
  return {
    columns: names.map((name, position) => ({ name, kind: 'value', isNumber: types[position]!.isNumber })),
    shapes: new Map(),
    primary: null,
    rows: (indices) => typedRows(path, indices, types),
    close: async () => {},
  };
}

async function* typedRows(path: string, indices: readonly number[], types: readonly ColumnType[]): AsyncGenerator<ImportRows> {
  const converters = indices.map((position) => types[position]!.converter);
  let columns: unknown[][] = indices.map(() => []);
  let count = 0;
  let isFirst = true;
  for await (const row of rowsOf(path)) {
    if (isFirst) {
      isFirst = false;
      continue;
    }
    for (const [i, position] of indices.entries()) {
      const text = row[position] ?? null;
      columns[i]!.push(text === null ? null : converters[i]!(text));
    }
    count += 1;
    if (count < rowsAtOnce) continue;
    yield { count, columns };
    columns = indices.map(() => []);
    count = 0;
  }
  if (count > 0) yield { count, columns };
}
