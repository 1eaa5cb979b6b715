import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { CorruptTileError } from '../../errors.js';
import { boxAtLevel, levelScale, type Box } from '../geometry.js';
import type { Raster } from '../raster.js';
import type { LevelBox } from '../render/compose.js';
import { CorruptTiles } from '../render/corrupt-tiles.js';
import { cutOut } from '../render/pixels.js';
import { asStored, type Appearance } from '../render/appearance.js';
import type { Renderer } from '../render/renderer.js';
import { extremeBoxes, measuredBoxes, searchLevel, tileBoxes, type MeasuredSamples } from './measured-samples.js';

/** Number of tiles that are read at the same time. */
const tilesAtOnce = 2;

/** Samples of a rectangle of the finest level, picked and not mixed. They are colors if the appearance has a style. */
export async function measureSamples(
  renderer: Renderer,
  { base, frame }: { base: Box; frame: number },
  appearance: Appearance,
  signal?: AbortSignal,
): Promise<MeasuredSamples> {
  const { metadata, populatedLevels } = renderer;
  const finestSamples = new FinestSamples(renderer, frame, appearance, signal);
  const boxes = measuredBoxes(metadata, base);
  const samples = await finestSamples.read(boxes);
  // The smallest sample need not have the smallest color.
  const level = boxes[0] === base || appearance.style ? null : searchLevel(metadata, populatedLevels, base);
  if (level === null) return { samples, extremes: [] };
  let coarse: Raster;
  try {
    coarse = await renderer.readSamples({ level, frame, box: boxAtLevel(metadata, base, level) }, asStored, signal);
  } catch (error) {
    // The coarser level is only used to find more extremes.
    if (error instanceof CorruptTileError) return { samples, extremes: [] };
    throw error;
  }
  const furtherBoxes = await extremeBoxes(metadata, base, coarse, levelScale(metadata, level));
  return { samples, extremes: await finestSamples.read(furtherBoxes) };
}

/** Reads samples of the finest level of a frame, and leaves out corrupt tiles. */
class FinestSamples {
  constructor(
    private readonly renderer: Renderer,
    private readonly frame: number,
    private readonly appearance: Appearance,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** @throws CorruptTileError if all tiles are corrupt. */
  async read(boxes: readonly Box[]): Promise<Raster[]> {
    const rasterLists = await mapConcurrently(boxes, tilesAtOnce, async (box) => {
      const raster = await this.#readBox(box);
      if (!(raster instanceof CorruptTileError)) return [raster];
      const tiles = await mapConcurrently(tileBoxes(this.renderer.metadata, box), tilesAtOnce, async (tile) => {
        const part = await this.#readBox(tile);
        return part instanceof CorruptTileError ? [...(await this.#intactParts(tile)), part] : [part];
      });
      return tiles.flat();
    });
    const rasters = rasterLists.flat().filter((each): each is Raster => !(each instanceof CorruptTileError));
    const failure = rasterLists.flat().find((each) => each instanceof CorruptTileError);
    if (rasters.length === 0 && failure !== undefined) throw failure;
    return rasters;
  }

  async #readBox(box: Box): Promise<Raster | CorruptTileError> {
    this.signal?.throwIfAborted();
    try {
      return await this.#readSamples(box);
    } catch (error) {
      if (error instanceof CorruptTileError) return error;
      throw error;
    }
  }

  /** The parts of a tile that are not corrupt. */
  async #intactParts(tile: Box): Promise<Raster[]> {
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
