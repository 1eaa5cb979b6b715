import { open, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { BadValueError } from '../errors.js';
import { openPicture, type EncodingOptions } from './encode.js';
import type { Box, Size } from './geometry.js';
import { blit, hasAlpha, solidPicture, type Picture } from './pixels.js';
import type { StreamedPicture } from './requests.js';
import { temporaryPath } from './temporary-files.js';

/** Side of a tile, and of the block that is read and reduced at once, in pixels. */
const tileSide = 256;
const blockSide = 1024;

/** Most pixels that a pyramid may have: a bound for the disk, far above any image. */
const maxPixels = 2 ** 37;

/** What is written: a picture that can be read block by block. */
export interface BlockPicture extends Size {
  bands: Picture['bands'];
  read(box: Box): Promise<Picture>;
  /** Resolution of the full size. */
  pixelsPerMm?: { x: number; y: number };
}

interface Level extends Size {
  columns: number;
  offsets: BigUint64Array;
  counts: BigUint64Array;
}

/**
 * Writes a pyramid of tiles as a BigTIFF into a temporary file and streams it. The file has no name any more when the stream
 * starts (where the system allows that), so nothing is left behind whatever happens.
 *
 * Memory is bounded by the block size and the number of levels, not by the size of the picture.
 *
 * @throws BadValueError when the picture is larger than any pyramid may be.
 */
export async function streamTiledTiff(
  picture: BlockPicture,
  options: { encoding: EncodingOptions; directory?: string; signal?: AbortSignal },
): Promise<StreamedPicture> {
  if (picture.width * picture.height > maxPixels) {
    throw new BadValueError(
      `Output of ${picture.width} x ${picture.height} pixels is larger than the limit of ${maxPixels} pixels`,
    );
  }
  const path = temporaryPath(options.directory ?? tmpdir(), '.tiff');
  const file = await open(path, 'wx+', 0o600);
  // Where an open file cannot be unlinked, it is when it has been read.
  const unlinked = await unlink(path).then(
    () => true,
    () => false,
  );
  const discard = unlinked ? async () => {} : () => unlink(path).catch(() => {});
  try {
    const writer = new PyramidWriter(file, picture, options);
    const size = await writer.write();
    const stream = file.createReadStream({ start: 0, highWaterMark: 65_536 });
    stream.once('close', () => void discard());
    return { kind: 'stream', stream, type: options.encoding.type, size };
  } catch (error) {
    await file.close();
    await discard();
    throw error;
  }
}

/** Builds the levels from blocks, finest first, and appends their tiles to the file as they come. */
class PyramidWriter {
  readonly #file: FileHandle;
  readonly #picture: BlockPicture;
  readonly #encoding: EncodingOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #levels: Level[] = [];
  /** Bands in the file: JPEG has no alpha, and WebP is never gray. */
  readonly #bands: number;
  #end = 16;

  constructor(file: FileHandle, picture: BlockPicture, options: { encoding: EncodingOptions; signal?: AbortSignal }) {
    this.#file = file;
    this.#picture = picture;
    this.#encoding = options.encoding;
    this.#signal = options.signal;
    const { compression } = options.encoding;
    this.#bands = picture.bands;
    if (compression === 'jpeg' && hasAlpha(picture)) this.#bands -= 1;
    if (compression === 'webp' && picture.bands <= 2) this.#bands += 2;
    let { width, height } = picture;
    for (;;) {
      const columns = Math.ceil(width / tileSide);
      const tiles = columns * Math.ceil(height / tileSide);
      this.#levels.push({ width, height, columns, offsets: new BigUint64Array(tiles), counts: new BigUint64Array(tiles) });
      if (width <= tileSide && height <= tileSide) break;
      width = Math.max(1, Math.floor(width / 2));
      height = Math.max(1, Math.floor(height / 2));
    }
  }

  /** @returns the length of the file in bytes. */
  async write(): Promise<number> {
    await this.#build(this.#levels.length - 1, 0, 0);
    const header = Buffer.alloc(16);
    header.write('II', 0, 'latin1');
    header.writeUInt16LE(43, 2);
    header.writeUInt16LE(8, 4);
    header.writeBigUInt64LE(await this.#writeDirectories(), 8);
    await this.#file.write(header, 0, header.length, 0);
    return this.#end;
  }

  /** Makes a block of a level, from the blocks of the finer level below it, and writes the tiles of all of them. */
  async #build(level: number, column: number, row: number): Promise<Picture> {
    this.#signal?.throwIfAborted();
    const size = this.#level(level);
    const box: Box = {
      left: column * blockSide,
      top: row * blockSide,
      width: Math.min(blockSide, size.width - column * blockSide),
      height: Math.min(blockSide, size.height - row * blockSide),
    };
    let block: Picture;
    if (level === 0) block = await this.#picture.read(box);
    else {
      block = solidPicture(box, this.#picture.bands, [0, 0, 0, 0]);
      const finer = this.#level(level - 1);
      for (const y of childBlocks(row, size.height, finer.height)) {
        for (const x of childBlocks(column, size.width, finer.width)) {
          const child = await this.#build(level - 1, x, y);
          const at = { left: ((x - column * 2) * blockSide) / 2, top: ((y - row * 2) * blockSide) / 2 };
          blit(block, halve(child, this.#nearest), at);
        }
      }
    }
    await this.#writeTiles(size, box, block);
    return block;
  }

  #level(level: number): Level {
    const found = this.#levels[level];
    if (!found) throw new RangeError(`No level ${level}`);
    return found;
  }

  /** Lossless output keeps the values that are there; label images must not get mixed ones. */
  get #nearest(): boolean {
    return this.#encoding.compression === 'lzw' || this.#encoding.compression === 'none';
  }

  async #writeTiles(level: Level, box: Box, block: Picture): Promise<void> {
    const tiles: { index: number; left: number; top: number }[] = [];
    for (let top = 0; top < box.height; top += tileSide) {
      for (let left = 0; left < box.width; left += tileSide) {
        const index = ((box.top + top) / tileSide) * level.columns + (box.left + left) / tileSide;
        tiles.push({ index, left, top });
      }
    }
    const encoded = await Promise.all(
      tiles.map(({ left, top }) => {
        const tile = solidPicture({ width: tileSide, height: tileSide }, block.bands, [0, 0, 0, 0]);
        blit(tile, block, { left: 0, top: 0 }, { left, top, width: tileSide, height: tileSide });
        return compressTile(tile, this.#encoding);
      }),
    );
    let length = 0;
    encoded.forEach((bytes, position) => {
      const index = tiles[position]?.index ?? 0;
      level.offsets[index] = BigInt(this.#end + length);
      level.counts[index] = BigInt(bytes.length);
      length += bytes.length;
    });
    await this.#append(Buffer.concat(encoded));
  }

  async #append(bytes: Uint8Array): Promise<number> {
    const at = this.#end;
    let written = 0;
    while (written < bytes.length) {
      written += (await this.#file.write(bytes, written, bytes.length - written, at + written)).bytesWritten;
    }
    this.#end += bytes.length;
    return at;
  }

  /** Writes one directory per level, the finest first. @returns where the first one is. */
  async #writeDirectories(): Promise<bigint> {
    let next = 0n;
    for (let level = this.#levels.length - 1; level >= 0; level -= 1) {
      const { offsets, counts } = this.#level(level);
      const place = async (list: BigUint64Array) =>
        list.length === 1 ? (list[0] ?? 0n) : BigInt(await this.#append(new Uint8Array(list.buffer)));
      const entries = this.#tags(level);
      entries.push({ tag: 324, type: 16, count: offsets.length, value: await place(offsets) });
      entries.push({ tag: 325, type: 16, count: counts.length, value: await place(counts) });
      next = BigInt(await this.#append(directory(entries, next)));
    }
    return next;
  }

  #tags(level: number): Entry[] {
    const { width, height } = this.#level(level);
    const { compression, subsampling } = this.#encoding;
    const bands = this.#bands;
    const jpegColor = compression === 'jpeg' && bands === 3;
    const entries: Entry[] = [
      number(254, level === 0 ? 0 : 1),
      number(256, width),
      number(257, height),
      shorts(
        258,
        Array.from({ length: bands }, () => 8),
      ),
      shorts(259, [compressionCodes[compression]]),
      shorts(262, [bands <= 2 ? 1 : jpegColor ? 6 : 2]),
      shorts(277, [bands]),
      shorts(284, [1]),
      number(322, tileSide),
      number(323, tileSide),
    ];
    if (compression === 'lzw' || compression === 'deflate') entries.push(shorts(317, [2]));
    if (bands === 2 || bands === 4) entries.push(shorts(338, [2]));
    if (jpegColor) entries.push(shorts(530, subsampling === 0 ? [1, 1] : [2, 2]));
    const { pixelsPerMm } = this.#picture;
    if (pixelsPerMm) {
      const perInch = 25.4 / 2 ** level;
      entries.push(rational(282, pixelsPerMm.x * perInch), rational(283, pixelsPerMm.y * perInch), shorts(296, [2]));
    }
    return entries;
  }
}

/** Blocks of the finer level below a block. The last one also takes those that only hold what halving drops. */
function childBlocks(block: number, size: number, finerSize: number): number[] {
  const last = block === Math.ceil(size / blockSide) - 1;
  const children = Math.ceil(finerSize / blockSide);
  const end = last ? children : Math.min(children, block * 2 + 2);
  return Array.from({ length: end - block * 2 }, (_, position) => block * 2 + position);
}

/** Half the size: each pixel the mean of four, or the first of them. An odd last row or column is dropped. */
function halve(picture: Picture, nearest: boolean): Picture {
  const { bands, data } = picture;
  const width = Math.max(1, Math.floor(picture.width / 2));
  const height = Math.max(1, Math.floor(picture.height / 2));
  const out = new Uint8Array(width * height * bands);
  const right = picture.width > 1 ? bands : 0;
  const down = picture.height > 1 ? picture.width * bands : 0;
  let to = 0;
  for (let y = 0; y < height; y += 1) {
    let from = y * 2 * picture.width * bands;
    for (let x = 0; x < width; x += 1) {
      for (let band = 0; band < bands; band += 1, from += 1) {
        const first = data[from] ?? 0;
        out[to++] = nearest
          ? first
          : (first + (data[from + right] ?? 0) + (data[from + down] ?? 0) + (data[from + right + down] ?? 0) + 2) >> 2;
      }
      from += bands;
    }
  }
  return { data: out, width, height, bands, dtype: 'uint8' };
}

const compressionCodes = { none: 1, lzw: 5, jpeg: 7, deflate: 8, packbits: 32_773, webp: 50_001 } as const;

/** The bytes of one tile. libvips writes it as a TIFF of a single tile, whose data are taken out. */
async function compressTile(tile: Picture, options: EncodingOptions): Promise<Uint8Array> {
  const { compression, quality, subsampling } = options;
  if (compression === 'none') return tile.data;
  let image = openPicture(tile);
  if (compression === 'webp') return image.webp({ quality, effort: 2 }).toBuffer();
  if (compression === 'jpeg' && hasAlpha(tile)) image = image.flatten({ background: '#fff' });
  if (tile.bands <= 2) image = image.toColourspace('b-w');
  if (compression === 'jpeg') return image.jpeg({ quality, chromaSubsampling: subsampling === 0 ? '4:4:4' : '4:2:0' }).toBuffer();
  const tiff = await image
    .tiff({ compression, predictor: 'horizontal', tile: true, tileWidth: tileSide, tileHeight: tileSide })
    .toBuffer();
  return tileData(tiff);
}

/** Data of the only tile of a little-endian classic TIFF. */
function tileData(tiff: Buffer): Uint8Array {
  const start = tiff.readUInt32LE(4);
  const values = new Map<number, number>();
  for (let entry = 0; entry < tiff.readUInt16LE(start); entry += 1) {
    const at = start + 2 + entry * 12;
    values.set(tiff.readUInt16LE(at), tiff.readUInt16LE(at + 2) === 3 ? tiff.readUInt16LE(at + 8) : tiff.readUInt32LE(at + 8));
  }
  const offset = values.get(324);
  const length = values.get(325);
  if (offset === undefined || length === undefined) throw new Error('libvips wrote a TIFF without tiles');
  return tiff.subarray(offset, offset + length);
}

interface Entry {
  tag: number;
  type: number;
  count: number;
  /** The eight bytes of the entry that hold the value, or where it is. */
  value: bigint;
}

function number(tag: number, value: number): Entry {
  return { tag, type: 4, count: 1, value: BigInt(value) };
}

function shorts(tag: number, values: readonly number[]): Entry {
  const value = values.reduce((packed, each, position) => packed | (BigInt(each) << BigInt(16 * position)), 0n);
  return { tag, type: 3, count: values.length, value };
}

function rational(tag: number, value: number): Entry {
  // As many digits as fit the numerator.
  const denominator = Math.max(1, Math.min(1e6, Math.floor((2 ** 32 - 1) / Math.max(1, value))));
  const numerator = Math.min(2 ** 32 - 1, Math.round(value * denominator));
  return { tag, type: 5, count: 1, value: BigInt(numerator) | (BigInt(denominator) << 32n) };
}

function directory(entries: readonly Entry[], next: bigint): Buffer {
  const out = Buffer.alloc(8 + entries.length * 20 + 8);
  out.writeBigUInt64LE(BigInt(entries.length), 0);
  [...entries]
    .sort((a, b) => a.tag - b.tag)
    .forEach(({ tag, type, count, value }, index) => {
      const at = 8 + index * 20;
      out.writeUInt16LE(tag, at);
      out.writeUInt16LE(type, at + 2);
      out.writeBigUInt64LE(BigInt(count), at + 4);
      out.writeBigUInt64LE(value, at + 12);
    });
  out.writeBigUInt64LE(next, out.length - 8);
  return out;
}
