import { forEachRange } from '../../core/concurrency/slices.js';
import type { Size, Window } from '../geometry.js';
import { createRaster, fullValue, minValue, type Raster } from '../raster.js';
import { hasAlpha } from '../render/pixels.js';

/** Options for averaging samples. */
export interface AverageOptions {
  /** The part of the raster to reduce, in pixels of the raster; default all of it. Parts beyond the raster do not count. */
  window?: Window;
  /** The no-data sample of the file, which does not count in means. */
  nodata?: number | null;
  /** Further samples without a value, of each band; default none. */
  bandNodata?: readonly (number | null)[] | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * 32-bit floats of at least this, or at most its negative, mean no value: text often gives only the first digits of the largest
 * float.
 */
export const largestFloat = 3.4e38;

/** Number of samples that are added up before the time is checked. */
const samplesAtOnce = 2 ** 18;

/**
 * For each pixel of the result along one axis: the first pixel that it covers, the number of pixels, and their weights. Each
 * pixel of the result has `taps` entries in `weights`.
 */
interface Spans {
  firsts: Int32Array;
  counts: Int32Array;
  weights: Float64Array;
  taps: number;
}

/**
 * The spans of the pixels of a result of `outputLength` pixels. It covers `length` pixels from `start` on, of the `rasterLength`
 * pixels of the raster.
 */
function spansOf(rasterLength: number, start: number, length: number, outputLength: number): Spans {
  const ratio = length / outputLength;
  const taps = Math.ceil(ratio) + 1;
  const spans: Spans = {
    firsts: new Int32Array(outputLength),
    counts: new Int32Array(outputLength),
    weights: new Float64Array(outputLength * taps),
    taps,
  };
  for (let index = 0; index < outputLength; index += 1) {
    const from = start + index * ratio;
    const to = from + ratio;
    // Pixels with less coverage than this come from rounding.
    const minWeight = ratio * 1e-9;
    let first = Math.min(rasterLength - 1, Math.max(0, Math.floor(from)));
    if (first < rasterLength - 1 && first + 1 - from < minWeight) first += 1;
    const end = Math.min(rasterLength, Math.max(first + 1, Math.ceil(to - minWeight)));
    spans.firsts[index] = first;
    spans.counts[index] = Math.min(taps, end - first);
    for (let pixel = first; pixel < end; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      // A pixel entirely outside the raster repeats its border.
      spans.weights[index * taps + pixel - first] = covered > 0 ? covered : 1;
    }
  }
  return spans;
}

/**
 * Reduces samples of any type and number of bands by averaging: each new pixel is the mean of the pixels that it covers, weighted
 * by the covered area. Samples without a value are left out: no data, NaN, infinities, and the largest floats. If all covered
 * samples are without a value, the new pixel keeps the first of them. With two or four bands of whole numbers the last is alpha,
 * and colors are weighted by it. Means of whole numbers are rounded.
 *
 * Averaging in steps gives the same as averaging at once, apart from rounding, as long as the steps are whole numbers.
 *
 * @param size of the result, in pixels.
 */
export async function averageSamples<R extends Raster>(raster: R, size: Size, options: AverageOptions = {}): Promise<R> {
  const { window = { left: 0, top: 0, width: raster.width, height: raster.height }, signal } = options;
  const out = createRaster({ ...raster, width: size.width, height: size.height });
  const down = spansOf(raster.height, window.top, window.height, size.height);
  const across = spansOf(raster.width, window.left, window.width, size.width);
  const average = createAverager(raster, across, options);
  const rowLength = size.width * raster.bands;
  const rows = Math.max(1, Math.floor(samplesAtOnce / (down.taps * raster.width * raster.bands)));
  const sums = new Float64Array(rowLength);
  await forEachRange(
    size.height,
    rows,
    (from, to) => {
      for (let y = from; y < to; y += 1) {
        const weights = down.weights.subarray(y * down.taps, y * down.taps + down.counts[y]!);
        average(down.firsts[y]!, weights, sums);
        out.data.set(sums, y * rowLength);
      }
    },
    signal,
  );
  return { ...raster, ...out };
}

/** Averages some rows, from the first on, into a row of the result. */
type RowAverager = (first: number, weights: Float64Array, averages: Float64Array) => void;

function createAverager(raster: Raster, across: Spans, { nodata = null, bandNodata = [] }: AverageOptions): RowAverager {
  const isFloat = raster.dtype.startsWith('float');
  const isTransparent = !isFloat && hasAlpha(raster) && !isOpaque(raster);
  if (isFloat || nodata !== null || bandNodata.some((each) => each !== null)) {
    const missing = Array.from({ length: raster.bands }, (_, band) =>
      [nodata, bandNodata[band] ?? null].map((each) => nodataSample(each, raster) ?? Number.NaN),
    );
    return createValidAverager(raster, across, { missing, isTransparent });
  }
  return isTransparent ? createAlphaAverager(raster, across) : createPlainAverager(raster, across);
}

/** The no-data value as a sample of this type. */
function nodataSample(nodata: number | null, { dtype }: Raster): number | null {
  return nodata !== null && dtype === 'float32' ? Math.fround(nodata) : nodata;
}

function isOpaque({ data, bands, dtype }: Raster): boolean {
  const opaque = fullValue(dtype);
  for (let at = bands - 1; at < data.length; at += bands) if (data[at] !== opaque) return false;
  return true;
}

function createPlainAverager(raster: Raster, { firsts, counts, weights: columns, taps }: Spans): RowAverager {
  const { data, width, bands } = raster;
  const row = new Float64Array(width * bands);
  const sums = new Float64Array(width * bands);
  const addPacked = createPackedAdder(raster);
  const hasEqualColumns = columns.every((weight) => weight === 1 || weight === 0);
  return (first, weights, averages) => {
    const hasEqualRows = addPacked !== null && weights.every((weight) => weight === 1);
    if (hasEqualRows) addPacked(first, weights.length, sums);
    const total = hasEqualRows ? weights.length : addRows(data, first, weights, row, sums);
    for (let x = 0, to = 0; hasEqualColumns && x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      const end = start + counts[x]! * bands;
      const divisor = counts[x]! * total;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        for (let at = start + band; at < end; at += bands) sum += sums[at]!;
        averages[to] = Math.floor(sum / divisor + 0.5);
      }
    }
    for (let x = 0, to = 0; !hasEqualColumns && x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      const count = counts[x]!;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        let weight = 0;
        for (let tap = 0, at = start + band; tap < count; tap += 1, at += bands) {
          const part = columns[x * taps + tap]!;
          sum += sums[at]! * part;
          weight += part;
        }
        averages[to] = Math.floor(sum / (weight * total) + 0.5);
      }
    }
  };
}

/** Maximum number of rows that are added in one piece, so that sums fit into 16 bits. */
const maxPackedRows = 256;

/**
 * Returns a function that adds up rows of samples of 8 or 16 bits in words of 32 bits, which takes a fifth of the time. `null` for
 * other samples, and if rows do not begin at a word.
 */
function createPackedAdder({
  data,
  dtype,
  width,
  bands,
}: Raster): ((first: number, count: number, sums: Float64Array) => void) | null {
  const { BYTES_PER_ELEMENT: bytes, buffer, byteOffset, byteLength } = data;
  const stride = (width * bands * bytes) / 4;
  if (bytes > 2 || byteOffset % 4 !== 0 || !Number.isInteger(stride)) return null;
  const words = new Uint32Array(buffer, byteOffset, byteLength / 4);
  // The sign bit is flipped, so that all numbers are positive: a sample of `min` becomes 0.
  const flip = dtype === 'int8' ? 0x80_80_80_80 : dtype === 'int16' ? 0x80_00_80_00 : 0;
  const min = minValue(dtype);
  const add = bytes === 1 ? addBytes : addShorts;
  return (first, count, sums) => {
    sums.fill(min * count);
    for (let each = 0; each < count; each += maxPackedRows) {
      add({ words, start: (first + each) * stride, stride, count: Math.min(maxPackedRows, count - each), flip }, sums);
    }
  };
}

/** Rows as words. */
interface PackedRows {
  words: Uint32Array;
  start: number;
  stride: number;
  count: number;
  flip: number;
}

function addBytes({ words, start, stride, count, flip }: PackedRows, sums: Float64Array): void {
  for (let column = 0; column < stride; column += 1) {
    let even = 0;
    let odd = 0;
    for (let row = 0, at = start + column; row < count; row += 1, at += stride) {
      const word = words[at]! ^ flip;
      even += word & 0xff_00_ff;
      odd += (word >>> 8) & 0xff_00_ff;
    }
    sums[column * 4]! += even & 0xff_ff;
    sums[column * 4 + 1]! += odd & 0xff_ff;
    sums[column * 4 + 2]! += even >>> 16;
    sums[column * 4 + 3]! += odd >>> 16;
  }
}

function addShorts({ words, start, stride, count, flip }: PackedRows, sums: Float64Array): void {
  for (let column = 0; column < stride; column += 1) {
    let even = 0;
    let odd = 0;
    for (let row = 0, at = start + column; row < count; row += 1, at += stride) {
      const word = words[at]! ^ flip;
      even += word & 0xff_ff;
      odd += word >>> 16;
    }
    sums[column * 2]! += even;
    sums[column * 2 + 1]! += odd;
  }
}

/**
 * Adds up rows with their weights. Rows are copied to doubles, because code that sees a single type of array is compiled to
 * faster code. @returns the sum of the weights.
 */
function addRows(data: Raster['data'], first: number, weights: Float64Array, row: Float64Array, sums: Float64Array): number {
  const stride = row.length;
  let total = 0;
  for (let each = 0; each < weights.length; each += 1) {
    const start = (first + each) * stride;
    const weight = weights[each]!;
    total += weight;
    row.set(data.subarray(start, start + stride));
    if (each === 0) for (let at = 0; at < stride; at += 1) sums[at] = row[at]! * weight;
    else for (let at = 0; at < stride; at += 1) sums[at]! += row[at]! * weight;
  }
  return total;
}

/** Multiplies colors by their alpha while it adds them up. */
function createAlphaAverager({ data, width, bands, dtype }: Raster, across: Spans): RowAverager {
  const stride = width * bands;
  const min = minValue(dtype);
  const span = fullValue(dtype) - min;
  const row = new Float64Array(stride);
  const sums = new Float64Array(stride);
  const { firsts, counts, weights: columns, taps } = across;
  return (first, weights, averages) => {
    sums.fill(0);
    let total = 0;
    for (let each = 0; each < weights.length; each += 1) {
      const start = (first + each) * stride;
      const weight = weights[each]!;
      total += weight;
      row.set(data.subarray(start, start + stride));
      for (let at = 0; at < stride; at += bands) {
        const alpha = ((row[at + bands - 1]! - min) / span) * weight;
        sums[at]! += row[at]! * alpha;
        if (bands === 4) {
          sums[at + 1]! += row[at + 1]! * alpha;
          sums[at + 2]! += row[at + 2]! * alpha;
          sums[at + 3]! += alpha;
        } else sums[at + 1]! += alpha;
      }
    }
    for (let x = 0, to = 0; x < firsts.length; x += 1, to += bands) {
      let weight = 0;
      for (let band = 0; band < bands; band += 1) averages[to + band] = 0;
      for (let tap = 0, at = firsts[x]! * bands; tap < counts[x]!; tap += 1, at += bands) {
        const part = columns[x * taps + tap]!;
        weight += part;
        for (let band = 0; band < bands; band += 1) averages[to + band]! += sums[at + band]! * part;
      }
      const alpha = averages[to + bands - 1]!;
      for (let band = 0; band < bands - 1; band += 1) {
        averages[to + band] = alpha > 0 ? Math.floor(averages[to + band]! / alpha + 0.5) : min;
      }
      averages[to + bands - 1] = Math.floor((alpha / (weight * total)) * span + min + 0.5);
    }
  };
}

/**
 * Leaves out samples without a value, separately for each band.
 *
 * @param options `missing`: the two samples of each band that mean no value, or NaN; `isTransparent`: the last band is alpha, by
 * which colors
 *   count. It is never without a value.
 */
function createValidAverager(
  { data, width, bands, dtype }: Raster,
  { firsts, counts, weights: columns, taps }: Spans,
  { missing, isTransparent }: { missing: readonly (readonly number[])[]; isTransparent: boolean },
): RowAverager {
  const stride = width * bands;
  const isFloat = dtype.startsWith('float');
  const min = minValue(dtype);
  const span = fullValue(dtype) - min;
  const row = new Float64Array(stride);
  const sums = new Float64Array(stride);
  const valid = new Float64Array(stride);
  const colorBands = hasAlpha({ bands }) && !isFloat ? bands - 1 : bands;
  const opacity = new Float64Array(width).fill(1);
  return (first, weights, averages) => {
    sums.fill(0);
    valid.fill(0);
    for (let each = 0; each < weights.length; each += 1) {
      const start = (first + each) * stride;
      const weight = weights[each]!;
      row.set(data.subarray(start, start + stride));
      for (let at = colorBands, x = 0; colorBands < bands && at < stride; at += bands, x += 1) {
        if (isTransparent) opacity[x] = (row[at]! - min) / span;
        sums[at]! += row[at]! * weight;
        valid[at]! += weight;
      }
      for (let band = 0; band < colorBands; band += 1) {
        const [one = Number.NaN, other = Number.NaN] = missing[band]!;
        for (let at = band, x = 0; at < stride; at += bands, x += 1) {
          const sample = row[at]!;
          // Both comparisons are false for NaN.
          if (sample < largestFloat && sample > -largestFloat && sample !== one && sample !== other) {
            const part = weight * opacity[x]!;
            sums[at]! += sample * part;
            valid[at]! += part;
          }
        }
      }
    }
    for (let x = 0, to = 0; x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        let weight = 0;
        for (let tap = 0, at = start + band; tap < counts[x]!; tap += 1, at += bands) {
          const part = columns[x * taps + tap]!;
          sum += sums[at]! * part;
          weight += valid[at]! * part;
        }
        if (weight === 0) averages[to] = data[first * stride + start + band]!;
        else averages[to] = isFloat ? removeRoundingError(sum / weight) : Math.floor(sum / weight + 0.5);
      }
    }
  };
}

/** Rounds a mean that is almost whole: pictures drop fractions, and would show 99.99999999999999 as 99 instead of 100. */
function removeRoundingError(mean: number): number {
  const whole = Math.round(mean);
  return Math.abs(mean - whole) < Math.abs(whole) * 1e-13 ? whole : mean;
}
