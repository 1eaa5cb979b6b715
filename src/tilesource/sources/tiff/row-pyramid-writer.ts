import { nextSlice } from '../../../core/concurrency/slices.js';
import type { Size } from '../../geometry.js';
import { blit } from '../../render/pixels.js';
import { createRaster, type Raster, type SampleType } from '../../raster.js';
import type { DirectoryPlan, TiffContainer } from '../../pyramid/container.js';
import { halve } from '../../pyramid/halve.js';
import { halfSize, levelDirectories, createLevel, TileQueue, type Level } from '../../pyramid/levels.js';

/** A level with its current row of tiles, which is being filled. */
interface FillingLevel extends Level {
  /** The pixels of the current row of tiles. */
  pixels: Raster;
  /** Number of rows of pixels in the current row of tiles. */
  filledRows: number;
  /** Number of rows of pixels that are already written. */
  writtenRows: number;
}

/**
 * Builds the levels of a pyramid from rows of pixels that are added from top to bottom. Memory is bounded by two rows of tiles of
 * the full width, and does not depend on the height of the image.
 */
export class RowPyramidWriter {
  readonly #tileSide: number;
  readonly #levels: FillingLevel[] = [];
  readonly #queue: TileQueue;
  readonly #nodata: number | null;

  /**
   * @param shape size and samples of the image; `nodata` is the sample that means no value, and `levelCount` the number of levels to make,
   * whatever their size.
   */
  constructor(
    container: TiffContainer,
    shape: Size & { bands: number; dtype: SampleType; levelCount: number; nodata: number | null },
    options: { tileSide: number; encode: (tile: Raster) => Promise<Uint8Array> | Uint8Array },
  ) {
    this.#tileSide = options.tileSide;
    this.#nodata = shape.nodata;
    this.#queue = new TileQueue(container, options.encode);
    let size: Size = shape;
    for (let count = 0; count < shape.levelCount; count += 1, size = halfSize(size)) {
      const height = Math.min(size.height, options.tileSide);
      const pixels = createRaster({ width: size.width, height, bands: shape.bands, dtype: shape.dtype });
      this.#levels.push({ ...createLevel(size, options.tileSide), pixels, filledRows: 0, writtenRows: 0 });
    }
  }

  /** Adds the next rows of the full-resolution image. */
  async addRows(rows: Raster): Promise<void> {
    await this.#addToLevel(0, rows);
  }

  /** Finishes the levels after the last row. @returns a directory for each level, finest first. */
  async finish(): Promise<DirectoryPlan[]> {
    await this.settle();
    this.#queue.throwIfFailed();
    return levelDirectories(this.#levels, this.#tileSide);
  }

  /** Waits until no tile is being written. Must be called before the file is closed, also after an error. */
  async settle(): Promise<void> {
    await this.#queue.settle();
  }

  async #addToLevel(index: number, rows: Raster): Promise<void> {
    const level = this.#levels[index];
    if (level === undefined) return;
    for (let copiedRows = 0; copiedRows < rows.height && level.writtenRows < level.height;) {
      const height = Math.min(
        rows.height - copiedRows,
        level.pixels.height - level.filledRows,
        level.height - level.writtenRows - level.filledRows,
      );
      blit(level.pixels, rows, { left: 0, top: level.filledRows }, { left: 0, top: copiedRows, width: rows.width, height });
      copiedRows += height;
      level.filledRows += height;
      const isLast = level.writtenRows + level.filledRows === level.height;
      if (level.filledRows === this.#tileSide || isLast) await this.#writeTileRow(index, level);
    }
  }

  /** Writes the current row of tiles, and passes its half-size copy to the next level. */
  async #writeTileRow(index: number, level: FillingLevel): Promise<void> {
    const side = this.#tileSide;
    const next = this.#levels[index + 1];
    const { pixels, filledRows } = level;
    const halfRows = next && createRaster({ ...pixels, width: next.width, height: Math.max(1, Math.floor(filledRows / 2)) });
    for (let column = 0; column < level.columns; column += 1) {
      this.#queue.throwIfFailed();
      const left = column * side;
      const tile = createRaster({ ...pixels, width: side, height: side });
      blit(tile, pixels, { left: 0, top: 0 }, { left, top: 0, width: side, height: filledRows });
      await this.#queue.add(level, (level.writtenRows / side) * level.columns + column, tile);
      if (halfRows) {
        const visiblePart = createRaster({ ...pixels, width: Math.min(side, level.width - left), height: filledRows });
        blit(visiblePart, tile, { left: 0, top: 0 });
        blit(halfRows, await halve(visiblePart, { nodata: this.#nodata }), { left: left / 2, top: 0 });
      }
      // Lets other work use the event loop.
      await nextSlice();
    }
    level.writtenRows += filledRows;
    level.filledRows = 0;
    if (halfRows) await this.#addToLevel(index + 1, halfRows);
  }
}
