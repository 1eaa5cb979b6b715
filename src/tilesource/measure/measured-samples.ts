import { forEachRange } from '../../core/concurrency/slices.js';
import { levelScale, type Box, type PyramidShape, type Size } from '../geometry.js';
import { bitsOf, createRaster, type Raster } from '../raster.js';
import { resizeNearest } from '../render/pixels.js';

/** Samples from which the statistics of a rectangle of the finest level are estimated. */
export interface MeasuredSamples {
  /** The samples of the {@link measuredBoxes}. */
  samples: readonly Raster[];
  /** Further samples that probably contain the smallest and the largest one; empty if `samples` are all samples of the rectangle. */
  extremes: readonly Raster[];
}

/** Maximum number of pixels that are read for statistics. A rectangle with more pixels is sampled. */
const maxMeasuredPixels = 2 ** 22;

/** Maximum number of samples that are read for statistics, over all bands. */
const maxMeasuredSamples = 2 ** 26;

/** Minimum number of tiles read from a large rectangle, even if they have more pixels than the limit. */
const minTiles = 4;

/** Maximum number of pixels of a stored coarser level that are searched for the positions of the extremes. */
const maxSearchedPixels = 2 ** 19;

/** Number of samples that are processed between two checks of the time. */
const samplesAtOnce = 65_536;

/** Maximum number of tiles that are read for the minimum of a band, and for its maximum. */
const maxTilesPerExtreme = 3;
/** Maximum number of tiles that are read for the extremes of all bands. */
const maxExtremeTiles = 24;

/**
 * The rectangles whose samples stand for those of `base`, a rectangle of the finest level: `base` itself if it is small enough,
 * otherwise evenly spaced tiles in it. Coarser levels cannot be used, because their pixels may be means of several samples.
 */
export function measuredBoxes(shape: PyramidShape & { bandCount: number }, base: Box): Box[] {
  const limit = Math.min(maxMeasuredPixels, Math.floor(maxMeasuredSamples / shape.bandCount));
  if (base.width * base.height <= limit) return [base];
  const { left, top, columns, rows } = tileRange(shape, base);
  const count = Math.max(minTiles, Math.floor(limit / (shape.tileWidth * shape.tileHeight)));
  const wide = Math.min(columns, Math.max(1, Math.round(Math.sqrt((count * columns) / rows))));
  const down = Math.min(rows, Math.max(1, Math.floor(count / wide)));
  const across = Math.min(columns, Math.max(1, Math.floor(count / down)));
  const boxes: Box[] = [];
  for (let row = 0; row < down; row += 1) {
    for (let column = 0; column < across; column += 1) {
      const x = left + Math.floor(((column + 0.5) * columns) / across);
      const y = top + Math.floor(((row + 0.5) * rows) / down);
      boxes.push(tileBox(shape, base, x, y));
    }
  }
  return boxes;
}

/** The parts of a rectangle of the finest level that are in each of its tiles. */
export function tileBoxes(shape: PyramidShape, base: Box): Box[] {
  const { left, top, columns, rows } = tileRange(shape, base);
  return Array.from({ length: columns * rows }, (_, index) =>
    tileBox(shape, base, left + (index % columns), top + Math.floor(index / columns)),
  );
}

/** The finest stored level that is small enough to be searched for the positions of the extremes; `null` if there is none. */
export function searchLevel(shape: PyramidShape, populated: readonly number[], base: Box): number | null {
  const small = populated.filter((level) => {
    const scale = levelScale(shape, level);
    return scale > 1 && (base.width / scale) * (base.height / scale) <= maxSearchedPixels;
  });
  return small.at(-1) ?? null;
}

/**
 * Tiles of the finest level that probably contain the smallest and largest samples, because a coarser level has its extremes there.
 *
 * @param coarse the whole rectangle as read from the coarser level.
 * @param scale side of one of its pixels, in pixels of the finest level.
 */
export async function extremeBoxes(shape: PyramidShape, base: Box, coarse: Raster, scale: number): Promise<Box[]> {
  const { left, top, columns, rows } = tileRange(shape, base);
  const { data, width, height, bands } = coarse;
  const columnOf = Uint32Array.from({ length: width }, (_, x) =>
    Math.min(columns - 1, Math.floor((base.left + x * scale) / shape.tileWidth) - left),
  );
  const chosen = new Set<number>();
  const rowsAtOnce = Math.max(1, Math.floor(samplesAtOnce / width));
  for (let band = 0; band < bands && chosen.size < maxExtremeTiles; band += 1) {
    const lows = new Float64Array(columns * rows).fill(Infinity);
    const highs = new Float64Array(columns * rows).fill(-Infinity);
    await forEachRange(height, rowsAtOnce, (from, until) => {
      for (let y = from; y < until; y += 1) {
        const row = Math.min(rows - 1, Math.floor((base.top + y * scale) / shape.tileHeight) - top) * columns;
        for (let x = 0; x < width; x += 1) {
          const tile = row + columnOf[x]!;
          const sample = data[(y * width + x) * bands + band]!;
          if (sample < lows[tile]!) lows[tile] = sample;
          if (sample > highs[tile]!) highs[tile] = sample;
        }
      }
    });
    for (const tile of await indexesOfSmallest(lows, 1)) chosen.add(tile);
    for (const tile of await indexesOfSmallest(highs, -1)) chosen.add(tile);
  }
  return [...chosen]
    .slice(0, maxExtremeTiles)
    .map((tile) => tileBox(shape, base, left + (tile % columns), top + Math.floor(tile / columns)));
}

/** Indexes of the {@link maxTilesPerExtreme} smallest values, the smallest first. With sign -1: indexes of the largest values, the largest first. */
async function indexesOfSmallest(values: Float64Array, sign: 1 | -1): Promise<number[]> {
  const smallest: number[] = [];
  /** A value must be below this to be among the smallest. */
  let limit = Infinity;
  await forEachRange(values.length, samplesAtOnce, (from, until) => {
    for (let at = from; at < until; at += 1) {
      const value = sign * values[at]!;
      // Tiles without samples have the value Infinity (times the sign). Infinity and NaN are not below any limit.
      if (!(value < limit) || value === -Infinity) continue;
      const position = smallest.findIndex((other) => value < sign * values[other]!);
      smallest.splice(position < 0 ? smallest.length : position, 0, at);
      if (smallest.length > maxTilesPerExtreme) smallest.pop();
      if (smallest.length === maxTilesPerExtreme) limit = sign * values[smallest.at(-1)!]!;
    }
  });
  return smallest;
}

/** Columns and rows of the tiles of the finest level that a rectangle overlaps. */
function tileRange(shape: PyramidShape, base: Box) {
  const left = Math.floor(base.left / shape.tileWidth);
  const top = Math.floor(base.top / shape.tileHeight);
  return {
    left,
    top,
    columns: Math.ceil((base.left + base.width) / shape.tileWidth) - left,
    rows: Math.ceil((base.top + base.height) / shape.tileHeight) - top,
  };
}

/** The intersection of a rectangle with a tile. */
function tileBox(shape: PyramidShape, base: Box, x: number, y: number): Box {
  const left = Math.max(base.left, x * shape.tileWidth);
  const top = Math.max(base.top, y * shape.tileHeight);
  const width = Math.min(base.left + base.width, (x + 1) * shape.tileWidth) - left;
  const height = Math.min(base.top + base.height, (y + 1) * shape.tileHeight) - top;
  return { left, top, width, height };
}

/**
 * Picks evenly spaced pixels, as many as an image of this size has; all pixels if the size has more.
 *
 * @param rasters of the {@link measuredBoxes} of a rectangle.
 */
export async function pickSamples(rasters: readonly Raster[], size: Size): Promise<readonly Raster[]> {
  const [only] = rasters;
  if (only && rasters.length === 1) {
    const { width, height } = only;
    return [await resizeNearest(only, { width: Math.min(width, size.width), height: Math.min(height, size.height) })];
  }
  const total = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const count = size.width * size.height;
  if (!only || count >= total) return rasters;
  const { bands } = only;
  const picked = createRaster({ ...only, width: count, height: 1 });
  const picks = bitsOf(picked.data);
  let first = 0;
  let to = 0;
  for (const { data, width, height } of rasters) {
    const samples = bitsOf(data);
    const end = first + width * height;
    // Picks before this index come from this raster or from those before it.
    const last = Math.min(count, Math.ceil((end * count) / total - 0.5));
    const [start, before] = [to, first];
    await forEachRange(last - start, samplesAtOnce, (from, until) => {
      for (let pick = start + from; pick < start + until; pick += 1) {
        const at = (Math.min(end - 1, Math.floor(((pick + 0.5) * total) / count)) - before) * bands;
        for (let band = 0; band < bands; band += 1) picks[pick * bands + band] = samples[at + band]!;
      }
    });
    to = Math.max(to, last);
    first = end;
  }
  return [picked];
}
