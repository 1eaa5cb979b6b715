import { forEachRange } from '../../../../core/concurrency/slices.js';
import { ColumnReader, ColumnWriter } from './columns.js';
import type { PackColumns } from './pack.js';

/** A column of a segment. It contains either numbers, or texts and booleans. A name with values of both kinds has two columns. */
export interface SegmentColumn {
  /** A name in `baseColumnNames` or `copiedColumnGetters`, `appearanceColumnName`, or the JSON pointer of a value in `user`. */
  name: string;
  kind: 'number' | 'text';
  /** Whether all values are booleans. */
  isBoolean?: true;
  /** Number of rows without a value. */
  nulls: number;
  /** Smallest and largest number. */
  low?: number;
  high?: number;
  /** Number of consecutive parts of the segment that store the column. */
  parts: number;
}

/** The first part of a segment, which describes its contents. */
export interface SegmentHeader {
  /** Number of rows. */
  rows: number;
  /** Ids of the packs whose elements are the rows, in the order of the rows. */
  packs: string[];
  /** Number of elements of each pack. */
  counts: number[];
  columns: SegmentColumn[];
  /** Whether elements have measurements without a column, because a segment has too few columns for all of them. */
  isCut?: true;
}

/** The columns that every table has, from the elements' shapes and common fields. The names of other columns begin with `/`. */
export const baseColumnNames = [
  'id',
  'order',
  'type',
  'group',
  'label',
  'area',
  'length',
  'x',
  'y',
  'xmin',
  'ymin',
  'xmax',
  'ymax',
] as const;

/** The columns that store ids, each as three whole numbers. */
export const idColumnNames = ['id0', 'id1', 'id2'] as const;

/**
 * The columns that a segment copies from its packs. With these and the appearances, a request can read one segment instead of many
 * packs. Some of them are also columns of the table.
 */
export const copiedColumnGetters = {
  id0: ({ ids }: PackColumns) => ids.high,
  id1: ({ ids }: PackColumns) => ids.middle,
  id2: ({ ids }: PackColumns) => ids.low,
  order: ({ positions }: PackColumns) => positions,
  xmin: ({ boxes }: PackColumns) => boxes.lowx,
  ymin: ({ boxes }: PackColumns) => boxes.lowy,
  xmax: ({ boxes }: PackColumns) => boxes.highx,
  ymax: ({ boxes }: PackColumns) => boxes.highy,
  bytes: ({ textLengths }: PackColumns) => textLengths,
  details: ({ details }: PackColumns) => details,
  zmin: ({ boxes }: PackColumns) => boxes.lowz,
  zmax: ({ boxes }: PackColumns) => boxes.highz,
};
/** The column of the appearances. It is absent if there are too many different appearances. */
export const appearanceColumnName = 'appearance';

/** Number of texts to encode between checks of the time. */
const textsAtOnce = 1024;

/** A value that is not a number. */
export type TextOrBoolean = string | boolean;

/** Encodes a column of numbers, with `NaN` in rows without a number. */
export function encodeNumbers(values: Float64Array): Buffer {
  const writer = new ColumnWriter(values.length * 4 + 64);
  writer.writeNumbers(values);
  return writer.writtenBytes();
}

/** Encodes the texts of a column. @param codes the index in `texts` plus 1 for each row, or 0 for a row without a value. */
export async function encodeTexts(codes: Float64Array, texts: readonly TextOrBoolean[]): Promise<Buffer> {
  const writer = new ColumnWriter(codes.length * 2 + 256);
  writer.writeIntegers(codes);
  let json = '';
  await forEachRange(texts.length, textsAtOnce, (from, to) => {
    json += `${from === 0 ? '' : ','}${JSON.stringify(texts.slice(from, to)).slice(1, -1)}`;
  });
  writer.writeText(`[${json}]`);
  return writer.writtenBytes();
}

/** Reads what {@link encodeNumbers} wrote. */
export function decodeNumbers(stored: Buffer, rows: number): Float64Array {
  return new ColumnReader(stored).readNumbers(rows);
}

/** Reads what {@link encodeTexts} wrote. */
export function decodeTexts(stored: Buffer, rows: number): { codes: Float64Array; texts: TextOrBoolean[] } {
  const reader = new ColumnReader(stored);
  return { codes: reader.readIntegers(rows), texts: JSON.parse(reader.readText()) as TextOrBoolean[] };
}
