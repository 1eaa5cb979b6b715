import { inRuns } from '../../core/concurrency/slices.js';
import { levelScale, type Box, type PyramidShape, type Size } from '../geometry.js';
import { bitsOf, createRaster, type Raster } from '../raster.js';
import { resizeNearest } from '../render/pixels.js';

/** Samples that stand for a rectangle of the finest level. */
export interface MeasuredSamples {
  /** Of the {@link measuredBoxes}. */
  samples: readonly Raster[];
  /** Others, among which the smallest and largest probably are, where the former are not all there are. */
  extremes: readonly Raster[];
}

/** Pixels up to which facts are measured on all of a rectangle; of larger ones about so many are read. */
const measuredPixels = 2 ** 22;

/** Most samples that are read for facts, over all bands. */
const measuredSamples = 2 ** 26;

/** Fewest tiles that stand for a large rectangle, however large they are. */
const leastTiles = 4;

/** Pixels of a stored coarser level that are looked through for where the extremes may be. */
const searchedPixels = 2 ** 19;

/** Samples that are picked before the time is looked at. */
const picksAtOnce = 65_536;

/** Tiles that are read besides, for each end of each band, and altogether. */
const extremeTiles = 3;
const mostExtremeTiles = 24;

/**
 * Rectangles of the finest level that stand for a larger one of it: itself where it is small enough, else whole tiles that lie evenly
 * in it. Samples of coarser levels will not do: whoever wrote them may have mixed pixels.
 */
export function measuredBoxes(shape: PyramidShape & { bandCount: number }, base: Box): Box[] {
  const limit = Math.min(measuredPixels, Math.floor(measuredSamples / shape.bandCount));
  if (base.width * base.height <= limit) return [base];
  const { left, top, columns, rows } = tilesOf(shape, base);
  const count = Math.max(leastTiles, Math.floor(limit / (shape.tileWidth * shape.tileHeight)));
  const wide = Math.min(columns, Math.max(1, Math.round(Math.sqrt((count * columns) / rows))));
  const high = Math.min(rows, Math.max(1, Math.floor(count / wide)));
  const across = Math.min(columns, Math.max(1, Math.floor(count / high)));
  const boxes: Box[] = [];
  for (let row = 0; row < high; row += 1) {
    for (let column = 0; column < across; column += 1) {
      const x = left + Math.floor(((column + 0.5) * columns) / across);
      const y = top + Math.floor(((row + 0.5) * rows) / high);
      boxes.push(tileBox(shape, base, x, y));
    }
  }
  return boxes;
}

/** A stored level that is small enough to be looked through for where the extremes are; `null` where there is none. */
export function searchLevel(shape: PyramidShape, populated: readonly number[], base: Box): number | null {
  const small = populated.filter((level) => {
    const scale = levelScale(shape, level);
    return scale > 1 && (base.width / scale) * (base.height / scale) <= searchedPixels;
  });
  return small.at(-1) ?? null;
}

/**
 * Tiles of the finest level in which the smallest and largest samples probably are: those where a coarser level has its own.
 *
 * @param coarse all of the rectangle in the pixels of that level, of which one has `scale` pixels of the finest level a side.
 */
export async function extremeBoxes(shape: PyramidShape, base: Box, coarse: Raster, scale: number): Promise<Box[]> {
  const { left, top, columns, rows } = tilesOf(shape, base);
  const { data, width, height, bands } = coarse;
  const columnOf = Uint32Array.from({ length: width }, (_, x) =>
    Math.min(columns - 1, Math.floor((base.left + x * scale) / shape.tileWidth) - left),
  );
  const chosen = new Set<number>();
  const rowsAtOnce = Math.max(1, Math.floor(picksAtOnce / width));
  for (let band = 0; band < bands && chosen.size < mostExtremeTiles; band += 1) {
    const lows = new Float64Array(columns * rows).fill(Infinity);
    const highs = new Float64Array(columns * rows).fill(-Infinity);
    await inRuns(height, rowsAtOnce, (from, until) => {
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
    for (const tile of await leastOf(lows, 1)) chosen.add(tile);
    for (const tile of await leastOf(highs, -1)) chosen.add(tile);
  }
  return [...chosen]
    .slice(0, mostExtremeTiles)
    .map((tile) => tileBox(shape, base, left + (tile % columns), top + Math.floor(tile / columns)));
}

/** Positions of the few smallest values, or with the sign -1 of the largest, in order. */
async function leastOf(values: Float64Array, sign: 1 | -1): Promise<number[]> {
  const found: number[] = [];
  /** What a further value has to be below to be one of them. */
  let limit = Infinity;
  await inRuns(values.length, picksAtOnce, (from, until) => {
    for (let at = from; at < until; at += 1) {
      const value = sign * values[at]!;
      // Infinity and NaN are not below any limit; a tile without samples has the largest value there is.
      if (!(value < limit) || value === -Infinity) continue;
      const position = found.findIndex((other) => value < sign * values[other]!);
      found.splice(position < 0 ? found.length : position, 0, at);
      if (found.length > extremeTiles) found.pop();
      if (found.length === extremeTiles) limit = sign * values[found.at(-1)!]!;
    }
  });
  return found;
}

/** The tiles of the finest level that a rectangle of it meets. */
function tilesOf(shape: PyramidShape, base: Box) {
  const left = Math.floor(base.left / shape.tileWidth);
  const top = Math.floor(base.top / shape.tileHeight);
  return {
    left,
    top,
    columns: Math.ceil((base.left + base.width) / shape.tileWidth) - left,
    rows: Math.ceil((base.top + base.height) / shape.tileHeight) - top,
  };
}

/** The part of a rectangle that lies in a tile. */
function tileBox(shape: PyramidShape, base: Box, x: number, y: number): Box {
  const left = Math.max(base.left, x * shape.tileWidth);
  const top = Math.max(base.top, y * shape.tileHeight);
  const width = Math.min(base.left + base.width, (x + 1) * shape.tileWidth) - left;
  const height = Math.min(base.top + base.height, (y + 1) * shape.tileHeight) - top;
  return { left, top, width, height };
}

/**
 * As many of measured samples as a picture of some size has, evenly; all where that is larger.
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
    // Picks of this raster; the picture has `count` of `total` pixels.
    const last = Math.min(count, Math.ceil((end * count) / total - 0.5));
    const [start, before] = [to, first];
    await inRuns(last - start, picksAtOnce, (from, until) => {
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
