import { forEachRange, isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { processAsDoubles } from '../doubles.js';
import { bandStatistics, widenStatistics, type BandStatistics } from '../measure/histogram.js';
import type { MeasuredSamples } from '../measure/sample-selection.js';
import { sortByDigits } from './sort-by-digits.js';
import { largestFloat } from '../pyramid/average.js';
import type { Raster } from '../raster.js';
import type { BandStyle, StyleBound } from './parse.js';

/** Statistics of the samples of a frame, as stored in the file. */
export interface FrameSurvey {
  /** Statistics of each band. */
  statistics: readonly BandStatistics[];
  spreads: readonly SampleSpread[];
}

/**
 * The distribution of a band's samples, in ascending groups. A group consists of samples with the same value, or of neighboring
 * values with few samples compared with the samples on either side of the group. Samples without a value are left out: no data,
 * NaN, infinities, and the largest floats, which many programs write for missing values.
 */
interface SampleSpread {
  /** Smallest and largest sample, and number of samples, of each group. */
  lows: readonly number[];
  highs: readonly number[];
  counts: readonly number[];
}

/** Whole numbers are counted by value if their range is at most this long. Other samples are sorted. */
const maxCountedSpan = 65_536;

/** Bands are counted together as long as they have fewer counters than this in total. */
const maxCountersAtOnce = 2 ** 22;

/** Maximum number of samples of a band that are sorted. */
const maxSortedSamples = 2 ** 22;

/** Number of samples that are processed between two checks of the time. */
const samplesPerCheck = 65_536;

/** A group of different values has at most this share of the samples below it, and of the samples above it. */
const maxGroupShare = 1 / 256;

/** The samples at which the palette of a band starts and ends. */
export type SampleRange = readonly [min: number, max: number];

/**
 * The range that a style gives to a band.
 *
 * @param raster `index` is the number of the band from 0, or -1 for the opaque alpha that is added to an image without alpha.
 * `white` is the sample that is shown as white.
 * @param survey called only if the range depends on the samples.
 */
export async function resolveRange(
  band: BandStyle,
  { index, dtype, white }: { index: number; dtype: Raster['dtype']; white?: number | undefined },
  survey: () => Promise<FrameSurvey>,
): Promise<SampleRange> {
  if (index < 0) return [0, 255];
  const resolve = async (bound: StyleBound, isMin: boolean): Promise<number> => {
    if (bound.kind === 'number') return bound.value;
    if (bound.kind === 'full') return isMin ? 0 : (white ?? fullScale(dtype));
    if (bound.kind === 'threshold') {
      const fractions = [band.min, band.max].map((end) => (end.kind === 'threshold' ? end : bound).fraction) as [number, number];
      return thresholdRange(await survey(), index, fractions)[isMin ? 0 : 1];
    }
    const { statistics } = await survey();
    const extremes = statistics[index] ?? { min: 0, max: 255 };
    if (bound.kind !== 'auto') return extremes[bound.kind];
    const isEightBit = statistics.every(({ min, max }) => min >= 0 && min <= 254 && max >= 2 && max <= 255);
    if (isEightBit) return isMin ? 0 : 255;
    return isMin ? extremes.min : extremes.max;
  };
  return [await resolve(band.min, true), await resolve(band.max, false)];
}

/** The smallest range of a band that leaves out at most these fractions of its samples, below and above. */
export function thresholdRange(
  { statistics, spreads }: FrameSurvey,
  index: number,
  [below, above]: readonly [below: number, above: number],
): SampleRange {
  const extremes = statistics[index] ?? { min: 0, max: 255 };
  const spread = spreads[index];
  if (!spread || spread.counts.length === 0) return [extremes.min, extremes.max];
  const min = below === 0 ? extremes.min : quantile(spread, below, true);
  const max = above === 0 ? extremes.max : quantile(spread, above, false);
  if (min !== max) return [min, max];
  // Nearly all samples are equal. With a range from zero to twice their value, they are shown with medium brightness instead of
  // dark.
  if (min !== 0) return [min - Math.abs(min), max + Math.abs(max)];
  // Nearly all samples are 0, as around a few spots or labels, so the other samples determine the range.
  const others = withoutZeros(spread);
  if (others.counts.length === 0) return [0, 0];
  return [Math.min(0, quantile(others, below, true)), Math.max(0, quantile(others, above, false))];
}

function fullScale(dtype: Raster['dtype']): number {
  if (dtype === 'uint16' || dtype === 'int16') return 65_535;
  if (dtype === 'uint32' || dtype === 'int32') return 2 ** 32 - 1;
  return dtype === 'uint8' || dtype === 'int8' ? 255 : 1;
}

/**
 * Counts or sorts the samples of a frame.
 *
 * @param nodata the sample that means no value, if the file names one.
 */
export async function surveySamples({ samples, extremes }: MeasuredSamples, nodata: number | null = null): Promise<FrameSurvey> {
  const statistics = await bandStatistics(samples);
  const isInteger = samples[0]?.dtype.startsWith('float') !== true;
  // 0 for bands whose samples are sorted.
  const counterCounts = statistics.map(({ min, max }) => (isInteger && max - min < maxCountedSpan ? max - min + 1 : 0));
  const spreads: SampleSpread[] = [];
  for (let first = 0; first < statistics.length; first = spreads.length) {
    if (counterCounts[first] === 0) {
      spreads.push(await spreadOfSorted(await sortByDigits(await readValidSamples(samples, first, nodata))));
      continue;
    }
    let end = first;
    let totalCounters = 0;
    while (end < counterCounts.length && counterCounts[end]! > 0 && totalCounters < maxCountersAtOnce)
      totalCounters += counterCounts[end++]!;
    const bands = statistics.slice(first, end).map(({ min }, at) => ({
      band: first + at,
      low: min,
      counts: new Uint32Array(counterCounts[first + at]!),
    }));
    for (const raster of samples) {
      await processAsDoubles(raster, (run) => {
        for (const countedBand of bands) countRun(run, raster.bands, countedBand);
      });
    }
    for (const { low, counts } of bands) {
      if (nodata !== null && nodata >= low && nodata < low + counts.length) counts[nodata - low] = 0;
      const spread = new SpreadMaker(counts.reduce((sum, count) => sum + count, 0));
      for (const [at, count] of counts.entries()) spread.add(low + at, count);
      spreads.push(spread.result);
      if (isSliceOver()) await nextSlice();
    }
  }
  return { statistics: widenStatistics([statistics, await bandStatistics(extremes)]), spreads };
}

interface CountedBand {
  band: number;
  /** The sample that the first counter counts. */
  low: number;
  counts: Uint32Array;
}

function countRun(run: Float64Array, bands: number, { band, low, counts }: CountedBand): void {
  for (let at = band; at < run.length; at += bands) counts[run[at]! - low]! += 1;
}

/** Reads the samples of a band that have a value. If there are too many, evenly spaced samples are picked. */
async function readValidSamples(
  rasters: readonly Raster[],
  band: number,
  nodata: number | null,
): Promise<Float64Array<ArrayBuffer>> {
  const pixels = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const step = Math.max(1, Math.ceil(pixels / maxSortedSamples));
  const samples = new Float64Array(Math.ceil(pixels / step));
  const limit = rasters[0]?.dtype.startsWith('float') === true ? largestFloat : Infinity;
  let count = 0;
  let nextPixel = 0;
  for (const { data, bands } of rasters) {
    const length = data.length / bands;
    const first = nextPixel;
    await forEachRange(Math.max(0, Math.ceil((length - first) / step)), samplesPerCheck, (from, to) => {
      for (let at = (first + from * step) * bands + band, end = (first + to * step) * bands; at < end; at += step * bands) {
        const sample = data[at]!;
        if (sample < limit && sample > -limit && sample !== nodata) samples[count++] = sample;
      }
    });
    nextPixel = (((first - length) % step) + step) % step;
  }
  return samples.subarray(0, count);
}

async function spreadOfSorted(sortedSamples: Float64Array): Promise<SampleSpread> {
  const spread = new SpreadMaker(sortedSamples.length);
  let start = 0;
  await forEachRange(sortedSamples.length, samplesPerCheck, (from, to) => {
    for (let at = from; at < to; at += 1) {
      if (sortedSamples[at + 1] === sortedSamples[at]) continue;
      spread.add(sortedSamples[at]!, at + 1 - start);
      start = at + 1;
    }
  });
  return spread.result;
}

/** Makes a {@link SampleSpread} from values in ascending order. */
class SpreadMaker {
  readonly #lows: number[] = [];
  readonly #highs: number[] = [];
  readonly #counts: number[] = [];
  /** Number of samples below the last group. */
  #below = 0;

  constructor(private readonly sampleCount: number) {}

  get result(): SampleSpread {
    return { lows: this.#lows, highs: this.#highs, counts: this.#counts };
  }

  add(value: number, count: number): void {
    if (count === 0) return;
    const last = this.#counts.length - 1;
    const mergedCount = (this.#counts[last] ?? Infinity) + count;
    if (mergedCount <= maxGroupShare * Math.min(this.#below, this.sampleCount - this.#below - mergedCount)) {
      this.#highs[last] = value;
      this.#counts[last] = mergedCount;
      return;
    }
    this.#below += this.#counts[last] ?? 0;
    this.#lows.push(value);
    this.#highs.push(value);
    this.#counts.push(count);
  }
}

function withoutZeros({ lows, highs, counts }: SampleSpread): SampleSpread {
  const isOther = (_: number, at: number) => lows[at] !== 0 || highs[at] !== 0;
  return { lows: lows.filter(isOther), highs: highs.filter(isOther), counts: counts.filter(isOther) };
}

/** The sample that has at most this fraction of the samples below it; without `fromBelow`, above it. */
function quantile({ lows, highs, counts }: SampleSpread, fraction: number, fromBelow: boolean): number {
  let remaining = fraction * counts.reduce((sum, count) => sum + count, 0);
  const { length } = counts;
  const at = (step: number) => (fromBelow ? step : length - 1 - step);
  let step = 0;
  while (step < length - 1 && counts[at(step)]! <= remaining) remaining -= counts[at(step++)]!;
  return (fromBelow ? lows : highs)[at(step)]!;
}
