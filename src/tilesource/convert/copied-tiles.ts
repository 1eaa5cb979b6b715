import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import type { TileSource } from '../tile-source.js';
import type { Size } from '../geometry.js';
import type { TiffContainer } from '../pyramid/container.js';
import { jpegFormOf, packJpegTile, isSameForm, type JpegForm } from './jpeg-form.js';
import { createLevel, type Level } from '../pyramid/levels.js';
import { createRaster } from '../raster.js';
import { blit } from '../render/pixels.js';
import { isTileSize, defaultQuality, type ConversionOptions } from './options.js';

/** A level whose tiles were copied from the source, and the form that all these tiles have. */
export interface CopiedLevel {
  level: Level;
  form: JpegForm;
}

/** A level of a frame to copy, and the file to which it is copied. */
export interface CopyTask {
  source: TileSource;
  container: TiffContainer;
  frame: number;
  /** Number of the level in the source. */
  sourceLevel: number;
  /** Size of the level that is written. The level of the source may have one more column or row of pixels. */
  size: Size;
  threads: number;
  /** Called with the number of pixels copied since the last call. */
  onProgress(pixels: number): void;
}

/** Maximum number of tiles that are read to find out whether the tiles of a level can be copied. */
const maxProbedTiles = 64;
/**
 * At least this many tiles are copied at the same time. Copying mostly waits for the disk, so more tasks than processors make it
 * faster.
 */
const minConcurrency = 8;

/**
 * Side in pixels of the tiles that a conversion with these options can copy. `null` if the options or the source do not allow
 * copying.
 */
export function copyableTileSide(source: TileSource, options: ConversionOptions): number | null {
  const { tileWidth, tileHeight, dtype, bandCount } = source.metadata;
  if (source.readStoredTile === undefined || dtype !== 'uint8' || (bandCount !== 1 && bandCount !== 3)) return null;
  if (tileWidth !== tileHeight || !isTileSize(tileWidth) || (options.tileSize ?? tileWidth) !== tileWidth) return null;
  return options.quality === defaultQuality ? tileWidth : null;
}

/**
 * Copies the JPEG tiles of a level. Tiles of a different form are decoded and encoded in the form of the other tiles, because one
 * directory describes them all. Returns `null` if none of the tiles that were tried can be copied.
 */
export async function copyLevel(task: CopyTask): Promise<CopiedLevel | null> {
  const form = await findForm(task);
  if (form === null) return null;
  const { size, container, threads, source, frame } = task;
  const { tileWidth: side, bandCount: bands } = source.metadata;
  const level = createLevel(size, side);
  const xs = Array.from({ length: level.columns }, (_, x) => x);
  for (let y = 0; y * side < size.height; y += 1) {
    await mapConcurrently(xs, Math.max(minConcurrency, threads), async (x) => {
      let bytes = await readStoredJpeg(task, x, y);
      const tileForm = bytes && jpegFormOf(bytes, { width: side, height: side });
      if (bytes === null || tileForm === null || !isSameForm(tileForm, form)) {
        const tile = createRaster({ width: side, height: side, bands, dtype: 'uint8' });
        blit(tile, await source.readTile({ level: task.sourceLevel, x, y, frame }), { left: 0, top: 0 });
        bytes = await packJpegTile(tile, form, defaultQuality);
      }
      const index = y * level.columns + x;
      level.lengths[index] = bytes.length;
      level.offsets[index] = await container.append(bytes);
    });
    task.onProgress(Math.min(side, size.height - y * side) * size.width);
  }
  return { level, form };
}

/**
 * Tries up to {@link maxProbedTiles} tiles, evenly spread over the level, and returns the form of the first tile that can be
 * copied.
 */
async function findForm(task: CopyTask): Promise<JpegForm | null> {
  const { size, source } = task;
  const { tileWidth: side, bandCount } = source.metadata;
  const columns = Math.ceil(size.width / side);
  const tileCount = columns * Math.ceil(size.height / side);
  const step = Math.max(1, tileCount / maxProbedTiles);
  for (let position = 0; position < tileCount; position += step) {
    const index = Math.floor(position);
    const bytes = await readStoredJpeg(task, index % columns, Math.floor(index / columns));
    const form = bytes && jpegFormOf(bytes, { width: side, height: side });
    if (form && (form.color === 'gray' ? 1 : 3) === bandCount) return form;
  }
  return null;
}

/**
 * Reads the stored JPEG of a tile. `null` if there is no JPEG, or if the JPEG does not show all pixels of the tile that are inside
 * the written level.
 */
async function readStoredJpeg({ source, frame, sourceLevel, size }: CopyTask, x: number, y: number): Promise<Uint8Array | null> {
  const storedTile = await source.readStoredTile?.({ level: sourceLevel, x, y, frame }, { partial: true });
  if (!storedTile || storedTile.encoding !== 'JPEG') return null;
  const { bytes, width, height } = storedTile;
  const shownSize: Size = storedTile.content ?? storedTile;
  const isFullWidth = shownSize.width >= Math.min(width, size.width - x * width);
  return isFullWidth && shownSize.height >= Math.min(height, size.height - y * height) ? bytes : null;
}
