import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { CorruptTileError } from '../../errors.js';
import { boxAtLevel, levelScale, type Box } from '../geometry.js';
import type { Raster } from '../raster.js';
import type { LevelBox } from '../render/compose.js';
import { CorruptTiles } from '../render/corrupt-tiles.js';
import { cutOut } from '../render/pixels.js';
import { asStored, type Appearance } from '../render/appearance.js';
import type { Renderer } from '../render/renderer.js';
import { findExtremeBoxes, levelToSearch, selectBoxes, splitByTiles, type MeasuredSamples } from './sample-selection.js';

/** Number of tiles that are read at the same time. */
const tilesAtOnce = 2;

/**
 * Reads samples of a region at the finest level: all samples of a small region, and those of some tiles of a large region. Samples
 * are never averaged. If the appearance has a style, colors are read instead.
 */
export async function measureSamples(
  renderer: Renderer,
  { region, frame }: { region: Box; frame: number },
  appearance: Appearance,
  signal?: AbortSignal,
): Promise<MeasuredSamples> {
  const { metadata, populatedLevels } = renderer;
  const reader = new FinestSampleReader(renderer, frame, appearance, signal);
  const boxes = selectBoxes(metadata, region);
  const samples = await reader.read(boxes);
  // With a style, the smallest sample need not have the smallest color.
  const level = boxes[0] === region || appearance.style ? null : levelToSearch(metadata, populatedLevels, region);
  if (level === null) return { samples, extremes: [] };
  let coarseRaster: Raster;
  try {
    coarseRaster = await renderer.readSamples({ level, frame, box: boxAtLevel(metadata, region, level) }, asStored, signal);
  } catch (error) {
    // The coarser level is not essential, because it is only used to find more extremes.
    if (error instanceof CorruptTileError) return { samples, extremes: [] };
    throw error;
  }
  const furtherBoxes = await findExtremeBoxes(metadata, region, coarseRaster, levelScale(metadata, level));
  return { samples, extremes: await reader.read(furtherBoxes) };
}

/** Reads samples of the finest level of a frame, and leaves out corrupt tiles. */
class FinestSampleReader {
  constructor(
    private readonly renderer: Renderer,
    private readonly frame: number,
    private readonly appearance: Appearance,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** @throws CorruptTileError if all tiles are corrupt. */
  async read(boxes: readonly Box[]): Promise<Raster[]> {
    const resultsByBox = await mapConcurrently(boxes, tilesAtOnce, async (box) => {
      const rasterOrError = await this.#readBox(box);
      if (!(rasterOrError instanceof CorruptTileError)) return [rasterOrError];
      const resultsByTile = await mapConcurrently(splitByTiles(this.renderer.metadata, box), tilesAtOnce, async (tile) => {
        const result = await this.#readBox(tile);
        return result instanceof CorruptTileError ? [...(await this.#readIntactParts(tile)), result] : [result];
      });
      return resultsByTile.flat();
    });
    const results = resultsByBox.flat();
    const rasters = results.filter((result): result is Raster => !(result instanceof CorruptTileError));
    const error = results.find((result) => result instanceof CorruptTileError);
    if (rasters.length === 0 && error !== undefined) throw error;
    return rasters;
  }

  /** Returns the error of a corrupt tile instead of throwing it. */
  async #readBox(box: Box): Promise<Raster | CorruptTileError> {
    this.signal?.throwIfAborted();
    try {
      return await this.#readSamples(box);
    } catch (error) {
      if (error instanceof CorruptTileError) return error;
      throw error;
    }
  }

  /** Reads the parts of a tile that are not corrupt. */
  async #readIntactParts(tile: Box): Promise<Raster[]> {
    const corrupt = new CorruptTiles();
    const raster = await this.#readSamples(tile, corrupt);
    return corrupt.intactBoxes(tile).map((box) => cutOut(raster, box));
  }

  #readSamples(box: Box, corrupt?: CorruptTiles): Promise<Raster> {
    const { renderer, appearance } = this;
    const levelBox: LevelBox = { level: renderer.metadata.levels - 1, frame: this.frame, box, corrupt };
    return appearance.style
      ? renderer.renderBox(levelBox, appearance, this.signal)
      : renderer.readSamples(levelBox, appearance, this.signal);
  }
}
