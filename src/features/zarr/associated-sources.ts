import { LRUCache } from 'lru-cache';
import type { ImageMetadata, TileSource } from '../../tilesource/tile-source.js';
import { levelCount } from '../../tilesource/geometry.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import { asStored } from '../../tilesource/render/appearance.js';
import { Renderer } from '../../tilesource/render/renderer.js';
import { blit } from '../../tilesource/render/pixels.js';
import { createRaster, type Raster } from '../../tilesource/raster.js';
import { noSuchKeyError } from './keys.js';
import type { ReadBox } from './measure.js';

const tileSide = 512;
/** How long decoded associated images are cached, in milliseconds, and how many bytes of them. */
const cacheLifetimeMs = 10_000;
const maxCachedBytes = 64 * 2 ** 20;

/** An associated image that can be read like the main image of a file. */
export interface AssociatedSource {
  metadata: ImageMetadata;
  populatedLevels: readonly number[];
  samples: ReadBox;
}

/** Caches decoded associated images for a moment, because clients request the chunks of an image one by one. */
export class AssociatedSources {
  readonly #rasters = new LRUCache<string, Raster>({
    maxSize: maxCachedBytes,
    ttl: cacheLifetimeMs,
    sizeCalculation: ({ data }) => data.byteLength + 1024,
  });
  readonly #readsInProgress = new SharedWork<Raster>();

  /**
   * Returns the image with this key, which is read if it is not cached.
   *
   * @param key names the associated image and its state.
   * @throws NotFoundError if the file has no image with this name.
   */
  async get(key: string, read: (signal: AbortSignal) => Promise<Raster | null>, signal: AbortSignal): Promise<AssociatedSource> {
    const cachedRaster = this.#rasters.get(key);
    const raster =
      cachedRaster ?? (await this.#readsInProgress.join(key, (sharedSignal) => this.#read(key, read, sharedSignal), signal));
    return toSource(raster);
  }

  async #read(key: string, read: (signal: AbortSignal) => Promise<Raster | null>, signal: AbortSignal): Promise<Raster> {
    const raster = await read(signal);
    if (raster === null) throw noSuchKeyError();
    this.#rasters.set(key, raster);
    return raster;
  }
}

function toSource(raster: Raster): AssociatedSource {
  const { width: sizeX, height: sizeY, bands: bandCount, dtype } = raster;
  const shape = { sizeX, sizeY, tileWidth: tileSide, tileHeight: tileSide };
  const levels = levelCount(shape);
  const metadata: ImageMetadata = { ...shape, levels, magnification: null, mmX: null, mmY: null, dtype, bandCount };
  const source: TileSource = {
    metadata,
    populatedLevels: [levels - 1],
    async readTile({ x, y }) {
      const [left, top] = [x * tileSide, y * tileSide];
      const tile = createRaster({
        ...raster,
        width: Math.min(tileSide, sizeX - left),
        height: Math.min(tileSide, sizeY - top),
      });
      blit(tile, raster, { left: -left, top: -top });
      return tile;
    },
    close: () => Promise.resolve(),
  };
  const renderer = new Renderer(source, {});
  return { metadata, populatedLevels: source.populatedLevels, samples: (frameBox) => renderer.readSamples(frameBox, asStored) };
}
