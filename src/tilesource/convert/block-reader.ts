import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import type { ImageMetadata, TileSource } from '../tile-source.js';
import type { Box } from '../geometry.js';
import { tileError } from '../render/corrupt-tiles.js';
import { blit } from '../render/pixels.js';
import { createRaster, type Raster } from '../raster.js';
import { convertSamples, type SampleMapping } from './samples.js';

/**
 * Smallest and largest side of a block in pixels. Sides between these are tried until one is a multiple of the sides of the
 * source's tiles.
 */
const minBlockSide = 1024;
const maxBlockSide = 2048;

/**
 * Reads rectangles of one level of a frame from the tiles of a source, and converts their samples. The default level is full
 * resolution.
 */
export class BlockReader {
  constructor(
    private readonly source: TileSource,
    private readonly frame: number,
    private readonly mapping: SampleMapping,
    private readonly concurrency: number,
    private readonly level: number = source.metadata.levels - 1,
  ) {}

  /**
   * Side of the blocks to read, in pixels: a multiple of twice `tileSide`, the side of an output tile. If possible, it is also a
   * multiple of the sides of the source's tiles, so that no source tile is decoded for two blocks.
   */
  static chooseBlockSide({ tileWidth, tileHeight }: ImageMetadata, tileSide: number): number {
    const step = 2 * tileSide;
    for (let side = Math.ceil(minBlockSide / step) * step; side <= maxBlockSide; side += step) {
      if (side % tileWidth === 0 && side % tileHeight === 0) return side;
    }
    return Math.ceil(minBlockSide / step) * step;
  }

  async read(box: Box): Promise<Raster> {
    const { tileWidth, tileHeight, bandCount } = this.source.metadata;
    const positions: { x: number; y: number }[] = [];
    for (let y = Math.floor(box.top / tileHeight); y * tileHeight < box.top + box.height; y += 1) {
      for (let x = Math.floor(box.left / tileWidth); x * tileWidth < box.left + box.width; x += 1) positions.push({ x, y });
    }
    const block = createRaster({ width: box.width, height: box.height, bands: bandCount, dtype: this.mapping.dtype });
    await mapConcurrently(positions, Math.max(2, this.concurrency), async ({ x, y }) => {
      const address = { level: this.level, x, y, frame: this.frame };
      const tile = await this.source.readTile(address).catch((error: unknown) => {
        throw tileError(error, address);
      });
      // A tile may be far larger than the block, so only the tile's part inside the block is converted.
      const left = Math.max(0, box.left - x * tileWidth);
      const top = Math.max(0, box.top - y * tileHeight);
      const tilePart = {
        left,
        top,
        width: Math.min(tile.width - left, box.width),
        height: Math.min(tile.height - top, box.height),
      };
      if (tilePart.width <= 0 || tilePart.height <= 0) return;
      const blockPosition = { left: x * tileWidth + left - box.left, top: y * tileHeight + top - box.top };
      if (this.mapping.convert === null) return blit(block, tile, blockPosition, tilePart);
      const cutTile = createRaster({ ...tile, width: tilePart.width, height: tilePart.height });
      blit(cutTile, tile, { left: 0, top: 0 }, tilePart);
      blit(block, convertSamples(cutTile, this.mapping), blockPosition);
    });
    return block;
  }
}
