import type { Box, Size } from '../geometry.js';
import { blit } from '../pixels.js';
import { createRaster, type Raster } from '../raster.js';
import { tagOf, type DirectoryPlan, type Tag, type TiffContainer } from './container.js';

/** What a pyramid is made of: a picture that can be read block by block. */
export interface BlockImage extends Size {
  bands: number;
  dtype: 'uint8' | 'uint16';
  read(box: Box): Promise<Raster>;
}

/** How a pyramid is written. */
export interface PyramidOptions {
  /** Side of a tile in pixels: a multiple of 16. */
  tileSide: number;
  /** Side in pixels of what is read and reduced at once: a multiple of twice the tile side. */
  blockSide: number;
  /** Whether a reduced pixel is the first of four, not their mean: for labels and other values that must not be mixed. */
  nearest: boolean;
  /** Makes the bytes of a tile, which is always of full size. */
  encode(tile: Raster): Promise<Uint8Array> | Uint8Array;
  /** Called with the pixels of the full size that are done. */
  progress?(pixels: number): void;
  signal?: AbortSignal | undefined;
}

interface Level extends Size {
  columns: number;
  offsets: Float64Array;
  lengths: Float64Array;
}

/** Bytes of uncompressed tiles that may wait for being written. */
const waitingBytes = 2 ** 25;

/**
 * Builds the levels of a pyramid from blocks, finest first, and appends their tiles to a file as they come. Memory is bounded by
 * the block size and the number of levels, not by the size of the picture.
 */
export class PyramidWriter {
  readonly #container: TiffContainer;
  readonly #image: BlockImage;
  readonly #options: PyramidOptions;
  readonly #levels: Level[] = [];
  readonly #writing = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;
  #done = 0;

  constructor(container: TiffContainer, image: BlockImage, options: PyramidOptions) {
    this.#container = container;
    this.#image = image;
    this.#options = options;
    const { tileSide } = options;
    let { width, height } = image;
    for (;;) {
      const columns = Math.ceil(width / tileSide);
      const tiles = columns * Math.ceil(height / tileSide);
      this.#levels.push({ width, height, columns, offsets: new Float64Array(tiles), lengths: new Float64Array(tiles) });
      if (width <= tileSide && height <= tileSide) break;
      width = Math.max(1, Math.floor(width / 2));
      height = Math.max(1, Math.floor(height / 2));
    }
  }

  /** Writes the tiles of every level. @returns one directory for each, the finest first, with what all TIFFs of tiles need. */
  async write(): Promise<DirectoryPlan[]> {
    await this.#build(this.#levels.length - 1, 0, 0);
    await Promise.all(this.#writing);
    if (this.#failure !== null) throw this.#failure.error;
    const { tileSide } = this.#options;
    return this.#levels.map(({ width, height, offsets, lengths }, level): DirectoryPlan => {
      const tags: Tag[] = [
        tagOf.long(254, level === 0 ? 0 : 1),
        tagOf.long(256, width),
        tagOf.long(257, height),
        tagOf.short(284, 1),
        tagOf.long(322, tileSide),
        tagOf.long(323, tileSide),
      ];
      return { tags, chunks: { kind: 'tiles', offsets, lengths } };
    });
  }

  /** Makes a block of a level, from the blocks of the finer level below it, and writes the tiles of all of them. */
  async #build(level: number, column: number, row: number): Promise<Raster> {
    this.#options.signal?.throwIfAborted();
    if (this.#failure !== null) throw this.#failure.error;
    const { blockSide, nearest } = this.#options;
    const size = this.#level(level);
    const box: Box = {
      left: column * blockSide,
      top: row * blockSide,
      width: Math.min(blockSide, size.width - column * blockSide),
      height: Math.min(blockSide, size.height - row * blockSide),
    };
    let block: Raster;
    if (level === 0) {
      block = await this.#image.read(box);
      this.#done += box.width * box.height;
      this.#options.progress?.(this.#done);
    } else {
      const { bands, dtype } = this.#image;
      block = createRaster({ width: box.width, height: box.height, bands, dtype });
      const finer = this.#level(level - 1);
      for (const y of childBlocks(row, size.height, finer.height, blockSide)) {
        for (const x of childBlocks(column, size.width, finer.width, blockSide)) {
          const child = await this.#build(level - 1, x, y);
          const at = { left: ((x - column * 2) * blockSide) / 2, top: ((y - row * 2) * blockSide) / 2 };
          blit(block, halve(child, nearest), at);
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

  async #writeTiles(level: Level, box: Box, block: Raster): Promise<void> {
    const { tileSide } = this.#options;
    for (let top = 0; top < box.height; top += tileSide) {
      for (let left = 0; left < box.width; left += tileSide) {
        const index = ((box.top + top) / tileSide) * level.columns + (box.left + left) / tileSide;
        const tile = createRaster({ ...block, width: tileSide, height: tileSide });
        blit(tile, block, { left: 0, top: 0 }, { left, top, width: tileSide, height: tileSide });
        const writing: Promise<void> = this.#writeTile(level, index, tile)
          .catch((error: unknown) => {
            this.#failure ??= { error };
          })
          .finally(() => this.#writing.delete(writing));
        this.#writing.add(writing);
        // Reading goes on while tiles are encoded, but not without limit.
        while (this.#writing.size > 0 && (this.#writing.size + 1) * tile.data.byteLength > waitingBytes) {
          await Promise.race(this.#writing);
        }
      }
    }
  }

  async #writeTile(level: Level, index: number, tile: Raster): Promise<void> {
    const bytes = await this.#options.encode(tile);
    level.offsets[index] = await this.#container.append(bytes);
    level.lengths[index] = bytes.length;
  }
}

/** Blocks of the finer level below a block. The last one also takes those that only hold what halving drops. */
function childBlocks(block: number, size: number, finerSize: number, blockSide: number): number[] {
  const last = block === Math.ceil(size / blockSide) - 1;
  const children = Math.ceil(finerSize / blockSide);
  const end = last ? children : Math.min(children, block * 2 + 2);
  return Array.from({ length: end - block * 2 }, (_, position) => block * 2 + position);
}

/** Half the size: each pixel the mean of four, or the first of them. An odd last row or column is dropped. */
export function halve(raster: Raster, nearest: boolean): Raster {
  const { bands, data } = raster;
  const width = Math.max(1, Math.floor(raster.width / 2));
  const height = Math.max(1, Math.floor(raster.height / 2));
  const out = createRaster({ ...raster, width, height });
  const to = out.data;
  const right = raster.width > 1 ? bands : 0;
  const down = raster.height > 1 ? raster.width * bands : 0;
  let at = 0;
  for (let y = 0; y < height; y += 1) {
    let from = y * 2 * raster.width * bands;
    for (let x = 0; x < width; x += 1) {
      for (let band = 0; band < bands; band += 1, from += 1) {
        const first = data[from] ?? 0;
        to[at++] = nearest
          ? first
          : (first + (data[from + right] ?? 0) + (data[from + down] ?? 0) + (data[from + right + down] ?? 0) + 2) >> 2;
      }
      from += bands;
    }
  }
  return out;
}
