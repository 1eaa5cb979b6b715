import { forEachRange } from '../../core/concurrency/slices.js';
import type { Size, Window } from '../geometry.js';
import { createRaster, fullValue, minValue, type Raster } from '../raster.js';
import { hasAlpha } from '../render/pixels.js';

/** Options for averaging samples. */
export interface AverageOptions {
  /**
   * The part of the raster to reduce, in pixels of the raster. By default, the whole raster. Parts beyond the raster do not count.
   */
  window?: Window;
  /** The sample that means "no data" in the file. It is left out of means. */
  nodata?: number | null;
  /** For each band, a further sample that means "no data", or `null`. */
  bandNodata?: readonly (number | null)[] | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Floats whose absolute value is at least this large mean "no data". Files often use the largest 32-bit float (3.40282…e38) for
 * that, and files that state it as a text contain only its first digits.
 */
export const largestFloat = 3.4e38;

/** Number of samples that are added up between two checks of the time. */
const samplesPerCheck = 2 ** 18;

/** Which pixels of the raster each pixel of the result covers, along one axis. */
interface Spans {
  /** The first covered pixel, for each pixel of the result. */
  firsts: Int32Array;
  /** The number of covered pixels, for each pixel of the result. */
  counts: Int32Array;
  /** The weights of the covered pixels: `taps` entries for each pixel of the result. */
  weights: Float64Array;
  /** Maximum number of covered pixels. */
  taps: number;
}

/**
 * The spans along one axis, on which the raster has `rasterLength` pixels. The result has `outputLength` pixels, which cover
 * `length` pixels of the raster from `start` on.
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
      const coveredLength = Math.min(to, pixel + 1) - Math.max(from, pixel);
      // A pixel of the result that is entirely outside the raster repeats the border of the raster.
      spans.weights[index * taps + pixel - first] = coveredLength > 0 ? coveredLength : 1;
    }
  }
  return spans;
}

/**
 * Reduces samples of any type and number of bands by averaging. Each new pixel is the mean of the pixels that it covers, weighted
 * by the covered area. Samples without a value are left out: no data, NaN, infinities, and the largest floats. If all covered
 * samples are without a value, the new pixel gets the first of these samples. If there are two or four bands of whole numbers, the
 * last band is alpha, and colors are weighted by it. Means of whole numbers are rounded.
 *
 * Averaging in several steps gives the same result as averaging once, apart from rounding, if each step reduces by a whole number.
 *
 * @param size size of the result, in pixels.
 */
export async function averageSamples<R extends Raster>(raster: R, size: Size, options: AverageOptions = {}): Promise<R> {
  const { window = { left: 0, top: 0, width: raster.width, height: raster.height }, signal } = options;
  const out = createRaster({ ...raster, width: size.width, height: size.height });
  const rowSpans = spansOf(raster.height, window.top, window.height, size.height);
  const columnSpans = spansOf(raster.width, window.left, window.width, size.width);
  const averageRows = createAverager(raster, columnSpans, options);
  const rowLength = size.width * raster.bands;
  const rowsAtOnce = Math.max(1, Math.floor(samplesPerCheck / (rowSpans.taps * raster.width * raster.bands)));
  const averages = new Float64Array(rowLength);
  await forEachRange(
    size.height,
    rowsAtOnce,
    (from, to) => {
      for (let y = from; y < to; y += 1) {
        const rowWeights = rowSpans.weights.subarray(y * rowSpans.taps, y * rowSpans.taps + rowSpans.counts[y]!);
        averageRows(rowSpans.firsts[y]!, rowWeights, averages);
        out.data.set(averages, y * rowLength);
      }
    },
    signal,
  );
  return { ...raster, ...out };
}

/** Averages as many rows as there are weights, from `firstRow` on, into one row of the result. */
type RowAverager = (firstRow: number, rowWeights: Float64Array, averages: Float64Array) => void;

function createAverager(raster: Raster, columnSpans: Spans, { nodata = null, bandNodata = [] }: AverageOptions): RowAverager {
  const isFloat = raster.dtype.startsWith('float');
  const isTransparent = !isFloat && hasAlpha(raster) && !isOpaque(raster);
  if (isFloat || nodata !== null || bandNodata.some((sample) => sample !== null)) {
    const missingSamples = Array.from({ length: raster.bands }, (_, band) =>
      [nodata, bandNodata[band] ?? null].map((sample) => nodataSample(sample, raster) ?? Number.NaN),
    );
    return createNodataAverager(raster, columnSpans, { missingSamples, isTransparent });
  }
  return isTransparent ? createAlphaAverager(raster, columnSpans) : createPlainAverager(raster, columnSpans);
}

/** The no-data value as a sample of the raster's type: for 32-bit floats, it is rounded to 32 bits. */
function nodataSample(nodata: number | null, { dtype }: Raster): number | null {
  return nodata !== null && dtype === 'float32' ? Math.fround(nodata) : nodata;
}

function isOpaque({ data, bands, dtype }: Raster): boolean {
  const opaque = fullValue(dtype);
  for (let at = bands - 1; at < data.length; at += bands) if (data[at] !== opaque) return false;
  return true;
}

/** Creates a function that averages samples if all have a value and no pixel is transparent. */
function createPlainAverager(raster: Raster, { firsts, counts, weights: columnWeights, taps }: Spans): RowAverager {
  const { data, width, bands } = raster;
  const row = new Float64Array(width * bands);
  const sums = new Float64Array(width * bands);
  const addPacked = createPackedAdder(raster);
  const hasEqualColumnWeights = columnWeights.every((weight) => weight === 1 || weight === 0);
  return (firstRow, rowWeights, averages) => {
    const hasEqualRowWeights = addPacked !== null && rowWeights.every((weight) => weight === 1);
    if (hasEqualRowWeights) addPacked(firstRow, rowWeights.length, sums);
    const rowWeightSum = hasEqualRowWeights ? rowWeights.length : addRows(data, firstRow, rowWeights, row, sums);
    for (let x = 0, to = 0; hasEqualColumnWeights && x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      const end = start + counts[x]! * bands;
      const divisor = counts[x]! * rowWeightSum;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        for (let at = start + band; at < end; at += bands) sum += sums[at]!;
        averages[to] = Math.floor(sum / divisor + 0.5);
      }
    }
    for (let x = 0, to = 0; !hasEqualColumnWeights && x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      const count = counts[x]!;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        let columnWeightSum = 0;
        for (let tap = 0, at = start + band; tap < count; tap += 1, at += bands) {
          const columnWeight = columnWeights[x * taps + tap]!;
          sum += sums[at]! * columnWeight;
          columnWeightSum += columnWeight;
        }
        averages[to] = Math.floor(sum / (columnWeightSum * rowWeightSum) + 0.5);
      }
    }
  };
}

/** Maximum number of rows whose sums fit into 16 bits. */
const maxPackedRows = 256;

/**
 * Returns a function that adds up rows of 8-bit or 16-bit samples by adding words of 32 bits, which takes a fifth of the time.
 * `null` for other samples, and if rows do not begin at a word.
 */
function createPackedAdder({
  data,
  dtype,
  width,
  bands,
}: Raster): ((firstRow: number, rowCount: number, sums: Float64Array) => void) | null {
  const { BYTES_PER_ELEMENT: bytes, buffer, byteOffset, byteLength } = data;
  const wordsPerRow = (width * bands * bytes) / 4;
  if (bytes > 2 || byteOffset % 4 !== 0 || !Number.isInteger(wordsPerRow)) return null;
  const words = new Uint32Array(buffer, byteOffset, byteLength / 4);
  // Sign bits are flipped, so that all numbers are positive: a sample of `min` becomes 0.
  const signBits = dtype === 'int8' ? 0x80_80_80_80 : dtype === 'int16' ? 0x80_00_80_00 : 0;
  const min = minValue(dtype);
  const add = bytes === 1 ? addBytes : addShorts;
  return (firstRow, rowCount, sums) => {
    sums.fill(min * rowCount);
    for (let row = 0; row < rowCount; row += maxPackedRows) {
      const firstWord = (firstRow + row) * wordsPerRow;
      add({ words, firstWord, wordsPerRow, rowCount: Math.min(maxPackedRows, rowCount - row), signBits }, sums);
    }
  };
}

/** Consecutive rows of samples, as words of 32 bits. */
interface PackedRows {
  words: Uint32Array;
  /** Index of the first word of the first row. */
  firstWord: number;
  wordsPerRow: number;
  rowCount: number;
  /** The sign bits of the samples in a word; 0 for unsigned samples. */
  signBits: number;
}

/** Adds rows of samples of 8 bits, of which each word contains four. */
function addBytes({ words, firstWord, wordsPerRow, rowCount, signBits }: PackedRows, sums: Float64Array): void {
  for (let column = 0; column < wordsPerRow; column += 1) {
    // Each variable contains two sums of 16 bits. `even`: of the first and third sample. `odd`: of the second and fourth sample.
    let even = 0;
    let odd = 0;
    for (let row = 0, at = firstWord + column; row < rowCount; row += 1, at += wordsPerRow) {
      const word = words[at]! ^ signBits;
      even += word & 0xff_00_ff;
      odd += (word >>> 8) & 0xff_00_ff;
    }
    sums[column * 4]! += even & 0xff_ff;
    sums[column * 4 + 1]! += odd & 0xff_ff;
    sums[column * 4 + 2]! += even >>> 16;
    sums[column * 4 + 3]! += odd >>> 16;
  }
}

/** Adds rows of samples of 16 bits, of which each word contains two. */
function addShorts({ words, firstWord, wordsPerRow, rowCount, signBits }: PackedRows, sums: Float64Array): void {
  for (let column = 0; column < wordsPerRow; column += 1) {
    let first = 0;
    let second = 0;
    for (let row = 0, at = firstWord + column; row < rowCount; row += 1, at += wordsPerRow) {
      const word = words[at]! ^ signBits;
      first += word & 0xff_ff;
      second += word >>> 16;
    }
    sums[column * 2]! += first;
    sums[column * 2 + 1]! += second;
  }
}

/**
 * Adds up weighted rows into `sums`. Each row is first copied to the doubles of `row`, because code that sees a single type of
 * array is compiled to faster code.
 *
 * @returns the sum of the weights.
 */
function addRows(
  data: Raster['data'],
  firstRow: number,
  rowWeights: Float64Array,
  row: Float64Array,
  sums: Float64Array,
): number {
  const stride = row.length;
  let rowWeightSum = 0;
  for (let y = 0; y < rowWeights.length; y += 1) {
    const start = (firstRow + y) * stride;
    const weight = rowWeights[y]!;
    rowWeightSum += weight;
    row.set(data.subarray(start, start + stride));
    if (y === 0) for (let at = 0; at < stride; at += 1) sums[at] = row[at]! * weight;
    else for (let at = 0; at < stride; at += 1) sums[at]! += row[at]! * weight;
  }
  return rowWeightSum;
}

/** Creates a function that averages colors weighted by their alpha. */
function createAlphaAverager({ data, width, bands, dtype }: Raster, columnSpans: Spans): RowAverager {
  const stride = width * bands;
  const min = minValue(dtype);
  const span = fullValue(dtype) - min;
  const row = new Float64Array(stride);
  const sums = new Float64Array(stride);
  const { firsts, counts, weights: columnWeights, taps } = columnSpans;
  return (firstRow, rowWeights, averages) => {
    sums.fill(0);
    let rowWeightSum = 0;
    for (let y = 0; y < rowWeights.length; y += 1) {
      const start = (firstRow + y) * stride;
      const weight = rowWeights[y]!;
      rowWeightSum += weight;
      row.set(data.subarray(start, start + stride));
      for (let at = 0; at < stride; at += bands) {
        const alphaWeight = ((row[at + bands - 1]! - min) / span) * weight;
        sums[at]! += row[at]! * alphaWeight;
        if (bands === 4) {
          sums[at + 1]! += row[at + 1]! * alphaWeight;
          sums[at + 2]! += row[at + 2]! * alphaWeight;
          sums[at + 3]! += alphaWeight;
        } else sums[at + 1]! += alphaWeight;
      }
    }
    for (let x = 0, to = 0; x < firsts.length; x += 1, to += bands) {
      let columnWeightSum = 0;
      for (let band = 0; band < bands; band += 1) averages[to + band] = 0;
      for (let tap = 0, at = firsts[x]! * bands; tap < counts[x]!; tap += 1, at += bands) {
        const columnWeight = columnWeights[x * taps + tap]!;
        columnWeightSum += columnWeight;
        for (let band = 0; band < bands; band += 1) averages[to + band]! += sums[at + band]! * columnWeight;
      }
      const alphaSum = averages[to + bands - 1]!;
      for (let band = 0; band < bands - 1; band += 1) {
        averages[to + band] = alphaSum > 0 ? Math.floor(averages[to + band]! / alphaSum + 0.5) : min;
      }
      averages[to + bands - 1] = Math.floor((alphaSum / (columnWeightSum * rowWeightSum)) * span + min + 0.5);
    }
  };
}

/**
 * Creates a function that averages only samples with a value, separately for each band.
 *
 * @param options `missingSamples` contains for each band two samples that mean "no value", or NaN. `isTransparent` says whether
 * colors are weighted by the last band, which is alpha and always has a value.
 */
function createNodataAverager(
  { data, width, bands, dtype }: Raster,
  { firsts, counts, weights: columnWeights, taps }: Spans,
  { missingSamples, isTransparent }: { missingSamples: readonly (readonly number[])[]; isTransparent: boolean },
): RowAverager {
  const stride = width * bands;
  const isFloat = dtype.startsWith('float');
  const min = minValue(dtype);
  const span = fullValue(dtype) - min;
  const row = new Float64Array(stride);
  const sums = new Float64Array(stride);
  /** Sums of the weights of the samples that have a value. */
  const weightSums = new Float64Array(stride);
  const colorBands = hasAlpha({ bands }) && !isFloat ? bands - 1 : bands;
  const opacities = new Float64Array(width).fill(1);
  return (firstRow, rowWeights, averages) => {
    sums.fill(0);
    weightSums.fill(0);
    for (let y = 0; y < rowWeights.length; y += 1) {
      const start = (firstRow + y) * stride;
      const weight = rowWeights[y]!;
      row.set(data.subarray(start, start + stride));
      for (let at = colorBands, x = 0; colorBands < bands && at < stride; at += bands, x += 1) {
        if (isTransparent) opacities[x] = (row[at]! - min) / span;
        sums[at]! += row[at]! * weight;
        weightSums[at]! += weight;
      }
      for (let band = 0; band < colorBands; band += 1) {
        const [missing1 = Number.NaN, missing2 = Number.NaN] = missingSamples[band]!;
        for (let at = band, x = 0; at < stride; at += bands, x += 1) {
          const sample = row[at]!;
          // Both comparisons are false for NaN.
          if (sample < largestFloat && sample > -largestFloat && sample !== missing1 && sample !== missing2) {
            const colorWeight = weight * opacities[x]!;
            sums[at]! += sample * colorWeight;
            weightSums[at]! += colorWeight;
          }
        }
      }
    }
    for (let x = 0, to = 0; x < firsts.length; x += 1) {
      const start = firsts[x]! * bands;
      for (let band = 0; band < bands; band += 1, to += 1) {
        let sum = 0;
        let weightSum = 0;
        for (let tap = 0, at = start + band; tap < counts[x]!; tap += 1, at += bands) {
          const columnWeight = columnWeights[x * taps + tap]!;
          sum += sums[at]! * columnWeight;
          weightSum += weightSums[at]! * columnWeight;
        }
        if (weightSum === 0) averages[to] = data[firstRow * stride + start + band]!;
        else averages[to] = isFloat ? removeRoundingError(sum / weightSum) : Math.floor(sum / weightSum + 0.5);
      }
    }
  };
}

/** Rounds a mean that is almost whole, because pictures drop fractions, and would show 99.99999999999999 as 99 instead of 100. */
function removeRoundingError(mean: number): number {
  const whole = Math.round(mean);
  return Math.abs(mean - whole) < Math.abs(whole) * 1e-13 ? whole : mean;
}
