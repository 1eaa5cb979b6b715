import { unionBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { ColumnReader, ColumnWriter } from './columns.js';
import { idAt, idWord } from './ids.js';
import { diagonalLength, type PackRows } from './pack.js';

/** Facts about a pack in the index of its window. */
export interface PackEntry {
  id: string;
  /** 0 if all elements were removed. The entry then stays, because the id index refers to packs by their slot in the pack index. */
  count: number;
  detailsCount: number;
  /** Length of the uncompressed texts in bytes. */
  textBytes: number;
  /** Box around the elements. Its `size` is the size of the largest element, not of the box. */
  box: BoundingBox;
}

/** A window's pack index. */
export interface PackIndex {
  packs: PackEntry[];
  /** Position of the next element that is added at the end. 65,536 if the window has no position left. */
  nextPosition: number;
}

/** Number of positions in a window. Each position fits into 16 bits. */
export const windowPositions = 65_536;

/** Makes the entry of a pack from its rows. */
export function makePackEntry(id: string, rows: PackRows): PackEntry {
  const box: BoundingBox = { lowx: 0, lowy: 0, lowz: 0, highx: 0, highy: 0, highz: 0, size: 0, details: 0 };
  let textBytes = 0;
  for (let i = 0; i < rows.count; i += 1) {
    const isFirst = i === 0;
    box.lowx = isFirst ? (rows.lowx[i] as number) : Math.min(box.lowx, rows.lowx[i] as number);
    box.lowy = isFirst ? (rows.lowy[i] as number) : Math.min(box.lowy, rows.lowy[i] as number);
    box.lowz = isFirst ? (rows.lowz[i] as number) : Math.min(box.lowz, rows.lowz[i] as number);
    box.highx = isFirst ? (rows.highx[i] as number) : Math.max(box.highx, rows.highx[i] as number);
    box.highy = isFirst ? (rows.highy[i] as number) : Math.max(box.highy, rows.highy[i] as number);
    box.highz = isFirst ? (rows.highz[i] as number) : Math.max(box.highz, rows.highz[i] as number);
    const size = diagonalLength(
      (rows.highx[i] as number) - (rows.lowx[i] as number),
      (rows.highy[i] as number) - (rows.lowy[i] as number),
    );
    box.size = Math.max(box.size, size);
    box.details += rows.details[i] as number;
    textBytes += rows.textLengths[i] as number;
  }
  return { id, count: rows.count, detailsCount: box.details, textBytes, box };
}

/** Computes the box around packs, with the `size` of the largest element. Returns `null` if the packs have no elements. */
export function boxAround(entries: Iterable<{ count: number; box: BoundingBox }>): BoundingBox | null {
  let union: BoundingBox | null = null;
  for (const { count, box } of entries) {
    if (count === 0) continue;
    const size: number = Math.max(union?.size ?? 0, box.size);
    union = { ...unionBox(union, box), size };
  }
  return union;
}

/** Encodes a pack index: about 40 bytes per pack. */
export function encodePackIndex({ packs, nextPosition }: PackIndex): Buffer {
  const writer = new ColumnWriter(packs.length * 64 + 256);
  const columnOf = (valueOf: (pack: PackEntry) => number) => Float64Array.from(packs, valueOf);
  writer.writeUint32(packs.length);
  writer.writeUint32(nextPosition);
  for (let word = 0; word < 3; word += 1) writer.writeIntegers(columnOf(({ id }) => idWord(id, word)));
  writer.writeIntegers(columnOf(({ count }) => count));
  writer.writeIntegers(columnOf(({ detailsCount }) => detailsCount));
  writer.writeIntegers(columnOf(({ textBytes }) => textBytes));
  writer.writeRanges(
    columnOf(({ box }) => box.lowx),
    columnOf(({ box }) => box.highx),
  );
  writer.writeRanges(
    columnOf(({ box }) => box.lowy),
    columnOf(({ box }) => box.highy),
  );
  writer.writeRanges(
    columnOf(({ box }) => box.lowz),
    columnOf(({ box }) => box.highz),
  );
  const sizes = columnOf(({ box }) => box.size);
  writer.writeRanges(sizes, sizes);
  return writer.writtenBytes();
}

/** Reads the bytes that {@link encodePackIndex} wrote. */
export function decodePackIndex(stored: Buffer): PackIndex {
  const reader = new ColumnReader(stored);
  const length = reader.readUint32();
  const nextPosition = reader.readUint32();
  const ids = { high: reader.readIntegers(length), middle: reader.readIntegers(length), low: reader.readIntegers(length) };
  const counts = reader.readIntegers(length);
  const detailsCounts = reader.readIntegers(length);
  const textBytes = reader.readIntegers(length);
  const [x, y, z] = [reader.readRanges(length), reader.readRanges(length), reader.readRanges(length)];
  const sizes = reader.readRanges(length).low;
  const packs = Array.from({ length }, (_, slot): PackEntry => {
    const detailsCount = detailsCounts[slot] as number;
    return {
      id: idAt(ids, slot),
      count: counts[slot] as number,
      detailsCount,
      textBytes: textBytes[slot] as number,
      box: {
        lowx: x.low[slot] as number,
        lowy: y.low[slot] as number,
        lowz: z.low[slot] as number,
        highx: x.high[slot] as number,
        highy: y.high[slot] as number,
        highz: z.high[slot] as number,
        size: sizes[slot] as number,
        details: detailsCount,
      },
    };
  });
  return { packs, nextPosition };
}
