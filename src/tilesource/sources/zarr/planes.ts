import { TileSourceError } from '../../../errors.js';
import type { Box } from '../../geometry.js';
import { createRaster, type Raster } from '../../raster.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { sampleTypeOf } from './array-metadata.js';
import type { ZarrArray } from './zarr-array.js';

/** Number of chunks that are decoded at the same time for one tile. */
const concurrency = 4;
/** Maximum number of chunks for one tile. */
const maxChunks = 4096;

/** A part of an array: a rectangle of x and y at a position on all other axes. */
export interface PlanePart {
  box: Box;
  /** The position on every axis. Positions on x and y are ignored. */
  position: readonly number[];
  /** Index of the axis x. */
  xAxis: number;
  /** Index of the axis y. */
  yAxis: number;
  /** Index of the axis whose positions are the bands; `null` for one band. */
  bandAxis: number | null;
  bands: number;
}

/** Reads the samples of a part of a plane. */
export async function readPlane(array: ZarrArray, part: PlanePart, signal?: AbortSignal): Promise<Raster> {
  const { chunkShape, type, fillValue } = array.metadata;
  const { box, xAxis, yAxis, bandAxis, bands } = part;
  const chunkPositions: number[][] = [];
  const chunkRange = (axis: number, start: number, length: number): number[] => {
    const [first, last] = [Math.floor(start / chunkShape[axis]!), Math.floor((start + length - 1) / chunkShape[axis]!)];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  };
  const columns = chunkRange(xAxis, box.left, box.width);
  const rows = chunkRange(yAxis, box.top, box.height);
  const layers = bandAxis === null ? [0] : chunkRange(bandAxis, 0, bands);
  if (columns.length * rows.length * layers.length > maxChunks) {
    throw new TileSourceError(
      `A tile of the Zarr would need ${columns.length * rows.length * layers.length} chunks; at most ${maxChunks} are supported.`,
    );
  }
  for (const layer of layers) {
    for (const row of rows) {
      for (const column of columns) {
        const chunkPosition = part.position.map((value, axis) => Math.floor(value / chunkShape[axis]!));
        [chunkPosition[xAxis], chunkPosition[yAxis]] = [column, row];
        if (bandAxis !== null) chunkPosition[bandAxis] = layer;
        chunkPositions.push(chunkPosition);
      }
    }
  }
  if (chunkPositions.length === 1 && isWholeChunk(chunkShape, part)) {
    const samples = await array.readUncachedChunk(chunkPositions[0]!, signal);
    if (samples !== null) return { ...samples, width: box.width, height: box.height };
  }
  const target = createRaster({ width: box.width, height: box.height, bands, dtype: sampleTypeOf(type) });
  if (fillValue !== 0) target.data.fill(fillValue);
  await mapConcurrently(chunkPositions, concurrency, async (chunkPosition) => {
    const samples = await array.readChunk(chunkPosition, signal);
    if (samples !== null) copyChunk(target, samples, chunkShape, chunkPosition, part);
  });
  return target;
}

/** Whether the chunk has exactly the samples of the part, in the same order. */
function isWholeChunk(chunkShape: readonly number[], { box, position, xAxis, yAxis, bandAxis }: PlanePart): boolean {
  const isAligned = box.left % chunkShape[xAxis]! === 0 && box.top % chunkShape[yAxis]! === 0;
  const hasOnePlane = position.every((_, axis) => axis === xAxis || axis === yAxis || chunkShape[axis] === 1);
  const isSameSize = box.width === chunkShape[xAxis] && box.height === chunkShape[yAxis];
  return isAligned && hasOnePlane && isSameSize && bandAxis === null && yAxis < xAxis;
}

/** Copies the samples of a chunk that belong to the part. */
function copyChunk(
  target: Raster,
  samples: Raster,
  chunkShape: readonly number[],
  chunkPosition: readonly number[],
  part: PlanePart,
): void {
  const { box, xAxis, yAxis, bandAxis, bands } = part;
  const strides = chunkShape.map((_, axis) => chunkShape.slice(axis + 1).reduce((product, size) => product * size, 1));
  let planeOffset = 0;
  for (const [axis, value] of part.position.entries()) {
    if (axis !== xAxis && axis !== yAxis && axis !== bandAxis) planeOffset += (value % chunkShape[axis]!) * strides[axis]!;
  }
  const [chunkLeft, chunkTop] = [chunkPosition[xAxis]! * chunkShape[xAxis]!, chunkPosition[yAxis]! * chunkShape[yAxis]!];
  const left = Math.max(box.left, chunkLeft);
  const right = Math.min(box.left + box.width, chunkLeft + chunkShape[xAxis]!);
  const top = Math.max(box.top, chunkTop);
  const bottom = Math.min(box.top + box.height, chunkTop + chunkShape[yAxis]!);
  const firstBand = bandAxis === null ? 0 : chunkPosition[bandAxis]! * chunkShape[bandAxis]!;
  const endBand = bandAxis === null ? 1 : Math.min(bands, firstBand + chunkShape[bandAxis]!);
  for (let band = firstBand; band < endBand; band++) {
    const bandOffset = planeOffset + (bandAxis === null ? 0 : (band - firstBand) * strides[bandAxis]!);
    for (let y = top; y < bottom; y++) {
      const from = bandOffset + (y - chunkTop) * strides[yAxis]! + (left - chunkLeft) * strides[xAxis]!;
      const to = ((y - box.top) * target.width + left - box.left) * bands + band;
      if (bands === 1 && strides[xAxis] === 1) {
        target.data.set(samples.data.subarray(from, from + right - left), to);
        continue;
      }
      for (let i = 0; i < right - left; i++) target.data[to + i * bands] = samples.data[from + i * strides[xAxis]!]!;
    }
  }
}
