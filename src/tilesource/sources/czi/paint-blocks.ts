import type { Raster, Samples } from '../../raster.js';

/**
 * The position and scale of a picture in the target, in target pixels. The picture's column `x` covers `step` target pixels, from
 * `left + x * step` on. `step` is at most 1: pictures are copied or reduced.
 */
export interface Placement {
  left: number;
  top: number;
  step: number;
}

/** For each target pixel along one axis, the source pixels that it covers, and the share of each. */
interface Coverage {
  /** The first target pixel that is drawn. */
  start: number;
  /** The target pixel after the last one that is drawn. */
  end: number;
  /** First source pixel of each target pixel. */
  firstSource: Int32Array;
  /** Weights of the source pixels: `taps` consecutive weights for each target pixel, which sum to 1. */
  weights: Float64Array;
  /** Number of weights for each target pixel. */
  taps: number;
}

/** Tolerance for rounding errors, in pixels. */
const epsilon = 1e-6;

/** Computes the coverage along one axis. A target pixel is drawn if the picture covers its center. */
function computeCoverage(offset: number, step: number, sourceLength: number, targetLength: number): Coverage {
  const start = Math.max(0, Math.ceil(offset - 0.5 - epsilon));
  const end = Math.min(targetLength, Math.ceil(offset + sourceLength * step - 0.5 - epsilon));
  const count = Math.max(0, end - start);
  const taps = Math.ceil(1 / step + epsilon) + 1;
  const firstSource = new Int32Array(count);
  const weights = new Float64Array(count * taps);
  for (let i = 0; i < count; i++) {
    const from = (start + i - offset) / step;
    const to = (start + i + 1 - offset) / step;
    const begin = Math.min(sourceLength - 1, Math.max(0, Math.floor(from + epsilon)));
    firstSource[i] = begin;
    let sum = 0;
    for (let tap = 0; tap < taps && begin + tap < sourceLength; tap++) {
      const overlap = Math.min(to, begin + tap + 1) - Math.max(from, begin + tap);
      if (overlap <= epsilon) continue;
      weights[i * taps + tap] = overlap;
      sum += overlap;
    }
    if (sum === 0) weights[i * taps] = 1;
    else for (let tap = 0; tap < taps; tap++) weights[i * taps + tap]! /= sum;
  }
  return { start, end, firstSource, weights, taps };
}

function canBeCopied({ left, top, step }: Placement): boolean {
  const isInteger = (value: number): boolean => Math.abs(value - Math.round(value)) < epsilon;
  return Math.abs(step - 1) < epsilon && isInteger(left) && isInteger(top);
}

/** Copies pixels to whole positions. Gray samples are repeated when the target has colors. */
function copyPixels(target: Raster, source: Raster, left: number, top: number): void {
  const startX = Math.max(0, -left);
  const width = Math.min(source.width, target.width - left) - startX;
  if (width <= 0) return;
  const endY = Math.min(source.height, target.height - top);
  for (let y = Math.max(0, -top); y < endY; y++) {
    const from = (y * source.width + startX) * source.bands;
    const to = ((top + y) * target.width + left + startX) * target.bands;
    if (source.bands === target.bands) {
      target.data.set(source.data.subarray(from, from + width * source.bands), to);
    } else {
      for (let i = 0; i < width * target.bands; i++) {
        target.data[to + i] = source.data[from + Math.floor(i / target.bands) * source.bands]!;
      }
    }
  }
}

function isFloat(data: Samples): boolean {
  return data instanceof Float32Array || data instanceof Float64Array;
}

/** Draws a picture into a raster. Each target pixel is the mean of the source pixels that it covers; pictures that need no scaling are copied. */
export function paint(target: Raster, source: Raster, placement: Placement): void {
  if (canBeCopied(placement)) return copyPixels(target, source, Math.round(placement.left), Math.round(placement.top));
  const columnCoverage = computeCoverage(placement.left, placement.step, source.width, target.width);
  const rowCoverage = computeCoverage(placement.top, placement.step, source.height, target.height);
  const width = columnCoverage.end - columnCoverage.start;
  if (width <= 0) return;
  const { bands } = target;
  const rounding = isFloat(target.data) ? 0 : 0.5;
  const row = new Float64Array(width * bands);
  for (let y = rowCoverage.start; y < rowCoverage.end; y++) {
    row.fill(0);
    const i = y - rowCoverage.start;
    for (let tapY = 0; tapY < rowCoverage.taps; tapY++) {
      const weightY = rowCoverage.weights[i * rowCoverage.taps + tapY]!;
      if (weightY > 0) addRow(row, source, { y: rowCoverage.firstSource[i]! + tapY, weightY, columnCoverage, bands });
    }
    const to = (y * target.width + columnCoverage.start) * bands;
    for (let x = 0; x < row.length; x++) target.data[to + x] = row[x]! + rounding;
  }
}

/** Adds a row of the source to the sums, weighted and reduced to the width of the target. */
function addRow(
  sums: Float64Array,
  source: Raster,
  { y, weightY, columnCoverage, bands }: { y: number; weightY: number; columnCoverage: Coverage; bands: number },
): void {
  const { taps, firstSource, weights } = columnCoverage;
  // A step of 0 repeats gray samples in all bands.
  const bandStep = source.bands === bands ? 1 : 0;
  for (let x = 0; x < firstSource.length; x++) {
    for (let tap = 0; tap < taps; tap++) {
      const weight = weights[x * taps + tap]! * weightY;
      if (weight === 0) continue;
      const from = (y * source.width + firstSource[x]! + tap) * source.bands;
      for (let band = 0; band < bands; band++) sums[x * bands + band]! += source.data[from + band * bandStep]! * weight;
    }
  }
}
