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
 * The samples of a band in ascending order, in groups of neighbors. A group has one value, or few samples compared with those on
 * either side of it. No-data values of the file, NaN, infinities, and the largest floats, which many programs write for missing
 * values, are left out.
 */
interface SampleSpread {
  /** Smallest and largest sample, and number of samples, of each group. */
  lows: readonly number[];
  highs: readonly number[];
  counts: readonly number[];
}

/** Whole numbers are counted individually if their range is at most this; other samples are sorted. */
const maxCountedSpan = 65_536;

/** Maximum number of counters of all bands that are counted together. */
const maxCountersAtOnce = 2 ** 22;

/** Maximum number of samples of a band that are sorted. */
const maxSorted = 2 ** 22;

/** Number of samples that are processed between two checks of the time. */
const samplesAtOnce = 65_536;

/** A group of different samples is smaller than this share of the samples on either side of it. */
const maxGroupShare = 1 / 256;

/** Samples at which the palette of a band starts and ends. */
export type SampleRange = readonly [min: number, max: number];

/**
 * The range that a style gives to a band.
 *
 * @param raster `index` is the band, or -1 for the opaque alpha that is added to an image without alpha; `white` is the sample that
 * is shown as white.
 * @param survey called only if something has to be measured.
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
      const fractions = [band.min, band.max].map((each) => (each.kind === 'threshold' ? each : bound).fraction) as [
        number,
        number,
      ];
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
  // Nearly all samples are equal. They are shown in the middle between zero and twice their value, instead of at the dark end.
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
  // Number of counters of each band; 0 if its samples are sorted.
  const spans = statistics.map(({ min, max }) => (isInteger && max - min < maxCountedSpan ? max - min + 1 : 0));
  const spreads: SampleSpread[] = [];
  for (let first = 0; first < statistics.length; first = spreads.length) {
    if (spans[first] === 0) {
      spreads.push(await spreadOfSorted(await sortByDigits(await readValidSamples(samples, first, nodata))));
      continue;
    }
    let end = first;
    let counters = 0;
    while (end < spans.length && spans[end]! > 0 && counters < maxCountersAtOnce) counters += spans[end++]!;
    const bands = statistics.slice(first, end).map(({ min }, at) => ({
      band: first + at,
      low: min,
      counts: new Uint32Array(spans[first + at]!),
    }));
    for (const raster of samples) {
      await processAsDoubles(raster, (run) => {
        for (const each of bands) countRun(run, raster.bands, each);
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
  low: number;
  counts: Uint32Array;
}

function countRun(run: Float64Array, bands: number, { band, low, counts }: CountedBand): void {
  for (let at = band; at < run.length; at += bands) counts[run[at]! - low]! += 1;
}

/** The samples of a band that have a value; if there are many, evenly picked ones. */
async function readValidSamples(
  rasters: readonly Raster[],
  band: number,
  nodata: number | null,
): Promise<Float64Array<ArrayBuffer>> {
  const pixels = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const step = Math.max(1, Math.ceil(pixels / maxSorted));
  const samples = new Float64Array(Math.ceil(pixels / step));
  const limit = rasters[0]?.dtype.startsWith('float') === true ? largestFloat : Infinity;
  let count = 0;
  let next = 0;
  for (const { data, bands } of rasters) {
    const length = data.length / bands;
    const first = next;
    await forEachRange(Math.max(0, Math.ceil((length - first) / step)), samplesAtOnce, (from, to) => {
      for (let at = (first + from * step) * bands + band, end = (first + to * step) * bands; at < end; at += step * bands) {
        const sample = data[at]!;
        if (sample < limit && sample > -limit && sample !== nodata) samples[count++] = sample;
      }
    });
    next = (((first - length) % step) + step) % step;
  }
  return samples.subarray(0, count);
}

async function spreadOfSorted(sorted: Float64Array): Promise<SampleSpread> {
  const spread = new SpreadMaker(sorted.length);
  let start = 0;
  await forEachRange(sorted.length, samplesAtOnce, (from, to) => {
    for (let at = from; at < to; at += 1) {
      if (sorted[at + 1] === sorted[at]) continue;
      spread.add(sorted[at]!, at + 1 - start);
      start = at + 1;
    }
  });
  return spread.result;
}

/** Makes a {@link SampleSpread} of ascending values. */
class SpreadMaker {
  readonly #lows: number[] = [];
  readonly #highs: number[] = [];
  readonly #counts: number[] = [];
  /** Number of samples below the last group. */
  #below = 0;

  constructor(readonly total: number) {}

  get result(): SampleSpread {
    return { lows: this.#lows, highs: this.#highs, counts: this.#counts };
  }

  add(value: number, count: number): void {
    if (count === 0) return;
    const last = this.#counts.length - 1;
    const mergedCount = (this.#counts[last] ?? Infinity) + count;
    if (mergedCount <= maxGroupShare * Math.min(this.#below, this.total - this.#below - mergedCount)) {
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

/** The smallest (or largest) sample such that at most a fraction of the samples is below (or above) it. */
function quantile({ lows, highs, counts }: SampleSpread, fraction: number, fromBelow: boolean): number {
  let remaining = fraction * counts.reduce((sum, count) => sum + count, 0);
  const { length } = counts;
  const at = (step: number) => (fromBelow ? step : length - 1 - step);
  let step = 0;
  while (step < length - 1 && counts[at(step)]! <= remaining) remaining -= counts[at(step++)]!;
  return (fromBelow ? lows : highs)[at(step)]!;
}
