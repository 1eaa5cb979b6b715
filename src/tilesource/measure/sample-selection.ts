import { forEachRange } from '../../core/concurrency/slices.js';
import { levelScale, type Box, type PyramidShape, type Size } from '../geometry.js';
import { bitsOf, createRaster, type Raster } from '../raster.js';
import { resizeNearest } from '../render/pixels.js';

/** Samples from which the statistics of a region of the finest level are computed. */
export interface MeasuredSamples {
  /** The samples of the boxes from {@link selectBoxes}. */
  samples: readonly Raster[];
  /** Further samples, which probably include the smallest and the largest one. Empty if `samples` are all samples of the region. */
  extremes: readonly Raster[];
}

/** Maximum number of pixels that are read for statistics. If a region has more pixels, only some of its tiles are read. */
const maxMeasuredPixels = 2 ** 22;

/** Maximum number of samples that are read for statistics, over all bands. */
const maxMeasuredSamples = 2 ** 26;

/** Minimum number of tiles that are read from a large region, even if they have more pixels than {@link maxMeasuredPixels}. */
const minTiles = 4;

/** Maximum number of pixels of a coarser level that are searched for the positions of the extremes. */
const maxSearchedPixels = 2 ** 19;

/** Number of samples that are processed between two checks of the time. */
const samplesPerCheck = 65_536;

/** Maximum number of tiles that are read for the minimum of a band, and for its maximum. */
const maxTilesPerExtreme = 3;
/** Maximum number of tiles that are read for the extremes of all bands. */
const maxExtremeTiles = 24;

/**
 * Selects boxes whose samples represent a region of the finest level: the region itself if it is small enough, otherwise evenly
 * spaced tiles in it. Coarser levels cannot be used, because their pixels may be means of several samples.
 */
export function selectBoxes(shape: PyramidShape & { bandCount: number }, region: Box): Box[] {
  const maxPixels = Math.min(maxMeasuredPixels, Math.floor(maxMeasuredSamples / shape.bandCount));
  if (region.width * region.height <= maxPixels) return [region];
  const { firstColumn, firstRow, columns, rows } = tileRange(shape, region);
  const maxTiles = Math.max(minTiles, Math.floor(maxPixels / (shape.tileWidth * shape.tileHeight)));
  // The number of columns is chosen so that the selected tiles are about equally far apart in both directions.
  const wantedColumns = Math.min(columns, Math.max(1, Math.round(Math.sqrt((maxTiles * columns) / rows))));
  const selectedRows = Math.min(rows, Math.max(1, Math.floor(maxTiles / wantedColumns)));
  const selectedColumns = Math.min(columns, Math.max(1, Math.floor(maxTiles / selectedRows)));
  const boxes: Box[] = [];
  for (let y = 0; y < selectedRows; y += 1) {
    for (let x = 0; x < selectedColumns; x += 1) {
      const column = firstColumn + Math.floor(((x + 0.5) * columns) / selectedColumns);
      const row = firstRow + Math.floor(((y + 0.5) * rows) / selectedRows);
      boxes.push(tileBox(shape, region, column, row));
    }
  }
  return boxes;
}

/** Splits a region of the finest level at the borders of its tiles. */
export function splitByTiles(shape: PyramidShape, region: Box): Box[] {
  const { firstColumn, firstRow, columns, rows } = tileRange(shape, region);
  return Array.from({ length: columns * rows }, (_, index) =>
    tileBox(shape, region, firstColumn + (index % columns), firstRow + Math.floor(index / columns)),
  );
}

/**
 * The finest stored level, except full resolution, that is small enough to be searched for the extremes; `null` if there is none.
 */
export function levelToSearch(shape: PyramidShape, populatedLevels: readonly number[], region: Box): number | null {
  const levels = populatedLevels.filter((level) => {
    const scale = levelScale(shape, level);
    return scale > 1 && (region.width / scale) * (region.height / scale) <= maxSearchedPixels;
  });
  return levels.at(-1) ?? null;
}

/**
 * Finds tiles of the finest level that probably contain the smallest and largest samples of a region, because a coarser level has
 * its extremes there.
 *
 * @param coarse the whole region, as read from the coarser level.
 * @param scale side of a pixel of the coarser level, in pixels of the finest level.
 */
export async function findExtremeBoxes(shape: PyramidShape, region: Box, coarse: Raster, scale: number): Promise<Box[]> {
  const { firstColumn, firstRow, columns, rows } = tileRange(shape, region);
  const { data, width, height, bands } = coarse;
  /** For each column of pixels of the coarser level: its column of tiles, counted from `firstColumn`. */
  const tileColumns = Uint32Array.from({ length: width }, (_, x) =>
    Math.min(columns - 1, Math.floor((region.left + x * scale) / shape.tileWidth) - firstColumn),
  );
  /** Indexes of tiles, counted row by row. */
  const extremeTiles = new Set<number>();
  const rowsAtOnce = Math.max(1, Math.floor(samplesPerCheck / width));
  for (let band = 0; band < bands && extremeTiles.size < maxExtremeTiles; band += 1) {
    const minByTile = new Float64Array(columns * rows).fill(Infinity);
    const maxByTile = new Float64Array(columns * rows).fill(-Infinity);
    await forEachRange(height, rowsAtOnce, (from, to) => {
      for (let y = from; y < to; y += 1) {
        const tileRow = Math.min(rows - 1, Math.floor((region.top + y * scale) / shape.tileHeight) - firstRow);
        for (let x = 0; x < width; x += 1) {
          const tile = tileRow * columns + tileColumns[x]!;
          const sample = data[(y * width + x) * bands + band]!;
          if (sample < minByTile[tile]!) minByTile[tile] = sample;
          if (sample > maxByTile[tile]!) maxByTile[tile] = sample;
        }
      }
    });
    for (const tile of await indexesOfSmallest(minByTile, 1)) extremeTiles.add(tile);
    for (const tile of await indexesOfSmallest(maxByTile, -1)) extremeTiles.add(tile);
  }
  return [...extremeTiles]
    .slice(0, maxExtremeTiles)
    .map((tile) => tileBox(shape, region, firstColumn + (tile % columns), firstRow + Math.floor(tile / columns)));
}

/** Indexes of the {@link maxTilesPerExtreme} smallest values, the smallest first. With sign -1, indexes of the largest values. */
async function indexesOfSmallest(values: Float64Array, sign: 1 | -1): Promise<number[]> {
  const smallest: number[] = [];
  /** A value must be below this limit to be among the smallest values. */
  let limit = Infinity;
  await forEachRange(values.length, samplesPerCheck, (from, to) => {
    for (let index = from; index < to; index += 1) {
      const value = sign * values[index]!;
      // For a tile without samples, `value` is Infinity. Neither Infinity nor NaN is below a limit.
      if (!(value < limit) || value === -Infinity) continue;
      const rank = smallest.findIndex((other) => value < sign * values[other]!);
      smallest.splice(rank < 0 ? smallest.length : rank, 0, index);
      if (smallest.length > maxTilesPerExtreme) smallest.pop();
      if (smallest.length === maxTilesPerExtreme) limit = sign * values[smallest.at(-1)!]!;
    }
  });
  return smallest;
}

/** The tiles of the finest level that a region overlaps: the first column and row of tiles, and the number of columns and rows. */
function tileRange(shape: PyramidShape, region: Box) {
  const firstColumn = Math.floor(region.left / shape.tileWidth);
  const firstRow = Math.floor(region.top / shape.tileHeight);
  return {
    firstColumn,
    firstRow,
    columns: Math.ceil((region.left + region.width) / shape.tileWidth) - firstColumn,
    rows: Math.ceil((region.top + region.height) / shape.tileHeight) - firstRow,
  };
}

/** The intersection of a region with a tile. */
function tileBox(shape: PyramidShape, region: Box, column: number, row: number): Box {
  const left = Math.max(region.left, column * shape.tileWidth);
  const top = Math.max(region.top, row * shape.tileHeight);
  const width = Math.min(region.left + region.width, (column + 1) * shape.tileWidth) - left;
  const height = Math.min(region.top + region.height, (row + 1) * shape.tileHeight) - top;
  return { left, top, width, height };
}

/**
 * Picks evenly spaced pixels, as many as an image of this size has. Returns all pixels if there are fewer.
 *
 * @param rasters samples of the boxes from {@link selectBoxes}.
 */
export async function pickSamples(rasters: readonly Raster[], size: Size): Promise<readonly Raster[]> {
  const [firstRaster] = rasters;
  if (firstRaster && rasters.length === 1) {
    const { width, height } = firstRaster;
    return [await resizeNearest(firstRaster, { width: Math.min(width, size.width), height: Math.min(height, size.height) })];
  }
  const totalPixels = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const pickCount = size.width * size.height;
  if (!firstRaster || pickCount >= totalPixels) return rasters;
  const { bands } = firstRaster;
  const pickedPixels = createRaster({ ...firstRaster, width: pickCount, height: 1 });
  const out = bitsOf(pickedPixels.data);
  let pixelsDone = 0;
  let picksDone = 0;
  for (const { data, width, height } of rasters) {
    const samples = bitsOf(data);
    // Pixels are numbered through all rasters.
    const [firstPixel, firstPick] = [pixelsDone, picksDone];
    const endPixel = firstPixel + width * height;
    const endPick = Math.max(firstPick, Math.min(pickCount, Math.ceil((endPixel * pickCount) / totalPixels - 0.5)));
    await forEachRange(endPick - firstPick, samplesPerCheck, (from, to) => {
      for (let pick = firstPick + from; pick < firstPick + to; pick += 1) {
        const pixel = Math.min(endPixel - 1, Math.floor(((pick + 0.5) * totalPixels) / pickCount));
        const at = (pixel - firstPixel) * bands;
        for (let band = 0; band < bands; band += 1) out[pick * bands + band] = samples[at + band]!;
      }
    });
    pixelsDone = endPixel;
    picksDone = endPick;
  }
  return [pickedPixels];
}
