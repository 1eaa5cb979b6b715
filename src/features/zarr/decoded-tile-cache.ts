import { LRUCache } from 'lru-cache';
import type { Box } from '../../tilesource/geometry.js';
import { SharedWork } from '../../tilesource/process/shared-work.js';
import { blit } from '../../tilesource/render/pixels.js';
import { createRaster, type Raster } from '../../tilesource/raster.js';
import { sourceLevelOf, type ArrayImage } from './arrays.js';
import type { ReadBox } from './measure.js';

/**
 * How long decoded tiles are cached, in milliseconds, and how many bytes are cached at most. Clients request the channels of a tile at
 * about the same time.
 */
const cacheLifetimeMs = 5000;
const maxCachedBytes = 96 * 2 ** 20;

/** Caches decoded tiles for a moment, so that a tile is decoded only once for the chunks of all its channels. */
export class DecodedTileCache {
  readonly #rasters = new LRUCache<string, Raster>({
    maxSize: maxCachedBytes,
    ttl: cacheLifetimeMs,
    sizeCalculation: ({ data }) => data.byteLength + 1024,
  });
  readonly #readsInProgress = new SharedWork<Raster>();

  /**
   * The samples of all bands of a chunk.
   *
   * @param state names the image and its state.
   * @param makeReadBox returns a function that reads a box until the signal is aborted.
   */
  async readChunk(
    image: ArrayImage,
    { state, frame, level, row, column }: { state: string; frame: number; level: number; row: number; column: number },
    makeReadBox: (signal: AbortSignal) => ReadBox,
    signal: AbortSignal,
  ): Promise<Raster> {
    const { metadata, chunkSide, levels } = image;
    const size = levels[level]!;
    const box = clipToLevel(size, { left: column * chunkSide, top: row * chunkSide, width: chunkSide, height: chunkSide });
    const sourceLevel = sourceLevelOf(image, level);
    const readCachedBox = (boxToRead: Box): Promise<Raster> => {
      const boxKey = `${state}/${frame}/${sourceLevel}/${boxToRead.left}/${boxToRead.top}/${boxToRead.width}`;
      const cachedRaster = this.#rasters.get(boxKey);
      if (cachedRaster !== undefined) return Promise.resolve(cachedRaster);
      return this.#readsInProgress.join(
        boxKey,
        async (sharedSignal) => {
          const raster = await makeReadBox(sharedSignal)({ frame, level: sourceLevel, box: boxToRead });
          this.#rasters.set(boxKey, raster);
          return raster;
        },
        signal,
      );
    };
    const { tileWidth, tileHeight } = metadata;
    // If a tile is larger than chunks, the whole tile is cached, and several chunks are cut out of it.
    const cutsChunksFromTiles =
      sourceLevel >= 0 && tileWidth >= chunkSide && tileHeight >= chunkSide && (tileWidth > chunkSide || tileHeight > chunkSide);
    if (!cutsChunksFromTiles) return readCachedBox(box);
    const target = createRaster({ ...box, bands: metadata.bandCount, dtype: metadata.dtype });
    for (let y = Math.floor(box.top / tileHeight); y * tileHeight < box.top + box.height; y += 1) {
      for (let x = Math.floor(box.left / tileWidth); x * tileWidth < box.left + box.width; x += 1) {
        const tile = { left: x * tileWidth, top: y * tileHeight, width: tileWidth, height: tileHeight };
        const raster = await readCachedBox(clipToLevel(size, tile));
        blit(target, raster, { left: tile.left - box.left, top: tile.top - box.top });
      }
    }
    return target;
  }
}

/** The part of a box that is inside a level. */
function clipToLevel(size: { width: number; height: number }, { left, top, width, height }: Box): Box {
  return { left, top, width: Math.min(width, size.width - left), height: Math.min(height, size.height - top) };
}
