import { randomUUID } from 'node:crypto';
import { access, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import sharp from 'sharp';
import type { Progress } from '../database/database-options.js';
import { Painter } from './paint.js';
import { PyramidWriter } from './tiff-writer.js';
import { outlineOf, Tissue, type Nucleus } from './tissue.js';

/** The slide of `npm start`: side in pixels, seed, magnification, and millimeters per pixel. */
export const syntheticSlide = { seed: 20261121, size: 20_480, magnification: 20, mmPerPixel: 0.0005 } as const;

const tileSize = 256;
const blockSize = 1024;
/** Each block provides its part of the finest levels (1024, 512 and 256 pixels). Coarser levels are made at the end, from the whole slide. */
const blockLevels = 3;

/** A nucleus of the slide and its outline: `[x, y]` in base-layer pixels, 12 points, not closed. */
export interface OutlinedNucleus extends Nucleus {
  outline: [number, number][];
}

/** The nuclei of a slide, always the same for the same seed and size (a multiple of 1024 pixels), one at a time. */
export function* nucleiOf(seed: number = syntheticSlide.seed, size: number = syntheticSlide.size): Generator<OutlinedNucleus> {
  const tissue = new Tissue(seed, size);
  for (let top = 0; top < size; top += blockSize) {
    for (let left = 0; left < size; left += blockSize) {
      for (const nucleus of tissue.nucleiIn(left, top, left + blockSize, top + blockSize)) {
        yield { ...nucleus, outline: outlineOf(nucleus) };
      }
    }
  }
}

/** A partial slide that has not been written to for this long was left by a process that was killed. */
const abandonedMs = 10 * 60 * 1000;

/** Options for making a slide. */
export interface SlideOptions {
  seed?: number;
  /** Side in pixels, a multiple of 1024. */
  size?: number;
  onProgress?: (progress: Progress) => void;
  /** If the signal is aborted, no file remains. */
  signal?: AbortSignal;
}

/**
 * Makes a synthetic tissue slide, unless the file already exists: a pyramidal TIFF of JPEG tiles, the same each time. No incomplete file ever
 * has this path.
 */
export async function makeSyntheticSlide(path: string, options: SlideOptions = {}): Promise<void> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (exists) return;
  const prefix = `.${basename(path)}.partial-`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const oldPath = join(dirname(path), name);
    const stats = await stat(oldPath).catch(() => null);
    if (stats !== null && Date.now() - stats.mtimeMs > abandonedMs) await rm(oldPath, { force: true });
  }
  // Another process, possibly on another machine, may be making the same slide.
  const partialPath = join(dirname(path), `${prefix}${randomUUID()}`);
  try {
    await writeSlide(partialPath, options);
    options.signal?.throwIfAborted();
    await rename(partialPath, path);
  } catch (error) {
    await rm(partialPath, { force: true });
    throw error;
  }
}

async function writeSlide(path: string, options: SlideOptions): Promise<void> {
  const { seed = syntheticSlide.seed, size = syntheticSlide.size, onProgress, signal } = options;
  if (!Number.isInteger(size / blockSize) || size < blockSize)
    throw new RangeError(`Size ${size} is not a multiple of ${blockSize}`);
  const sizes = [{ width: size, height: size }];
  for (let side = size; side > tileSize;) {
    side /= 2;
    sizes.push({ width: Math.ceil(side), height: Math.ceil(side) });
  }
  const painter = new Painter(new Tissue(seed, size), seed);
  const writer = await PyramidWriter.create(path, sizes);
  try {
    const blocksPerSide = size / blockSize;
    const coarseSize = sizes[blockLevels] ?? { width: 1, height: 1 };
    let coarseRaster: Raster = {
      pixels: Buffer.alloc(coarseSize.width * coarseSize.height * 3),
      width: coarseSize.width,
      height: coarseSize.height,
    };
    // One block is painted while the tiles of the previous one are encoded on other threads.
    let encodingPromise: Promise<unknown> = Promise.resolve();
    for (let block = 0; block < blocksPerSide * blocksPerSide; block++) {
      signal?.throwIfAborted();
      const column = block % blocksPerSide;
      const row = Math.floor(block / blocksPerSide);
      let raster: Raster = {
        pixels: painter.paintBlock(column * blockSize, row * blockSize, blockSize),
        width: blockSize,
        height: blockSize,
      };
      await encodingPromise;
      const tiles: Promise<void>[] = [];
      for (let level = 0; level < blockLevels; level++) {
        const tilesPerSide = blockSize / tileSize / 2 ** level;
        tiles.push(...writeTiles(writer, level, raster, column * tilesPerSide, row * tilesPerSide));
        raster = halve(raster);
      }
      pasteRaster(raster, coarseRaster, column * raster.width, row * raster.height);
      encodingPromise = Promise.all(tiles);
      // A rejection is noticed at the await above, or below after the last block.
      encodingPromise.catch(() => undefined);
      onProgress?.({ text: 'Making the synthetic tissue slide (once)', fraction: (block + 1) / (blocksPerSide * blocksPerSide) });
      // Painting occupies the thread, so signals, timers and encoded tiles get a chance here.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await encodingPromise;
    for (let level = blockLevels; level < sizes.length; level++) {
      await Promise.all(writeTiles(writer, level, coarseRaster, 0, 0));
      coarseRaster = halve(coarseRaster);
    }
    const { magnification, mmPerPixel } = syntheticSlide;
    const properties = [`AppMag = ${magnification}`, `MPP = ${mmPerPixel * 1000}`, 'Title = Synthetic tissue slide'].join('|');
    // Readers of whole-slide images expect the magnification in this form.
    const aperioHeader = `${size}x${size} [0,0 ${size}x${size}] (${tileSize}x${tileSize}) JPEG/RGB Q=82`;
    await writer.finish(`Aperio Image Library (synthetic)\r\n${aperioHeader}|${properties}`, mmPerPixel);
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/** RGB bytes, row by row. */
interface Raster {
  pixels: Buffer;
  width: number;
  height: number;
}

/** Encodes a raster as tiles, the first at `column` and `row`. Incomplete tiles at the right and bottom repeat the last pixel. */
function writeTiles(writer: PyramidWriter, level: number, raster: Raster, column: number, row: number): Promise<void>[] {
  const { width, height, pixels } = raster;
  const tiles: Promise<void>[] = [];
  for (let top = 0; top < height; top += tileSize) {
    for (let left = 0; left < width; left += tileSize) {
      const tile = Buffer.alloc(tileSize * tileSize * 3);
      const columns = Math.min(tileSize, width - left);
      for (let y = 0; y < tileSize; y++) {
        const sourceOffset = (Math.min(height - 1, top + y) * width + left) * 3;
        const rowOffset = y * tileSize * 3;
        pixels.copy(tile, rowOffset, sourceOffset, sourceOffset + columns * 3);
        const lastPixelOffset = rowOffset + (columns - 1) * 3;
        for (let x = columns; x < tileSize; x++) tile.copyWithin(rowOffset + x * 3, lastPixelOffset, lastPixelOffset + 3);
      }
      tiles.push(
        sharp(tile, { raw: { width: tileSize, height: tileSize, channels: 3 } })
          .jpeg({ quality: 82, chromaSubsampling: '4:2:0' })
          .toBuffer()
          .then((jpeg) => writer.writeTile(level, column + left / tileSize, row + top / tileSize, jpeg)),
      );
    }
  }
  return tiles;
}

/** Makes a raster of half the size. Each of its pixels is the mean of four. */
function halve({ pixels, width, height }: Raster): Raster {
  const halfSize = { width: Math.ceil(width / 2), height: Math.ceil(height / 2) };
  const halfPixels = Buffer.alloc(halfSize.width * halfSize.height * 3);
  for (let y = 0; y < halfSize.height; y++) {
    const above = y * 2 * width * 3;
    const below = Math.min(height - 1, y * 2 + 1) * width * 3;
    for (let x = 0; x < halfSize.width; x++) {
      const left = x * 6;
      const right = Math.min(width - 1, x * 2 + 1) * 3;
      const pixelOffset = (y * halfSize.width + x) * 3;
      for (let channel = 0; channel < 3; channel++) {
        const sum =
          (pixels[above + left + channel] ?? 0) +
          (pixels[above + right + channel] ?? 0) +
          (pixels[below + left + channel] ?? 0) +
          (pixels[below + right + channel] ?? 0);
        halfPixels[pixelOffset + channel] = (sum + 2) >> 2;
      }
    }
  }
  return { pixels: halfPixels, ...halfSize };
}

function pasteRaster(source: Raster, target: Raster, left: number, top: number): void {
  for (let y = 0; y < source.height; y++) {
    const targetOffset = ((top + y) * target.width + left) * 3;
    source.pixels.copy(target.pixels, targetOffset, y * source.width * 3, (y + 1) * source.width * 3);
  }
}
