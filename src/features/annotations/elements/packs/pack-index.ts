import { unionBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { ColumnReader, ColumnWriter } from './columns.js';
import { idAt, idWord } from './ids.js';
import { diagonal, type PackRows } from './pack.js';

/** Facts about a pack in the index of its window. */
export interface PackEntry {
  id: string;
  /** 0 if the pack was removed; its slot stays, because the id index refers to slots. */
  count: number;
  detailsCount: number;
  /** Bytes of the uncompressed texts. */
  textBytes: number;
  /** Box around the elements; its `size` is that of the largest element. */
  box: BoundingBox;
}

/** A window's pack index. */
export interface PackIndex {
  packs: PackEntry[];
  /** Position of the next element that is added at the end; 65,536 if none is left. */
  nextPosition: number;
}

/** Number of positions in a window, which fit 16 bits. */
export const windowPositions = 65_536;

/** The entry of a pack. */
export function packEntry(id: string, rows: PackRows): PackEntry {
  const box: BoundingBox = { lowx: 0, lowy: 0, lowz: 0, highx: 0, highy: 0, highz: 0, size: 0, details: 0 };
  let textBytes = 0;
  for (let i = 0; i < rows.count; i += 1) {
    const first = i === 0;
    box.lowx = first ? (rows.lowx[i] as number) : Math.min(box.lowx, rows.lowx[i] as number);
    box.lowy = first ? (rows.lowy[i] as number) : Math.min(box.lowy, rows.lowy[i] as number);
    box.lowz = first ? (rows.lowz[i] as number) : Math.min(box.lowz, rows.lowz[i] as number);
    box.highx = first ? (rows.highx[i] as number) : Math.max(box.highx, rows.highx[i] as number);
    box.highy = first ? (rows.highy[i] as number) : Math.max(box.highy, rows.highy[i] as number);
    box.highz = first ? (rows.highz[i] as number) : Math.max(box.highz, rows.highz[i] as number);
    const size = diagonal(
      (rows.highx[i] as number) - (rows.lowx[i] as number),
      (rows.highy[i] as number) - (rows.lowy[i] as number),
    );
    box.size = Math.max(box.size, size);
    box.details += rows.details[i] as number;
    textBytes += rows.lengths[i] as number;
  }
  return { id, count: rows.count, detailsCount: box.details, textBytes, box };
}

/** The box around packs, with the `size` of the largest element; `null` if there are no elements. */
export function boxAround(parts: Iterable<{ count: number; box: BoundingBox }>): BoundingBox | null {
  let union: BoundingBox | null = null;
  for (const { count, box } of parts) {
    if (count === 0) continue;
    const size: number = Math.max(union?.size ?? 0, box.size);
    union = { ...unionBox(union, box), size };
  }
  return union;
}

/** Encodes a pack index: about 40 bytes per pack. */
export function encodePackIndex({ packs, nextPosition }: PackIndex): Buffer {
  const writer = new ColumnWriter(packs.length * 64 + 256);
  const column = (valueOf: (pack: PackEntry) => number) => Float64Array.from(packs, valueOf);
  writer.count(packs.length);
  writer.count(nextPosition);
  for (let word = 0; word < 3; word += 1) writer.integers(column(({ id }) => idWord(id, word)));
  writer.integers(column(({ count }) => count));
  writer.integers(column(({ detailsCount }) => detailsCount));
  writer.integers(column(({ textBytes }) => textBytes));
  writer.ranges(
    column(({ box }) => box.lowx),
    column(({ box }) => box.highx),
  );
  writer.ranges(
    column(({ box }) => box.lowy),
    column(({ box }) => box.highy),
  );
  writer.ranges(
    column(({ box }) => box.lowz),
    column(({ box }) => box.highz),
  );
  const sizes = column(({ box }) => box.size);
  writer.ranges(sizes, sizes);
  return writer.writtenBytes();
}

/** Reads the bytes that {@link encodePackIndex} wrote. */
export function decodePackIndex(stored: Buffer): PackIndex {
  const reader = new ColumnReader(stored);
  const length = reader.count();
  const nextPosition = reader.count();
  const ids = { high: reader.integers(length), middle: reader.integers(length), low: reader.integers(length) };
  const counts = reader.integers(length);
  const details = reader.integers(length);
  const textBytes = reader.integers(length);
  const [x, y, z] = [reader.ranges(length), reader.ranges(length), reader.ranges(length)];
  const sizes = reader.ranges(length).low;
  const packs = Array.from({ length }, (_, at): PackEntry => {
    const detailsCount = details[at] as number;
    return {
      id: idAt(ids, at),
      count: counts[at] as number,
      detailsCount,
      textBytes: textBytes[at] as number,
      box: {
        lowx: x.low[at] as number,
        lowy: y.low[at] as number,
        lowz: z.low[at] as number,
        highx: x.high[at] as number,
        highy: y.high[at] as number,
        highz: z.high[at] as number,
        size: sizes[at] as number,
        details: detailsCount,
      },
    };
  });
  return { packs, nextPosition };
}
