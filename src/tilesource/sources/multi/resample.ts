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
  /** Smallest and largest value of the samples of the image. Results are rounded and clamped if these are whole numbers. */
  min: number;
  max: number;
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
  /** Pixels of full resolution of the image per pixel of the target, and the upper left corner of the target in such pixels. */
  scale: number;
  left: number;
  top: number;
  /** The right and lower edge of the image. If a pixel crosses them, only the part within the image counts. */
  right: number;
  bottom: number;
  /** The rectangle of the target that the source may cover. */
  coveredArea: { left: number; top: number; right: number; bottom: number };
  /** Number of samples that are averaged along each axis for a pixel of the target. */
  samplesPerAxis: number;
  conversion: SampleConversion;
}

/** Number of pixels that are drawn before other work on the event loop can run. */
const pixelsPerSlice = 16_384;
/** Distance, in pixels of the target, of the points at which a warp is computed. It is interpolated between them. */
const meshStep = 16;

/** A type of samples, and the sample that is shown as white if it is not the largest of them. */
interface SampleRange {
  dtype: SampleType;
  white?: number | undefined;
}

function whiteOf({ dtype, white }: SampleRange): number {
  return white ?? fullValue(dtype);
}

/** The conversion of samples of one type to another. */
export function sampleConversion(
  from: SampleRange,
  to: SampleRange,
  { sampleOffset, sampleScale }: { sampleOffset?: number | undefined; sampleScale?: number | undefined },
): SampleConversion {
  const isInteger = !to.dtype.startsWith('float');
  const isScaled = (sampleOffset ?? 0) !== 0 || (sampleScale ?? 1) !== 1;
  return {
    offset: sampleOffset ?? 0,
    // A scale in the description converts to samples of the image, so the types are not converted in addition.
    divisor: isScaled ? sampleScale || 1 : from.dtype === to.dtype && from.white === to.white ? 1 : whiteOf(from) / whiteOf(to),
    min: isInteger ? minValue(to.dtype) : -Infinity,
    max: isInteger ? fullValue(to.dtype) : Infinity,
    isInteger,
    opaque: whiteOf(from),
  };
}

/** An approximation of a slow mapping. It is computed at the corners of a mesh over the target, and interpolated between them. */
function meshMapping(toSource: Mapping, { scale, left, top }: Drawing): Mapping {
  const cache = new Map<string, Point>();
  const meshPoint = (column: number, row: number): Point => {
    const name = `${column},${row}`;
    const cached = cache.get(name) ?? toSource([left + column * meshStep * scale, top + row * meshStep * scale]);
    cache.set(name, cached);
    return cached;
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

/** Draws pixels of a source, one at a time. Its buffer is reused, so that no memory is allocated for each pixel. */
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
    const colors = sum.length <= 4 && bands <= 4 ? (bands <= 2 ? 1 : 3) : bands;
    const hasAlpha = bands === 2 || bands === 4;
    const full = fullValue(dtype);
    const remainingAlpha = hasAlpha
      ? Math.min(1, Math.max(0, data[at + bands - 1]! / full)) * (1 - sourceAlpha)
      : 1 - sourceAlpha;
    const resultAlpha = sourceAlpha + remainingAlpha;
    for (let band = 0; band < colors; band++) {
      const value = this.#convert(this.#sampleForBand(band, colors));
      if (sourceAlpha === 1) data[at + band] = value;
      else if (resultAlpha > 0)
        data[at + band] = this.#clamp((value * sourceAlpha + data[at + band]! * remainingAlpha) / resultAlpha);
    }
    if (hasAlpha) data[at + bands - 1] = this.#clamp(resultAlpha * full);
  }

  /** The sample for a band of the image. A gray source has the same sample in all colors. An image of one band shows the first color. */
  #sampleForBand(band: number, colors: number): number {
    const sum = this.#sum;
    if (colors > 3) return band < sum.length ? sum[band]! : 0;
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
  const rowsPerRun = Math.max(1, Math.floor(pixelsPerSlice / (width * drawing.samplesPerAxis ** 2)));
  await forEachRange(
    coveredArea.bottom - coveredArea.top,
    rowsPerRun,
    (from, to) => {
      for (let row = coveredArea.top + from; row < coveredArea.top + to; row++) {
        for (let column = coveredArea.left; column < coveredArea.right; column++) brush.paint(column, row);
      }
    },
    signal,
  );
}
