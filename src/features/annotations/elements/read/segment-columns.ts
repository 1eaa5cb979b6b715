import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { PackColumns, type PackRows } from '../packs/pack.js';
import {
  appearanceColumn,
  decodeNumbers,
  decodeTexts,
  packNumbers,
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
  const first = new Map<SegmentColumn, number>();
  let next = 1;
  for (const column of header.columns) {
    first.set(column, next);
    next += column.parts;
  }
  const wanted = columns.flatMap((column) => parts.slice(first.get(column), first.get(column)! + column.parts));
  const found = await loadParts(wanted);
  let at = 0;
  return columns.map((column) => {
    const bytes = found.slice(at, at + column.parts);
    at += column.parts;
    return bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes);
  });
}

const numberNames = Object.keys(packNumbers) as (keyof typeof packNumbers)[];

/** The columns of the packs of a segment, by their ids; `null` if the segment does not have them. */
export async function columnsOfPacks(
  segment: StoredSegment,
  loadParts: LoadParts,
  signal?: AbortSignal,
): Promise<Map<string, PackColumns> | null> {
  const { rows, packs, counts, columns } = segment.header;
  const named = new Map(columns.map((column) => [`${column.kind} ${column.name}`, column]));
  const wanted = [...numberNames.map((name) => `number ${name}`), `text ${appearanceColumn}`].map((name) => named.get(name));
  if (wanted.includes(undefined)) return null;
  const stored = await loadColumns(segment, wanted as SegmentColumn[], loadParts);
  const values = {} as Record<(typeof numberNames)[number], Float64Array>;
  for (const [i, name] of numberNames.entries()) {
    values[name] = decodeNumbers(stored[i]!, rows);
    if (isSliceOver()) await nextSlice(signal);
  }
  const { codes, texts } = decodeTexts(stored.at(-1)!, rows);
  // The number of each appearance of the segment in the current pack, from 1; 0 if the pack has not used it yet.
  const known = new Uint32Array(texts.length + 1);
  const found = new Map<string, PackColumns>();
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const count = counts[i] as number;
    const part = (column: Float64Array) => column.subarray(from, from + count);
    const appearances: string[] = [];
    const appearanceIndices = new Float64Array(count);
    for (let at = 0; at < count; at += 1) {
      const code = codes[from + at] as number;
      if (known[code] === 0) known[code] = appearances.push(texts[code - 1] as string);
      appearanceIndices[at] = (known[code] as number) - 1;
    }
    for (let at = 0; at < count; at += 1) known[codes[from + at] as number] = 0;
    const pack: PackRows = {
      count,
      positions: part(values.order),
      lengths: part(values.bytes),
      details: part(values.details),
      lowx: part(values.xmin),
      highx: part(values.xmax),
      lowy: part(values.ymin),
      highy: part(values.ymax),
      lowz: part(values.zmin),
      highz: part(values.zmax),
      ids: { high: part(values.id0), middle: part(values.id1), low: part(values.id2) },
      appearanceIndices,
      appearances,
    };
    found.set(id, new PackColumns(pack));
    from += count;
  }
  if (isSliceOver()) await nextSlice(signal);
  return found;
}
