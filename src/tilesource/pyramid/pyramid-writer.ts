import type { Box, Size } from '../geometry.js';
import { blit } from '../render/pixels.js';
import { createRaster, type Raster, type SampleType } from '../raster.js';
import type { DirectoryPlan, TiffContainer } from './container.js';
import { halve } from './halve.js';
import { halfSize, levelDirectories, createLevel, TileQueue, type Level } from './levels.js';

/** The image from which a pyramid is made. */
export interface BlockImage extends Size {
  bands: number;
  dtype: SampleType;
  /** Returns the samples of a rectangle. */
  read(box: Box): Promise<Raster>;
}

/** Options for writing a pyramid. */
export interface PyramidOptions {
  /** Side of a tile in pixels: a multiple of 16. */
  tileSide: number;
  /** Side in pixels of the blocks that are read and halved: a multiple of twice the tile side. */
  blockSide: number;
  /**
   * Whether a reduced pixel is the first of four pixels instead of their mean, for labels and other values that must not be mixed.
   */
  nearest: boolean;
  /** The sample that stands for a missing value. It is left out of the mean. */
  nodata?: number | null;
  /** If set, only this many reduced levels are written, without the image itself. By default, all levels are written. */
  reducedLevelCount?: number | undefined;
  /** Encodes a tile. Tiles at the right and bottom are padded to full size. */
  encode(tile: Raster): Promise<Uint8Array> | Uint8Array;
  /** Called with the number of pixels of the image that have been read so far. */
  onProgress?(pixels: number): void;
  signal?: AbortSignal | undefined;
}

/**
 * Builds the levels of a pyramid block by block, and appends tiles to a file as they are made. A block is made from four blocks of
 * the next finer level. The recursion begins at the coarsest level, so it needs only the memory of a few blocks per level.
 */
export class PyramidWriter {
  readonly #image: BlockImage;
  readonly #options: PyramidOptions;
  /** The levels by the number of halvings. Index 0 is the image itself. */
  readonly #levels: Level[] = [];
  readonly #queue: TileQueue;
  #donePixels = 0;

  constructor(container: TiffContainer, image: BlockImage, options: PyramidOptions) {
    this.#image = image;
    this.#options = options;
    this.#queue = new TileQueue(container, (tile) => options.encode(tile));
    const { tileSide } = options;
    let size: Size = { width: image.width, height: image.height };
    for (;;) {
      this.#levels.push(createLevel(size, tileSide));
      if (this.#levels.length === (options.reducedLevelCount ?? Infinity) + 1) break;
      if (size.width <= tileSide && size.height <= tileSide) break;
      size = halfSize(size);
    }
  }

  /**
   * Writes the tiles of every level.
   *
   * @returns a directory for each level, finest first, with the tags that all tiled TIFFs need.
   */
  async write(): Promise<DirectoryPlan[]> {
    await this.#buildBlock(this.#levels.length - 1, 0, 0);
    await this.#queue.settle();
    this.#queue.throwIfFailed();
    const { reducedLevelCount, tileSide } = this.#options;
    return reducedLevelCount === undefined
      ? levelDirectories(this.#levels, tileSide)
      : levelDirectories(this.#levels.slice(1), tileSide, 1);
  }

  /** Makes a block of a level from blocks of the next finer level, and writes the tiles of all these blocks. */
  async #buildBlock(halvings: number, column: number, row: number): Promise<Raster> {
    this.#options.signal?.throwIfAborted();
    this.#queue.throwIfFailed();
    const { blockSide, nearest, nodata = null } = this.#options;
    const level = this.#levelAt(halvings);
    const box: Box = {
      left: column * blockSide,
      top: row * blockSide,
      width: Math.min(blockSide, level.width - column * blockSide),
      height: Math.min(blockSide, level.height - row * blockSide),
    };
    let block: Raster;
    if (halvings === 0) {
      block = await this.#image.read(box);
      this.#donePixels += box.width * box.height;
      this.#options.onProgress?.(this.#donePixels);
    } else {
      const { bands, dtype } = this.#image;
      block = createRaster({ width: box.width, height: box.height, bands, dtype });
      const finerLevel = this.#levelAt(halvings - 1);
      for (const y of childBlocks(row, level.height, finerLevel.height, blockSide)) {
        for (const x of childBlocks(column, level.width, finerLevel.width, blockSide)) {
          const child = await this.#buildBlock(halvings - 1, x, y);
          const position = { left: ((x - column * 2) * blockSide) / 2, top: ((y - row * 2) * blockSide) / 2 };
          blit(block, await halve(child, { nearest, nodata }), position);
        }
      }
    }
    if (halvings > 0 || this.#options.reducedLevelCount === undefined) await this.#writeTiles(level, box, block);
    return block;
  }

  #levelAt(halvings: number): Level {
    const level = this.#levels[halvings];
    if (!level) throw new RangeError(`No level after ${halvings} halvings`);
    return level;
  }

  async #writeTiles(level: Level, box: Box, block: Raster): Promise<void> {
    const { tileSide } = this.#options;
    for (let top = 0; top < box.height; top += tileSide) {
      for (let left = 0; left < box.width; left += tileSide) {
        const tileIndex = ((box.top + top) / tileSide) * level.columns + (box.left + left) / tileSide;
        const tile = createRaster({ ...block, width: tileSide, height: tileSide });
        blit(tile, block, { left: 0, top: 0 }, { left, top, width: tileSide, height: tileSide });
        await this.#queue.add(level, tileIndex, tile);
      }
    }
  }
}

/**
 * Columns (or rows) of the blocks of the next finer level from which a block is made: usually two. Halving an odd size drops the
 * last pixel. If that pixel is a block of its own, it becomes the third child of the last coarser block, so that its tile is still
 * written.
 */
function childBlocks(block: number, levelSide: number, finerSide: number, blockSide: number): number[] {
  const isLast = block === Math.ceil(levelSide / blockSide) - 1;
  const finerBlocks = Math.ceil(finerSide / blockSide);
  const end = isLast ? finerBlocks : Math.min(finerBlocks, block * 2 + 2);
  return Array.from({ length: end - block * 2 }, (_, index) => block * 2 + index);
}
