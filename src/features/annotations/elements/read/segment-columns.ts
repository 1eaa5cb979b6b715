import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { PackColumns, type PackRows } from '../packs/pack.js';
import {
  appearanceColumn,
  decodeNumbers,
  decodeTexts,
  copiedColumns,
  type SegmentColumn,
  type SegmentHeader,
} from '../packs/segment.js';

/** A segment of a table as it is stored. */
export interface StoredSegment {
  header: SegmentHeader;
  /** Ids of its parts. */
  parts: readonly string[];
}

/** Loads parts by their ids, in this order. */
export type LoadParts = (ids: readonly string[]) => Promise<Buffer[]>;

/** The bytes of columns of a segment, in the requested order. */
export async function loadColumns(
  { header, parts }: StoredSegment,
  columns: readonly SegmentColumn[],
  loadParts: LoadParts,
): Promise<Buffer[]> {
  const firstParts = new Map<SegmentColumn, number>();
  let next = 1;
  for (const column of header.columns) {
    firstParts.set(column, next);
    next += column.parts;
  }
  const columnParts = columns.flatMap((column) => parts.slice(firstParts.get(column), firstParts.get(column)! + column.parts));
  const found = await loadParts(columnParts);
  let at = 0;
  return columns.map((column) => {
    const bytes = found.slice(at, at + column.parts);
    at += column.parts;
    return bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes);
  });
}

const copiedColumnNames = Object.keys(copiedColumns) as (keyof typeof copiedColumns)[];

/** Ranges of the rows of a segment that belong to some packs: first row, and the one after the last. */
export function rowRangesOf({ packs, counts }: SegmentHeader, packIds: { has(id: string): boolean }): [number, number][] {
  const ranges: [number, number][] = [];
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const to = from + (counts[i] as number);
    const last = ranges.at(-1);
    if (packIds.has(id)) {
      if (last !== undefined && last[1] === from) last[1] = to;
      else ranges.push([from, to]);
    }
    from = to;
  }
  return ranges;
}

/** The columns of some packs of a segment, joined as if they were one pack; `null` if the segment does not have them. */
export async function loadJoinedColumns(
  segment: StoredSegment,
  packIds: { has(id: string): boolean },
  loadParts: LoadParts,
  signal?: AbortSignal,
): Promise<PackColumns | null> {
  const all = await loadRows(segment, loadParts, signal);
  if (all === null) return null;
  const ranges = rowRangesOf(segment.header, packIds);
  const count = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const selectRows = (column: Float64Array) => {
    if (count === all.count) return column;
    const values = new Float64Array(count);
    let at = 0;
    for (const [from, to] of ranges) {
      values.set(column.subarray(from, to), at);
      at += to - from;
    }
    return values;
  };
  return new PackColumns({ ...mapColumns(all, selectRows), count, appearances: all.appearances });
}

function mapColumns(rows: PackRows, transform: (column: Float64Array) => Float64Array): Omit<PackRows, 'count' | 'appearances'> {
  const { high, middle, low } = rows.ids;
  return {
    positions: transform(rows.positions),
    lengths: transform(rows.lengths),
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

/** The columns of all rows of a segment; `null` if the segment does not have them. */
async function loadRows(segment: StoredSegment, loadParts: LoadParts, signal?: AbortSignal): Promise<PackRows | null> {
  const { rows, columns } = segment.header;
  const columnsByKey = new Map(columns.map((column) => [`${column.kind} ${column.name}`, column]));
  const requiredColumns = [...copiedColumnNames.map((name) => `number ${name}`), `text ${appearanceColumn}`].map((name) =>
    columnsByKey.get(name),
  );
  if (requiredColumns.includes(undefined)) return null;
  const stored = await loadColumns(segment, requiredColumns as SegmentColumn[], loadParts);
  const values = {} as Record<(typeof copiedColumnNames)[number], Float64Array>;
  for (const [i, name] of copiedColumnNames.entries()) {
    values[name] = decodeNumbers(stored[i]!, rows);
    if (isSliceOver()) await nextSlice(signal);
  }
  const { codes, texts } = decodeTexts(stored.at(-1)!, rows);
  for (let at = 0; at < rows; at += 1) codes[at]! -= 1;
  return {
    count: rows,
    positions: values.order,
    lengths: values.bytes,
    details: values.details,
    lowx: values.xmin,
    highx: values.xmax,
    lowy: values.ymin,
    highy: values.ymax,
    lowz: values.zmin,
    highz: values.zmax,
    ids: { high: values.id0, middle: values.id1, low: values.id2 },
    appearanceIndices: codes,
    // Every element has an appearance, which is a text.
    appearances: texts as string[],
  };
}

/** The columns of the packs of a segment, by their ids; `null` if the segment does not have them. */
export async function loadPackColumns(
  segment: StoredSegment,
  loadParts: LoadParts,
  signal?: AbortSignal,
): Promise<Map<string, PackColumns> | null> {
  const all = await loadRows(segment, loadParts, signal);
  if (all === null) return null;
  const { packs, counts } = segment.header;
  // The number of each appearance of the segment in the current pack, from 1; 0 if the pack has not used it yet.
  const numbersInPack = new Uint32Array(all.appearances.length);
  const columnsById = new Map<string, PackColumns>();
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const count = counts[i] as number;
    const to = from + count;
    const columns = mapColumns(all, (column) => column.subarray(from, to));
    const codes = columns.appearanceIndices;
    const appearances: string[] = [];
    const appearanceIndices = new Float64Array(count);
    for (let at = 0; at < count; at += 1) {
      const code = codes[at] as number;
      if (numbersInPack[code] === 0) numbersInPack[code] = appearances.push(all.appearances[code] as string);
      appearanceIndices[at] = (numbersInPack[code] as number) - 1;
    }
    for (let at = 0; at < count; at += 1) numbersInPack[codes[at] as number] = 0;
    columnsById.set(id, new PackColumns({ ...columns, count, appearanceIndices, appearances }));
    from = to;
  }
  if (isSliceOver()) await nextSlice(signal);
  return columnsById;
}
