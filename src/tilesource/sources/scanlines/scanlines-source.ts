import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { TileOutsideError, OtherFormatError, TileSourceError } from '../../../errors.js';
import {
  priorities,
  type ByteReader,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { levelCount, tileContent } from '../../geometry.js';
import { createRaster, type Raster } from '../../raster.js';
import { readBmp } from './bmp.js';
import { readFits } from './fits.js';
import { readNetpbm } from './netpbm.js';
import type { HeaderBytes, RowLayout } from './rows.js';
import { readTga } from './tga.js';

const tileSide = 512;
/** Bytes at the beginning of a file that are read at once. They include the palettes of all formats. */
const headBytes = 2 ** 13;
/** Maximum number of bytes, from the first row to the end of the last row, that are read with one request. */
const maxMergedBytes = 2 ** 22;
/** Number of rows that are read at the same time if each needs a request. */
const rowsAtOnce = 8;
/** Maximum width and height. */
const maxSide = 2 ** 31;

const headerReaders = [readBmp, readNetpbm, readFits, readTga];

class ScanlinesTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #reader: ByteReader;
  readonly #layout: RowLayout;

  constructor(reader: ByteReader, layout: RowLayout) {
    this.#reader = reader;
    this.#layout = layout;
    const size = { sizeX: layout.width, sizeY: layout.height, tileWidth: tileSide, tileHeight: tileSide };
    const frames = Array.from({ length: layout.frames }, (_, z) => ({ axes: { Z: z } }));
    this.metadata = {
      ...size,
      levels: levelCount(size),
      magnification: null,
      mmX: null,
      mmY: null,
      dtype: layout.dtype,
      ...(layout.white === undefined ? {} : { white: layout.white }),
      bandCount: layout.bands,
      ...(frames.length > 1 ? { frames } : {}),
    };
    this.populatedLevels = [this.metadata.levels - 1];
  }

  async readTile(address: TileAddress, options: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { width, height } = tileContent(this.metadata, address);
    const { bands, dtype, pixelBits, rowStep, unpack, frames } = this.#layout;
    const isFinest = address.level === this.metadata.levels - 1;
    const { x, y, frame } = address;
    if (!isFinest || !(width > 0 && height > 0 && x >= 0 && y >= 0 && frame >= 0 && frame < frames)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${x}, y=${y}.`);
    }
    const raster = createRaster({ width, height, bands, dtype });
    const startBit = x * tileSide * pixelBits;
    const pixels = { skip: (startBit % 8) / pixelBits, count: width };
    const length = Math.ceil((startBit + width * pixelBits) / 8) - Math.floor(startBit / 8);
    const offsets = Array.from(
      { length: height },
      (_, row) => this.#layout.findTopRow(frame) + (y * tileSide + row) * rowStep + Math.floor(startBit / 8),
    );
    const parts = await this.#readParts(offsets, length, options);
    for (const [row, bytes] of parts.entries()) unpack(bytes, pixels, raster.data, row * width * bands);
    return raster;
  }

  /**
   * Reads `length` bytes at each offset: with a single request if all offsets are close together, otherwise with a request for
   * each.
   */
  async #readParts(offsets: readonly number[], length: number, options: { signal?: AbortSignal }): Promise<Buffer[]> {
    const firstOffset = Math.min(...offsets);
    const totalBytes = Math.max(...offsets) + length - firstOffset;
    const { unpacked } = this.#layout;
    if (unpacked) return offsets.map((offset) => unpacked.subarray(offset, offset + length));
    const read = async (offset: number, byteCount: number): Promise<Buffer> => {
      const bytes = await this.#reader.read(offset, byteCount, options);
      if (bytes.length < byteCount) throw new TileSourceError('The file has become shorter.');
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    };
    if (totalBytes <= maxMergedBytes) {
      const mergedBytes = await read(firstOffset, totalBytes);
      return offsets.map((offset) => mergedBytes.subarray(offset - firstOffset, offset - firstOffset + length));
    }
    return mapConcurrently(offsets, rowsAtOnce, (offset) => read(offset, length));
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return { scanlines: { format: this.#layout.format, ...this.#layout.header } };
  }

  iccProfile(): Uint8Array | null {
    return this.#layout.profile ?? null;
  }

  get retainedBytes(): number {
    const { unpacked, profile } = this.#layout;
    return (unpacked?.length ?? 0) + (profile?.length ?? 0);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}

async function readRowLayout(input: SourceInput, reader: ByteReader, signal?: AbortSignal): Promise<RowLayout> {
  // A corrupt header may point beyond the end of the file, where nothing can be read.
  const read = async (offset: number, length: number): Promise<Buffer> => {
    const availableBytes = Math.min(length, reader.size - offset);
    return availableBytes > 0 ? Buffer.from(await reader.read(offset, availableBytes, signal && { signal })) : Buffer.alloc(0);
  };
  const file: HeaderBytes = { name: input.name, size: reader.size, head: await read(0, headBytes), read };
  for (const readHeader of headerReaders) {
    const layout = await readHeader(file);
    if (layout === null) continue;
    if (Math.max(layout.width, layout.height) > maxSide) {
      throw new TileSourceError(
        `The ${layout.format} file has ${layout.width} by ${layout.height} pixels; a side can have at most ${maxSide}.`,
      );
    }
    return layout;
  }
  throw new OtherFormatError('The file is not a BMP, Netpbm, FITS or TGA picture.');
}

const extensions = ['bmp', 'dib', 'pbm', 'pgm', 'ppm', 'pnm', 'pam', 'pfm', 'fits', 'fit', 'fts', 'tga'];
const mimeTypes = ['image/bmp', 'image/x-ms-bmp', 'image/fits', 'application/fits', 'image/x-tga', 'image/x-targa'];
const netpbmTypes = ['bitmap', 'graymap', 'pixmap', 'anymap'].map((kind) => `image/x-portable-${kind}`);
const withLowPriority = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, priorities.low]));

/** Reads formats that store pictures in rows: BMP, Netpbm, FITS, TGA. In uncompressed files, only the rows of the requested tile are read. */
export const scanlinesSource: TileSourceDefinition = {
  name: 'scanlines',
  extensions: { default: priorities.fallback, ...withLowPriority(extensions) },
  mimeTypes: { default: priorities.fallback, ...withLowPriority([...mimeTypes, ...netpbmTypes]) },
  async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
    const reader = await input.open();
    try {
      return new ScanlinesTileSource(reader, await readRowLayout(input, reader, signal));
    } catch (error) {
      await reader.close();
      throw error;
    }
  },
};
