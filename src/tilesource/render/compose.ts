import { LRUCache } from 'lru-cache';
import { CorruptTileError, TileSourceError } from '../../errors.js';
import { WorkQueue } from '../../core/concurrency/work-queue.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import type { EncodedImage, TileAddress, TileSource } from '../tile-source.js';
import { finerLevel, maxLevelStep, levelSize, tileContent, tileGrid, type Box, type Size } from '../geometry.js';
import { CorruptTiles, partOfTile, tileError, tileKey } from './corrupt-tiles.js';
import type { OpenedPicture } from './encode.js';
import { blit, crop, decimate, fitBorder } from './pixels.js';
import { averageSamples } from '../pyramid/average.js';
import { createRaster, sampleBytes, type Raster } from '../raster.js';
import type { RasterCache } from '../requests.js';
import { decodeMosaic, openMosaic, type StoredMosaic } from './stored-mosaic.js';

/** Maximum size, in bytes of samples, of the mosaic from which a tile of a missing level is made in one step. */
const maxMosaicBytes = 2 ** 26;

/** Maximum number of stored tiles, or parts of them, in one picture. Reading this many takes a minute. */
const maxStoredTiles = 2 ** 18;

/** Fewer stored tiles than this are not worth decoding together. */
const minMosaicTiles = 4;
/** Maximum total size, in bytes, of stored tiles that are decoded together. */
const maxEncodedBytes = 2 ** 28;
/**
 * Maximum number of stored tiles that are read at the same time. They are small and not decoded, and each read waits for a turn of
 * the event loop.
 */
const maxStoredReads = 32;

/** Maximum number of corrupt tiles that are remembered for each image. */
const maxCorruptTiles = 1000;

/** Bytes of composed tiles that are cached per image if the caller has no cache. */
const defaultCacheBytes = 2 ** 24;
/** Bytes that each cached tile counts in addition, so that tiny tiles cannot fill the cache with millions of entries. */
const bytesPerEntry = 1024;

/** A small cache for one image, which is enough for neighboring tiles of missing levels to share their work. */
export function createRasterCache(maxBytes = defaultCacheBytes): RasterCache {
  const cache = new LRUCache<string, Raster>({
    maxSize: maxBytes,
    sizeCalculation: (raster) => raster.data.byteLength + bytesPerEntry,
  });
  return { get: (key) => cache.get(key), set: (key, raster) => void cache.set(key, raster) };
}

/** A rectangle of one frame at one level. */
export interface LevelBox {
  /** Negative levels are coarser than level 0; each halves the size again. */
  level: number;
  frame: number;
  /** In pixels of the level. */
  box: Box;
  /** Whether levels that the file does not contain are made by picking pixels of a finer level instead of averaging them. */
  nearest?: boolean;
  /** For each band, a sample that means "no data" besides the image's nodata value: see {@link AverageOptions}. */
  bandNodata?: readonly (number | null)[];
  /** Collects the corrupt tiles, which are left empty. Without this collection, reading fails at the first corrupt tile. */
  corrupt?: CorruptTiles | undefined;
}

/** A tile to read, with the options of {@link LevelBox}. */
type TileRequest = TileAddress & Pick<LevelBox, 'nearest' | 'bandNodata' | 'corrupt'>;

/** Reads decoded tiles of every level, including those that the file does not contain, and rectangles of any level. */
export class TileReader {
  readonly #source: TileSource;
  readonly #cache: RasterCache;
  readonly #concurrency: number;
  readonly #readQueue: WorkQueue;
  /** The corrupt tiles found so far, by their key. */
  readonly #corrupt = new Map<string, CorruptTileError>();
  readonly #storedReadQueue = new WorkQueue({ name: 'tiles', running: maxStoredReads });

  constructor(source: TileSource, options: { cache?: RasterCache; concurrency?: number } = {}) {
    this.#source = source;
    this.#cache = options.cache ?? createRasterCache();
    this.#concurrency = options.concurrency ?? 4;
    this.#readQueue = new WorkQueue({ name: 'tiles', running: this.#concurrency * 2 });
  }

  /** The corrupt tiles found so far; if there are many, only the first ones. */
  get corruptTiles(): readonly CorruptTileError[] {
    return [...this.#corrupt.values()];
  }

  /** Reads the content of a tile; partial pixels at the border count as whole ones. The caller has checked the address. */
  async readTile(address: TileRequest, signal?: AbortSignal): Promise<Raster> {
    const { level, frame, x, y, nearest = false, bandNodata, corrupt } = address;
    if (this.#source.populatedLevels.includes(level)) {
      return this.#readStored({ level, frame, x, y }, { nearest, signal, corrupt });
    }
    const key = `${tileKey(address)}${nearest ? '/nearest' : bandNodata ? `/${bandNodata.join()}` : ''}`;
    const cached = this.#cache.get(key);
    corrupt?.addIntact(cached ? 1 : 0);
    if (cached) return cached;
    const encountersBefore = corrupt?.encounters;
    const tile = await this.#compose(address, signal);
    // A tile with holes is not cached, because other callers may not want holes. The count also grows if another tile of the
    // picture was found to be corrupt in the meantime; then this tile is not cached either.
    if (encountersBefore === corrupt?.encounters) this.#cache.set(key, tile);
    return tile;
  }

  /** Reads a rectangle of a level. The rectangle must be inside the level. */
  async readBox(where: LevelBox, signal?: AbortSignal): Promise<Raster> {
    const { box } = where;
    const { tileWidth, tileHeight, bandCount, dtype } = this.#source.metadata;
    const { tiles, boxInMosaic } = this.#tilesOf(where);
    const [firstTile] = tiles;
    if (firstTile !== undefined && tiles.length === 1) {
      const tile = await this.readTile(firstTile, signal);
      if (boxInMosaic.left === 0 && boxInMosaic.top === 0) return crop(tile, box);
      const part = createRaster({ ...tile, width: box.width, height: box.height });
      blit(part, tile, { left: -boxInMosaic.left, top: -boxInMosaic.top });
      return part;
    }
    const mosaic = tiles.length >= minMosaicTiles ? await this.#readMosaic(where, signal) : null;
    const target = mosaic?.raster ?? createRaster({ width: box.width, height: box.height, bands: bandCount, dtype });
    await mapConcurrently(mosaic?.missingTiles ?? tiles, this.#concurrency, async (tile) => {
      signal?.throwIfAborted();
      const raster = await this.readTile(tile, signal);
      blit(target, raster, { left: tile.x * tileWidth - box.left, top: tile.y * tileHeight - box.top });
    });
    return target;
  }

  /**
   * Opens a rectangle of a level without decoding it, if the file contains the whole rectangle as JPEG tiles; otherwise `null`. A
   * corrupt tile is only noticed when the picture is used. Then {@link readBox} tells which tile is corrupt.
   */
  async openBox(where: LevelBox, signal?: AbortSignal): Promise<OpenedPicture | null> {
    const mosaic = await this.#storedMosaic(where, signal);
    if (mosaic === null || mosaic.tiles.includes(null)) return null;
    const { boxInMosaic } = this.#tilesOf(where);
    const isShown =
      boxInMosaic.left + boxInMosaic.width <= mosaic.shown.width && boxInMosaic.top + boxInMosaic.height <= mosaic.shown.height;
    return isShown ? openMosaic(mosaic, boxInMosaic) : null;
  }

  /** The tiles that a box overlaps, row by row, and the box in pixels of their mosaic. */
  #tilesOf({ level, frame, box, nearest, bandNodata, corrupt }: LevelBox): {
    tiles: TileRequest[];
    columns: number;
    boxInMosaic: Box;
  } {
    const { tileWidth, tileHeight } = this.#source.metadata;
    const first = { x: Math.floor(box.left / tileWidth), y: Math.floor(box.top / tileHeight) };
    const last = {
      x: Math.floor((box.left + box.width - 1) / tileWidth),
      y: Math.floor((box.top + box.height - 1) / tileHeight),
    };
    this.#checkTileCount({ columns: last.x - first.x + 1, rows: last.y - first.y + 1 }, level);
    const tiles: TileRequest[] = [];
    for (let y = first.y; y <= last.y; y += 1) {
      for (let x = first.x; x <= last.x; x += 1)
        tiles.push({ level, frame, x, y, corrupt, ...(nearest && { nearest }), ...(bandNodata && { bandNodata }) });
    }
    const boxInMosaic = { ...box, left: box.left - first.x * tileWidth, top: box.top - first.y * tileHeight };
    return { tiles, columns: last.x - first.x + 1, boxInMosaic };
  }

  /** @throws TileSourceError if making this many tiles of a level would need too many stored tiles. */
  #checkTileCount({ columns, rows }: { columns: number; rows: number }, level: number): void {
    const { metadata, populatedLevels, partsPerTile = 1 } = this.#source;
    const storedLevel = populatedLevels.find((candidate) => candidate >= level) ?? level;
    const grid = tileGrid(metadata, storedLevel);
    const tilesAlong = 2 ** (storedLevel - level);
    const count = Math.min(grid.columns, columns * tilesAlong) * Math.min(grid.rows, rows * tilesAlong);
    if (count * partsPerTile <= maxStoredTiles) return;
    const partsText = partsPerTile > 1 ? `, each of ${partsPerTile} parts,` : '';
    throw new TileSourceError(
      `This picture would need ${count} stored tiles of ${metadata.tileWidth} by ${metadata.tileHeight} pixels${partsText || ','} and the image has no smaller versions. Convert the image first.`,
    );
  }

  /** Decodes together the tiles that the file stores as JPEG. `missingTiles` are the other tiles. */
  async #readMosaic(
    where: LevelBox,
    signal: AbortSignal | undefined,
  ): Promise<{ raster: Raster; missingTiles: TileAddress[] } | null> {
    const mosaic = await this.#storedMosaic(where, signal);
    if (mosaic === null) return null;
    const { tiles, boxInMosaic } = this.#tilesOf(where);
    const width = Math.min(boxInMosaic.width, mosaic.shown.width - boxInMosaic.left);
    const height = Math.min(boxInMosaic.height, mosaic.shown.height - boxInMosaic.top);
    if (width < 1 || height < 1) return null;
    try {
      const raster = await decodeMosaic(mosaic, { ...boxInMosaic, width, height }, signal);
      if (raster === null) return null;
      const missingTiles = tiles.filter((_, index) => mosaic.tiles[index] === null);
      where.corrupt?.addIntact(tiles.length - missingTiles.length);
      return { raster: fitBorder(raster, where.box), missingTiles };
    } catch {
      signal?.throwIfAborted();
      // A tile is corrupt. When the caller reads the tiles one by one, it finds out which tile is corrupt, and why.
      return null;
    }
  }

  /** Reads the JPEG tiles of a box, undecoded. `null` if the first tile is not a JPEG, or if all tiles together are too large. */
  async #storedMosaic(where: LevelBox, signal: AbortSignal | undefined): Promise<StoredMosaic | null> {
    const { metadata, populatedLevels } = this.#source;
    const isBytes = metadata.dtype === 'uint8' && metadata.white === undefined;
    if (!this.#source.readStoredTile || !isBytes || !populatedLevels.includes(where.level)) return null;
    const { tiles, columns } = this.#tilesOf(where);
    const [first, ...others] = tiles;
    const firstPicture = first && (await this.#storedJpeg(first, signal));
    if (!firstPicture) return null;
    const otherPictures = await mapConcurrently(others, maxStoredReads, (tile) => this.#storedJpeg(tile, signal));
    const pictures = [firstPicture, ...otherPictures];
    if (pictures.reduce((sum, picture) => sum + (picture?.bytes.length ?? 0), 0) > maxEncodedBytes) return null;
    const tileSize = { width: metadata.tileWidth, height: metadata.tileHeight };
    return {
      tiles: pictures.map((picture) => picture?.bytes ?? null),
      columns,
      tile: tileSize,
      bands: metadata.bandCount,
      shown: shownPart(pictures, columns, tileSize),
    };
  }

  async #storedJpeg(address: TileAddress, signal: AbortSignal | undefined): Promise<EncodedImage | null> {
    const options = { partial: true, ...(signal && { signal }) };
    const storedTile = await this.#storedReadQueue.run(async () => this.#source.readStoredTile?.(address, options), { signal });
    return storedTile?.encoding === 'JPEG' ? storedTile : null;
  }

  async #readStored(
    address: TileAddress,
    { nearest, signal, corrupt }: { nearest: boolean; signal: AbortSignal | undefined; corrupt: CorruptTiles | undefined },
  ): Promise<Raster> {
    const { metadata } = this.#source;
    const content = tileContent(metadata, address);
    // Other tiles of the picture may be read at the same time, so this tile collects its corrupt parts separately.
    const corruptParts = corrupt && new CorruptTiles();
    const options = { ...(signal && { signal }), ...(nearest && { nearest }), ...(corruptParts && { corrupt: corruptParts }) };
    const read = () => this.#source.readTile(address, options);
    let raster: Raster;
    try {
      raster = await this.#readQueue.run(read, { signal });
    } catch (cause) {
      signal?.throwIfAborted();
      const error = tileError(cause, address);
      if (!(error instanceof CorruptTileError)) throw error;
      this.#rememberCorrupt([[tileKey(address), error]]);
      if (corrupt === undefined) throw error;
      corrupt.add(error, partOfTile(metadata, address));
      return createRaster({ ...content, bands: metadata.bandCount, dtype: metadata.dtype });
    }
    if (corruptParts?.count) {
      this.#rememberCorrupt(corruptParts.keyedErrors);
      corrupt?.merge(corruptParts);
    } else corrupt?.addIntact();
    // Files round the sizes of their levels up or down. Here, a partial pixel always counts as a whole pixel.
    return fitBorder(raster, content);
  }

  #rememberCorrupt(errors: readonly (readonly [string, CorruptTileError])[]): void {
    for (const [key, error] of errors) {
      if (this.#corrupt.size < maxCorruptTiles) this.#corrupt.set(key, error);
    }
  }

  /** Makes a tile from the tiles of a finer level below it. */
  async #compose(address: TileRequest, signal?: AbortSignal): Promise<Raster> {
    const { metadata } = this.#source;
    this.#checkTileCount({ columns: 1, rows: 1 }, address.level);
    const content = tileContent(metadata, address);
    if (address.nearest === true) return this.#pickTile(address, content, signal);
    const { level, box } = this.#mosaicOf(address);
    const factor = 2 ** (level - address.level);
    const { frame, bandNodata, corrupt } = address;
    const mosaic = await this.readBox({ level, frame, box, corrupt, ...(bandNodata && { bandNodata }) }, signal);
    // Partial pixels at the border are means of the pixels inside the image.
    const window = { left: 0, top: 0, width: content.width * factor, height: content.height * factor };
    return averageSamples(mosaic, content, { window, nodata: metadata.nodata ?? null, bandNodata, signal });
  }

  /** The finer level, and the rectangle of that level, from which a tile is made in one step. */
  #mosaicOf(address: TileAddress): { level: number; box: Box } {
    const { metadata, populatedLevels } = this.#source;
    const { tileWidth, tileHeight, bandCount, dtype } = metadata;
    for (let step = maxLevelStep; ; step -= 1) {
      const level = Math.min(finerLevel(populatedLevels, address.level), address.level + step);
      const factor = 2 ** (level - address.level);
      const size = levelSize(metadata, level);
      const left = address.x * factor * tileWidth;
      const top = address.y * factor * tileHeight;
      const box = {
        left,
        top,
        width: Math.min(factor * tileWidth, size.width - left),
        height: Math.min(factor * tileHeight, size.height - top),
      };
      if (step === 1 || box.width * box.height * bandCount * sampleBytes(dtype) <= maxMosaicBytes) return { level, box };
    }
  }

  /** Makes a tile of every n-th pixel of a finer level. Tiles are read one by one, so that large steps need little memory. */
  async #pickTile(address: TileRequest, content: Size, signal?: AbortSignal): Promise<Raster> {
    const { metadata, populatedLevels } = this.#source;
    const { tileWidth, tileHeight, bandCount, dtype } = metadata;
    const level = finerLevel(populatedLevels, address.level);
    const factor = 2 ** (level - address.level);
    const grid = tileGrid(metadata, level);
    const left = address.x * factor * tileWidth;
    const top = address.y * factor * tileHeight;
    const target = createRaster({ ...content, bands: bandCount, dtype });
    const children: { x: number; y: number }[] = [];
    for (let y = address.y * factor; y < Math.min(grid.rows, (address.y + 1) * factor); y += 1) {
      for (let x = address.x * factor; x < Math.min(grid.columns, (address.x + 1) * factor); x += 1) children.push({ x, y });
    }
    await mapConcurrently(children, this.#concurrency, async ({ x, y }) => {
      const tile = await this.readTile({ ...address, level, x, y }, signal);
      await copyEveryNth(target, tile, { left: x * tileWidth - left, top: y * tileHeight - top }, factor);
    });
    return target;
  }
}

/** Puts every `step`-th pixel of a tile, counted from the corner of the mosaic, into the reduced mosaic. */
async function copyEveryNth(target: Raster, tile: Raster, at: { left: number; top: number }, step: number): Promise<void> {
  const skip = (offset: number) => (step - (offset % step)) % step;
  const skipX = skip(at.left);
  const skipY = skip(at.top);
  if (skipX >= tile.width || skipY >= tile.height) return;
  let part = tile;
  if (skipX > 0 || skipY > 0) {
    part = createRaster({ ...tile, width: tile.width - skipX, height: tile.height - skipY });
    blit(part, tile, { left: -skipX, top: -skipY });
  }
  blit(target, await decimate(part, step), { left: (at.left + skipX) / step, top: (at.top + skipY) / step });
}

/** The part of a mosaic of stored tiles that shows the image. The stored level may end a pixel before the level does. */
function shownPart(pictures: readonly (EncodedImage | null)[], columns: number, tile: Size): Size {
  const rows = pictures.length / columns;
  const shown = { width: columns * tile.width, height: rows * tile.height };
  for (const [index, picture] of pictures.entries()) {
    if (!picture?.content) continue;
    const { width, height } = picture.content;
    const [column, row] = [index % columns, Math.floor(index / columns)];
    if (column === columns - 1) shown.width = Math.min(shown.width, column * tile.width + width);
    if (row === rows - 1) shown.height = Math.min(shown.height, row * tile.height + height);
  }
  return shown;
}
