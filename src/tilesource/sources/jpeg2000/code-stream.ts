import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';
import {
  countDecompositions,
  readExactly,
  markers,
  readGridSize,
  readMainHeader,
  type GridSize,
  type MarkerSegment,
  type ByteRange,
} from './markers.js';

/** Maximum number of tile-parts of a code stream. */
const maxTileParts = 2 ** 20;
/** Maximum number of tiles of a code stream, because the number of a tile has 16 bits. */
const maxTiles = 65_535;
/** Length in bytes of the segment SOT, with which each tile-part begins, including its marker. */
const sotBytes = 12;
/** Maximum number of compressed bytes of the tiles that {@link CodeStream.assembleTiles} puts together. */
const maxAssembledBytes = 2 ** 28;

/** A rectangle of tiles, in columns and rows of the file's tiles. `right` and `bottom` are exclusive. */
export interface TileRange {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A code stream: its main header, and the positions of its tile-parts. */
export class CodeStream {
  readonly columns: number;
  readonly rows: number;
  readonly #reader: ByteReader;
  readonly #segments: readonly MarkerSegment[];
  /** The tile-parts by the number of their tile. */
  readonly #partsByTile: ReadonlyMap<number, readonly ByteRange[]>;
  readonly partCount: number;

  private constructor(
    reader: ByteReader,
    /** Sizes on the reference grid. */
    readonly size: GridSize,
    /** How many times the resolution can be halved when decoding (decomposition levels). */
    readonly decompositions: number,
    segments: readonly MarkerSegment[],
    partsByTile: ReadonlyMap<number, readonly ByteRange[]>,
  ) {
    this.#reader = reader;
    this.#segments = segments;
    this.#partsByTile = partsByTile;
    this.columns = Math.ceil((size.right - size.tileLeft) / size.tileWidth);
    this.rows = Math.ceil((size.bottom - size.tileTop) / size.tileHeight);
    this.partCount = [...partsByTile.values()].reduce((sum, parts) => sum + parts.length, 0);
  }

  /** Reads the main header and finds the tile-parts. @throws TileSourceError if the code stream is damaged. */
  static async open(reader: ByteReader, stream: ByteRange, signal?: AbortSignal): Promise<CodeStream> {
    const { segments, end } = await readMainHeader(reader, stream, signal);
    const size = readGridSize(segments[0]!);
    const columns = Math.ceil((size.right - size.tileLeft) / size.tileWidth);
    const rows = Math.ceil((size.bottom - size.tileTop) / size.tileHeight);
    if (columns * rows > maxTiles) {
      throw new TileSourceError(
        `Corrupt JPEG 2000 file: it claims ${columns} by ${rows} tiles; at most ${maxTiles} are possible.`,
      );
    }
    const decompositions = countDecompositions(segments, size.components.length);
    const partsRange = { offset: end, length: stream.offset + stream.length - end };
    const parts = (await readListedParts(reader, segments, partsRange, signal)) ?? (await findParts(reader, partsRange, signal));
    const partsByTile = new Map<number, ByteRange[]>();
    for (const { tile, ...byteRange } of parts) {
      if (tile >= columns * rows)
        throw new TileSourceError(`Corrupt JPEG 2000 file: it has a part of tile ${tile} of ${columns * rows}.`);
      const partsOfTile = partsByTile.get(tile);
      if (partsOfTile === undefined) partsByTile.set(tile, [byteRange]);
      else partsOfTile.push(byteRange);
      if (isSliceOver()) await nextSlice(signal);
    }
    // Assembled code streams get the main header without segments that describe the whole file or are not needed for decoding.
    const omittedMarkers: readonly number[] = [markers.tlm, markers.plm, markers.crg, markers.com];
    const keptSegments = segments.filter(({ marker }) => !omittedMarkers.includes(marker));
    return new CodeStream(reader, size, decompositions, keptSegments, partsByTile);
  }

  /** Whether the wavelet transform is reversible, and therefore lossless. */
  get isReversible(): boolean {
    return this.#segments.find(({ marker }) => marker === markers.cod)?.bytes[13] === 1;
  }

  /** The part of the reference grid that the tiles cover. */
  extentOf({ left, top, right, bottom }: TileRange): { left: number; top: number; right: number; bottom: number } {
    const { size } = this;
    return {
      left: Math.max(size.left, size.tileLeft + left * size.tileWidth),
      top: Math.max(size.top, size.tileTop + top * size.tileHeight),
      right: Math.min(size.right, size.tileLeft + right * size.tileWidth),
      bottom: Math.min(size.bottom, size.tileTop + bottom * size.tileHeight),
    };
  }

  /**
   * Assembles a code stream that contains only the tiles of `range`. The tiles keep their position on the reference grid, so that
   * they are decoded to the same samples as in the file.
   *
   * @returns `null` if the file has none of these tiles.
   * @throws TileSourceError if the tiles have too many bytes, or the file has no tile-part where one is expected.
   */
  async assembleTiles(range: TileRange, signal?: AbortSignal): Promise<Uint8Array | null> {
    const tileParts: { byteRange: ByteRange; tile: number; newTile: number }[] = [];
    const newColumns = range.right - range.left;
    for (let row = range.top; row < range.bottom; row++) {
      for (let column = range.left; column < range.right; column++) {
        const tile = row * this.columns + column;
        const newTile = (row - range.top) * newColumns + column - range.left;
        for (const byteRange of this.#partsByTile.get(tile) ?? []) tileParts.push({ byteRange, tile, newTile });
      }
    }
    if (tileParts.length === 0) return null;
    const totalBytes = tileParts.reduce((sum, { byteRange }) => sum + byteRange.length, 0);
    if (totalBytes > maxAssembledBytes) {
      throw new TileSourceError(
        `Tiles of the JPEG 2000 file have ${totalBytes} compressed bytes; at most ${maxAssembledBytes} are supported.`,
      );
    }
    const parts: Buffer[] = [this.#buildHeader(range)];
    for (const { byteRange, tile, newTile } of tileParts) {
      const bytes = await readExactly(this.#reader, byteRange, 'a tile-part', signal);
      if (bytes.readUInt16BE(0) !== markers.sot || bytes.readUInt16BE(4) !== tile) {
        throw new TileSourceError(`Corrupt JPEG 2000 file: there is no part of tile ${tile} at byte ${byteRange.offset}.`);
      }
      bytes.writeUInt16BE(newTile, 4);
      bytes.writeUInt32BE(bytes.length, 6);
      parts.push(bytes);
    }
    parts.push(Buffer.from([0xff, 0xd9]));
    return new Uint8Array(Buffer.concat(parts));
  }

  /** Builds a main header in which SIZ has the sizes of the tiles in `range`. */
  #buildHeader(range: TileRange): Buffer {
    const { size } = this;
    const { left, top, right, bottom } = this.extentOf(range);
    const tileLeft = size.tileLeft + range.left * size.tileWidth;
    const tileTop = size.tileTop + range.top * size.tileHeight;
    const [siz, ...otherSegments] = this.#segments;
    const changedSiz = Buffer.from(siz!.bytes);
    const sizes = [right, bottom, left, top, size.tileWidth, size.tileHeight, tileLeft, tileTop];
    sizes.forEach((value, i) => changedSiz.writeUInt32BE(value, 6 + 4 * i));
    return Buffer.concat([Buffer.from([0xff, 0x4f]), changedSiz, ...otherSegments.map(({ bytes }) => bytes)]);
  }
}

interface TilePart extends ByteRange {
  /** Number of the tile to which the part belongs. */
  tile: number;
}

/** Reads the tile-parts from the optional lists TLM; `null` if the file has no such list, or a list contradicts the file. */
async function readListedParts(
  reader: ByteReader,
  segments: readonly MarkerSegment[],
  { offset, length }: ByteRange,
  signal: AbortSignal | undefined,
): Promise<TilePart[] | null> {
  const lists = segments.filter(({ marker, bytes }) => marker === markers.tlm && bytes.length >= 6);
  if (lists.length === 0) return null;
  const parts: TilePart[] = [];
  let at = offset;
  for (const { bytes } of lists.toSorted((a, b) => a.bytes.readUInt8(4) - b.bytes.readUInt8(4))) {
    const entryFormat = bytes.readUInt8(5);
    const tileNumberBytes = (entryFormat >> 4) & 3;
    const lengthBytes = entryFormat & 0x40 ? 4 : 2;
    if (tileNumberBytes === 3) return null;
    for (let entry = 6; entry + tileNumberBytes + lengthBytes <= bytes.length; entry += tileNumberBytes + lengthBytes) {
      const tile = tileNumberBytes === 0 ? parts.length : bytes.readUIntBE(entry, tileNumberBytes);
      const partLength = bytes.readUIntBE(entry + tileNumberBytes, lengthBytes);
      if (partLength < sotBytes + 2 || at + partLength > offset + length) return null;
      if (parts.length >= maxTileParts) throw tooManyPartsError();
      parts.push({ tile, offset: at, length: partLength });
      at += partLength;
    }
    if (isSliceOver()) await nextSlice(signal);
  }
  const last = parts.at(-1);
  if (last === undefined) return null;
  const head = await readExactly(reader, { offset: last.offset, length: sotBytes }, 'a tile-part', signal);
  const isConsistent = head.readUInt16BE(0) === markers.sot && head.readUInt16BE(4) === last.tile;
  return isConsistent && offset + length - at <= 2 ** 16 ? parts : null;
}

/** Finds the tile-parts by reading the header of each. Tile-parts beyond the end of a truncated file are left out. */
async function findParts(reader: ByteReader, { offset, length }: ByteRange, signal?: AbortSignal): Promise<TilePart[]> {
  const end = offset + length;
  const parts: TilePart[] = [];
  for (let at = offset; at + sotBytes + 2 <= end;) {
    signal?.throwIfAborted();
    const head = await readExactly(reader, { offset: at, length: sotBytes }, 'a tile-part', signal);
    if (head.readUInt16BE(0) !== markers.sot) break;
    const statedLength = head.readUInt32BE(6);
    const partLength = statedLength === 0 ? end - at : statedLength;
    if (partLength < sotBytes + 2) throw new TileSourceError(`Corrupt JPEG 2000 file: a tile-part of ${partLength} bytes.`);
    if (parts.length >= maxTileParts) throw tooManyPartsError();
    parts.push({ tile: head.readUInt16BE(4), offset: at, length: Math.min(partLength, end - at) });
    at += partLength;
    if (isSliceOver()) await nextSlice(signal);
  }
  if (parts.length === 0) throw new TileSourceError('Corrupt JPEG 2000 file: it has no tile-part.');
  return parts;
}

function tooManyPartsError(): TileSourceError {
  return new TileSourceError(`The JPEG 2000 file has more than ${maxTileParts} tile-parts.`);
}
