import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { PackColumns, type PackRows } from '../packs/pack.js';
import {
  appearanceColumnName,
  decodeNumbers,
  decodeTexts,
  copiedColumnGetters,
  type SegmentColumn,
  type SegmentHeader,
} from '../packs/segment.js';

/** A segment of a table as it is stored. */
export interface StoredSegment {
  header: SegmentHeader;
  /** Ids of the segment's parts. The first part contains the header, the others contain the columns. */
  partIds: readonly string[];
}

/** Loads parts by their ids, in this order. */
export type LoadParts = (ids: readonly string[]) => Promise<Buffer[]>;

/** Loads the bytes of columns of a segment, in the requested order. */
export async function loadColumnBytes(
  { header, partIds }: StoredSegment,
  columns: readonly SegmentColumn[],
  loadParts: LoadParts,
): Promise<Buffer[]> {
  const firstIndices = new Map<SegmentColumn, number>();
  let nextIndex = 1;
  for (const column of header.columns) {
    firstIndices.set(column, nextIndex);
    nextIndex += column.parts;
  }
  const columnPartIds = columns.flatMap((column) =>
    partIds.slice(firstIndices.get(column), firstIndices.get(column)! + column.parts),
  );
  const loadedParts = await loadParts(columnPartIds);
  let start = 0;
  return columns.map((column) => {
    const bytes = loadedParts.slice(start, start + column.parts);
    start += column.parts;
    return bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes);
  });
}

const copiedColumnNames = Object.keys(copiedColumnGetters) as (keyof typeof copiedColumnGetters)[];

/** Finds the ranges of a segment's rows that belong to the given packs. A range is its first row and the row after its last one. */
export function rowRangesOf({ packs, counts }: SegmentHeader, packIds: { has(id: string): boolean }): [number, number][] {
  const ranges: [number, number][] = [];
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const to = from + (counts[i] as number);
    const lastRange = ranges.at(-1);
    if (packIds.has(id)) {
      if (lastRange !== undefined && lastRange[1] === from) lastRange[1] = to;
      else ranges.push([from, to]);
    }
    from = to;
  }
  return ranges;
}

/** Loads the columns of some packs of a segment, joined as if they were one pack. Returns `null` if the segment lacks a column of packs. */
export async function loadJoinedColumns(
  segment: StoredSegment,
  packIds: { has(id: string): boolean },
  loadParts: LoadParts,
  signal?: AbortSignal,
): Promise<PackColumns | null> {
  const allRows = await loadRows(segment, loadParts, signal);
  if (allRows === null) return null;
  const ranges = rowRangesOf(segment.header, packIds);
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const selectRows = (column: Float64Array) => {
    if (count === allRows.count) return column;
    const values = new Float64Array(count);
    let start = 0;
    for (const [from, to] of ranges) {
      values.set(column.subarray(from, to), start);
      start += to - from;
    }
    return values;
  };
  return new PackColumns({ ...mapColumns(allRows, selectRows), count, appearanceTexts: allRows.appearanceTexts });
}

function mapColumns(
  rows: PackRows,
  transform: (column: Float64Array) => Float64Array,
): Omit<PackRows, 'count' | 'appearanceTexts'> {
  const { high, middle, low } = rows.ids;
  return {
    positions: transform(rows.positions),
    textLengths: transform(rows.textLengths),
    details: transform(rows.details),
    lowx: transform(rows.lowx),
    highx: transform(rows.highx),
    lowy: transform(rows.lowy),
    highy: transform(rows.highy),
    lowz: transform(rows.lowz),
    highz: transform(rows.highz),
    ids: { high: transform(high), middle: transform(middle), low: transform(low) },
    appearanceIndices: transform(rows.appearanceIndices),
  };
}

/** Loads the columns of all rows of a segment. Returns `null` if the segment lacks a column of packs. */
async function loadRows(segment: StoredSegment, loadParts: LoadParts, signal?: AbortSignal): Promise<PackRows | null> {
  const { rows, columns } = segment.header;
  const columnsByKey = new Map(columns.map((column) => [`${column.kind} ${column.name}`, column]));
  const requiredColumns = [...copiedColumnNames.map((name) => `number ${name}`), `text ${appearanceColumnName}`].map((name) =>
    columnsByKey.get(name),
  );
  if (requiredColumns.includes(undefined)) return null;
  const columnBytes = await loadColumnBytes(segment, requiredColumns as SegmentColumn[], loadParts);
  const values = {} as Record<(typeof copiedColumnNames)[number], Float64Array>;
  for (const [i, name] of copiedColumnNames.entries()) {
    values[name] = decodeNumbers(columnBytes[i]!, rows);
    if (isSliceOver()) await nextSlice(signal);
  }
  const { codes, texts } = decodeTexts(columnBytes.at(-1)!, rows);
  for (let row = 0; row < rows; row += 1) codes[row]! -= 1;
  return {
    count: rows,
    positions: values.order,
    textLengths: values.bytes,
    details: values.details,
    lowx: values.xmin,
    highx: values.xmax,
    lowy: values.ymin,
    highy: values.ymax,
    lowz: values.zmin,
    highz: values.zmax,
    ids: { high: values.id0, middle: values.id1, low: values.id2 },
    appearanceIndices: codes,
    // The cast is safe: every element has an appearance.
    appearanceTexts: texts as string[],
  };
}

/** Loads the columns of the packs of a segment. @returns the columns by the id of the pack, or `null` if the segment lacks a column of packs. */
export async function loadPackColumns(
  segment: StoredSegment,
  loadParts: LoadParts,
  signal?: AbortSignal,
): Promise<Map<string, PackColumns> | null> {
  const allRows = await loadRows(segment, loadParts, signal);
  if (allRows === null) return null;
  const { packs, counts } = segment.header;
  // The number that each appearance of the segment has in the current pack, from 1. 0 if the appearance has not occurred in the pack yet.
  const numbersInPack = new Uint32Array(allRows.appearanceTexts.length);
  const columnsById = new Map<string, PackColumns>();
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const count = counts[i] as number;
    const to = from + count;
    const columns = mapColumns(allRows, (column) => column.subarray(from, to));
    const codes = columns.appearanceIndices;
    const appearanceTexts: string[] = [];
    const appearanceIndices = new Float64Array(count);
    for (let row = 0; row < count; row += 1) {
      const code = codes[row] as number;
      if (numbersInPack[code] === 0) numbersInPack[code] = appearanceTexts.push(allRows.appearanceTexts[code] as string);
      appearanceIndices[row] = (numbersInPack[code] as number) - 1;
    }
    for (let row = 0; row < count; row += 1) numbersInPack[codes[row] as number] = 0;
    columnsById.set(id, new PackColumns({ ...columns, count, appearanceIndices, appearanceTexts }));
    from = to;
  }
  if (isSliceOver()) await nextSlice(signal);
  return columnsById;
}
