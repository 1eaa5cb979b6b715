import { forEachRange } from '../../../core/concurrency/slices.js';
import { fullValue, minValue, type Raster, type SampleType } from '../../raster.js';
import type { Point } from './multi-description.js';
import type { Edges } from './placement.js';
import type { Affine, Mapping } from './warp.js';

/** The pixels of a rectangle of a level of a source. */
interface SourcePart {
  raster: Raster;
  /** The upper left corner of the rectangle, in pixels of the level. */
  left: number;
  top: number;
  /** Pixels of full resolution per pixel of the level, along both axes. */
  scale: number;
}

/** The conversion of samples of the source to samples of the image: (sample + offset) / divisor. */
export interface SampleConversion {
  offset: number;
  divisor: number;
  /** Smallest value of the image's sample type. */
  min: number;
  /** Largest value of the image's sample type. */
  max: number;
  /** Whether the image's samples are whole numbers. Results are then rounded, and clamped to `min` and `max`. */
  isInteger: boolean;
  /** The value of alpha in the source that means opaque. */
  opaque: number;
}

/** A part of a source, with its position in the target. */
export interface Drawing {
  part: SourcePart;
  /** Maps a point of the image to the source, both in pixels of full resolution. */
  toSource: Mapping;
  /** `toSource` as an affine mapping; `null` if it is not affine. */
  affine: Affine | null;
  /** The part of the source that is shown. */
  crop: Edges;
  /** Pixels of the image's full resolution per pixel of the target. */
  scale: number;
  /** Left edge of the target, in pixels of the image's full resolution. */
  left: number;
  /** Upper edge of the target, in the same unit. */
  top: number;
  /** Right edge of the image, in the same unit. If a pixel crosses the edge, only its part inside the image counts. */
  right: number;
  /** Lower edge of the image, in the same unit. */
  bottom: number;
  /** The rectangle of the target that the source may cover, in pixels of the target. */
  coveredArea: { left: number; top: number; right: number; bottom: number };
  /** Number of samples that are averaged along each axis for a pixel of the target. */
  samplesPerAxis: number;
  conversion: SampleConversion;
}

/** Number of pixels that are drawn before other work on the event loop can run. */
const pixelsPerSlice = 16_384;
/**
 * Distance between the points at which a warp is computed, in pixels of the target. Between these points, the warp is interpolated.
 */
const meshStep = 16;

/** A type of samples, and the value of white if it is not the largest value of the type. */
interface SampleRange {
  dtype: SampleType;
  white?: number | undefined;
}

function whiteOf({ dtype, white }: SampleRange): number {
  return white ?? fullValue(dtype);
}

/** The conversion of a source's samples to the image's samples. A `sampleOffset` or `sampleScale` replaces the usual conversion. */
export function sampleConversion(
  from: SampleRange,
  to: SampleRange,
  { sampleOffset, sampleScale }: { sampleOffset?: number | undefined; sampleScale?: number | undefined },
): SampleConversion {
  const isInteger = !to.dtype.startsWith('float');
  const hasDeclaredConversion = (sampleOffset ?? 0) !== 0 || (sampleScale ?? 1) !== 1;
  return {
    offset: sampleOffset ?? 0,
    // The declared conversion already results in samples of the image.
    divisor: hasDeclaredConversion
      ? sampleScale || 1
      : from.dtype === to.dtype && from.white === to.white
        ? 1
        : whiteOf(from) / whiteOf(to),
    min: isInteger ? minValue(to.dtype) : -Infinity,
    max: isInteger ? fullValue(to.dtype) : Infinity,
    isInteger,
    opaque: whiteOf(from),
  };
}

/** Approximates a slow mapping: it is computed at the corners of a mesh over the target, and interpolated between the corners. */
function meshMapping(toSource: Mapping, { scale, left, top }: Drawing): Mapping {
  const cache = new Map<string, Point>();
  const meshPoint = (column: number, row: number): Point => {
    const key = `${column},${row}`;
    const point = cache.get(key) ?? toSource([left + column * meshStep * scale, top + row * meshStep * scale]);
    cache.set(key, point);
    return point;
  };
  return ([x, y]) => {
    const [u, v] = [(x - left) / scale / meshStep, (y - top) / scale / meshStep];
    const [column, row] = [Math.floor(u), Math.floor(v)];
    const [fx, fy] = [u - column, v - row];
    const [a, b, c, d] = [
      meshPoint(column, row),
      meshPoint(column + 1, row),
      meshPoint(column, row + 1),
      meshPoint(column + 1, row + 1),
    ];
    const mix = (axis: 0 | 1): number =>
      a[axis] * (1 - fx) * (1 - fy) + b[axis] * fx * (1 - fy) + c[axis] * (1 - fx) * fy + d[axis] * fx * fy;
    return [mix(0), mix(1)];
  };
}

/** Draws pixels of a source, one at a time. One buffer is used for all pixels, so that drawing a pixel allocates no memory. */
class Brush {
  readonly #sum: Float64Array;
  readonly #bands: number;

  constructor(
    private readonly target: Raster,
    private readonly drawing: Drawing,
    private readonly toSource: Mapping,
  ) {
    this.#bands = drawing.part.raster.bands;
    this.#sum = new Float64Array(this.#bands);
  }

  /** Draws the pixel of the target at a column and row. */
  paint(column: number, row: number): void {
    const { scale, left, top, right, bottom, samplesPerAxis } = this.drawing;
    const sum = this.#sum.fill(0);
    const [startX, startY] = [left + column * scale, top + row * scale];
    const [stepX, stepY] = [Math.min(scale, right - startX) / samplesPerAxis, Math.min(scale, bottom - startY) / samplesPerAxis];
    let coveredCount = 0;
    for (let j = 0; j < samplesPerAxis; j++) {
      for (let i = 0; i < samplesPerAxis; i++) {
        const x = startX + (i + 0.5) * stepX;
        const y = startY + (j + 0.5) * stepY;
        if (this.#addSample(this.toSource([x, y]))) coveredCount += 1;
      }
    }
    // A pixel at the border of the source is drawn if at least half of it is inside the source.
    if (coveredCount * 2 < samplesPerAxis * samplesPerAxis || coveredCount === 0) return;
    for (let band = 0; band < sum.length; band++) sum[band]! /= coveredCount;
    this.#blendPixel((row * this.target.width + column) * this.target.bands);
  }

  /**
   * Adds the samples at a point of the source, interpolated between four pixels. @returns whether the point is inside the source.
   */
  #addSample([x, y]: Point): boolean {
    const { part, crop } = this.drawing;
    if (!(x >= crop.left && x < crop.right && y >= crop.top && y < crop.bottom)) return false;
    const { data, width, height } = part.raster;
    const [u, v] = [x / part.scale - 0.5 - part.left, y / part.scale - 0.5 - part.top];
    const [column, row] = [Math.floor(u), Math.floor(v)];
    const [fx, fy] = [u - column, v - row];
    const x0 = Math.min(width - 1, Math.max(0, column));
    const x1 = Math.min(width - 1, Math.max(0, column + 1));
    const y0 = Math.min(height - 1, Math.max(0, row)) * width;
    const y1 = Math.min(height - 1, Math.max(0, row + 1)) * width;
    const bands = this.#bands;
    for (let band = 0; band < bands; band++) {
      const upper =
        fx === 0
          ? data[(y0 + x0) * bands + band]!
          : data[(y0 + x0) * bands + band]! * (1 - fx) + data[(y0 + x1) * bands + band]! * fx;
      const lower =
        fy === 0
          ? 0
          : fx === 0
            ? data[(y1 + x0) * bands + band]!
            : data[(y1 + x0) * bands + band]! * (1 - fx) + data[(y1 + x1) * bands + band]! * fx;
      this.#sum[band]! += fy === 0 ? upper : upper * (1 - fy) + lower * fy;
    }
    return true;
  }

  /** Draws the averaged samples over the pixel of the target, with alpha blending. */
  #blendPixel(at: number): void {
    const { data, bands, dtype } = this.target;
    const { conversion } = this.drawing;
    const sum = this.#sum;
    const sourceAlpha =
      sum.length === 2 || sum.length === 4 ? Math.min(1, Math.max(0, sum[sum.length - 1]! / conversion.opaque)) : 1;
    const colorCount = sum.length <= 4 && bands <= 4 ? (bands <= 2 ? 1 : 3) : bands;
    const hasAlpha = bands === 2 || bands === 4;
    const fullAlpha = fullValue(dtype);
    const remainingAlpha = hasAlpha
      ? Math.min(1, Math.max(0, data[at + bands - 1]! / fullAlpha)) * (1 - sourceAlpha)
      : 1 - sourceAlpha;
    const resultAlpha = sourceAlpha + remainingAlpha;
    for (let band = 0; band < colorCount; band++) {
      const value = this.#convert(this.#sampleForBand(band, colorCount));
      if (sourceAlpha === 1) data[at + band] = value;
      else if (resultAlpha > 0)
        data[at + band] = this.#clamp((value * sourceAlpha + data[at + band]! * remainingAlpha) / resultAlpha);
    }
    if (hasAlpha) data[at + bands - 1] = this.#clamp(resultAlpha * fullAlpha);
  }

  /** The sample for a band of the image. A gray source has the same sample in all colors. An image of one band shows the first color. */
  #sampleForBand(band: number, colorCount: number): number {
    const sum = this.#sum;
    if (colorCount > 3) return band < sum.length ? sum[band]! : 0;
    return sum.length <= 2 ? sum[0]! : sum[band]!;
  }

  #convert(value: number): number {
    const { offset, divisor } = this.drawing.conversion;
    return this.#clamp((value + offset) / divisor);
  }

  #clamp(value: number): number {
    const { min, max, isInteger } = this.drawing.conversion;
    if (!isInteger) return value;
    return Math.min(max, Math.max(min, Math.round(value)));
  }
}

/** Draws a part of a source on a tile of the image. */
export async function drawResampled(target: Raster, drawing: Drawing, isWarp: boolean, signal?: AbortSignal): Promise<void> {
  const { coveredArea } = drawing;
  const width = coveredArea.right - coveredArea.left;
  if (width <= 0 || coveredArea.bottom <= coveredArea.top) return;
  const brush = new Brush(target, drawing, isWarp ? meshMapping(drawing.toSource, drawing) : drawing.toSource);
  const rowsPerSlice = Math.max(1, Math.floor(pixelsPerSlice / (width * drawing.samplesPerAxis ** 2)));
  await forEachRange(
    coveredArea.bottom - coveredArea.top,
    rowsPerSlice,
    (from, to) => {
      for (let row = coveredArea.top + from; row < coveredArea.top + to; row++) {
        for (let column = coveredArea.left; column < coveredArea.right; column++) brush.paint(column, row);
      }
    },
    signal,
  );
}
