import { pictureDefaults } from '../picture-parameters.js';
import { processAsDoubles } from '../doubles.js';
import { BadValueError } from '../../errors.js';
import type { Raster } from '../raster.js';

/** The samples of one band counted in bins. */
export interface HistogramBand {
  min: number;
  max: number;
  mean: number;
  /** Population standard deviation. */
  stdev: number;
  /** Lowest and highest edge. */
  range: [number, number];
  bins: number;
  /** Number of samples in each bin, or with `density` the fraction of all samples. A bin includes its lower edge; only the last one includes its upper edge. */
  hist: number[];
  /** Edges of the bins, one more than there are bins. */
  bin_edges: number[];
  /** Number of samples inside the range. */
  samples: number;
  density: boolean;
  /** The range of `min:` and `max:` in styles for the requested threshold. */
  thresholds?: readonly [min: number, max: number];
}

/** Options of a histogram, with the names of request parameters. */
export interface HistogramOptions {
  bins?: number;
  rangeMin?: number;
  rangeMax?: number;
  roundRange?: boolean;
  density?: boolean;
}

/** Minimum, maximum, mean and population standard deviation of the finite samples of one band. */
export interface BandStatistics {
  min: number;
  max: number;
  mean: number;
  stdev: number;
  /** Number of samples that are finite numbers. */
  count: number;
}

/** Maximum number of bins of a band, and of all bands together. */
const maxBins = 65_536;
const maxBinsOfAll = 2 ** 19;

/** Statistics of each band over several rasters of the same type; all 0 if there are no finite samples. */
export async function bandStatistics(rasters: readonly Raster[]): Promise<BandStatistics[]> {
  const bandCount = rasters[0]?.bands ?? 0;
  const accumulators = Array.from({ length: bandCount }, () => ({
    min: Infinity,
    max: -Infinity,
    sum: 0,
    squares: 0,
    count: 0,
    shift: NaN,
  }));
  const countSamples = (samples: Float64Array, bands: number) => {
    for (const [band, accumulator] of accumulators.entries()) {
      let { min, max, sum, squares, count, shift } = accumulator;
      for (let position = band; position < samples.length; position += bands) {
        const value = samples[position]!;
        if (!Number.isFinite(value)) continue;
        // The first sample is subtracted before summing, so that large values with small differences keep their precision.
        if (count === 0) shift = value;
        if (value < min) min = value;
        if (value > max) max = value;
        const distance = value - shift;
        sum += distance;
        squares += distance * distance;
        count += 1;
      }
      accumulators[band] = { min, max, sum, squares, count, shift };
    }
  };
  for (const raster of rasters) await processAsDoubles(raster, (samples) => countSamples(samples, raster.bands));
  return accumulators.map(({ min, max, sum, squares, count, shift }) => {
    if (count === 0) return { min: 0, max: 0, mean: 0, stdev: 0, count: 0 };
    const mean = sum / count;
    return { min, max, mean: shift + mean, stdev: Math.sqrt(Math.max(0, squares / count - mean * mean)), count };
  });
}

/**
 * Histogram of each band over several rasters of the same type.
 *
 * @param statistics of each band, if the rasters are only a part of the samples; otherwise computed from the rasters.
 * @throws BadValueError for a number of bins that is not 1 to 65536, too many bins of all bands, or a range that is empty.
 */
export async function histogramOf(
  rasters: readonly Raster[],
  options: HistogramOptions = {},
  statistics?: readonly BandStatistics[],
): Promise<HistogramBand[]> {
  const { bins = pictureDefaults.bins, rangeMin = 0, rangeMax = 0 } = options;
  if (!Number.isInteger(bins) || bins < 1 || bins > maxBins) {
    throw new BadValueError(`Invalid bins: ${bins}. Allowed values: 1 to ${maxBins}.`);
  }
  const bandCount = rasters[0]?.bands ?? 0;
  if (bins * bandCount > maxBinsOfAll) {
    throw new BadValueError(`Invalid bins: ${bins}. The ${bandCount} bands have at most ${maxBinsOfAll} bins together.`);
  }
  if (!Number.isFinite(rangeMin) || !Number.isFinite(rangeMax)) {
    throw new BadValueError(`Invalid range: rangeMin ${rangeMin} and rangeMax ${rangeMax} must be finite numbers.`);
  }
  const isInteger = rasters[0]?.dtype.startsWith('float') !== true;
  const counters = (statistics ?? (await bandStatistics(rasters))).map((each, band) =>
    createBandCounter(isInteger, band, each, options),
  );
  for (const raster of rasters) {
    await processAsDoubles(raster, (samples) => {
      for (const { count } of counters) count(samples, raster.bands);
    });
  }
  return counters.map(({ getHistogram: result }) => result());
}

/** The statistics in the first list, with `min` and `max` of each band widened to include those in the other lists. */
export function widenStatistics([first = [], ...further]: readonly (readonly BandStatistics[])[]): BandStatistics[] {
  return first.map((statistics, band) => {
    const nonEmpty = [statistics, ...further.flatMap((each) => each[band] ?? [])].filter(({ count }) => count > 0);
    if (nonEmpty.length === 0) return statistics;
    const ends = { min: Math.min(...nonEmpty.map(({ min }) => min)), max: Math.max(...nonEmpty.map(({ max }) => max)) };
    return { ...statistics, ...ends };
  });
}

/** Creates a counter for the samples of one band. `count` takes interleaved samples of all bands. */
function createBandCounter(isInteger: boolean, band: number, statistics: BandStatistics, options: HistogramOptions) {
  let { bins: binCount = pictureDefaults.bins } = options;
  const { rangeMin, rangeMax, roundRange = false, density = false } = options;
  // If a request has only one end of the range, the data determine the other; large_image uses 0 and 256.
  let low = rangeMin ?? statistics.min;
  // The range ends above the maximum. For very large values, adjacent doubles differ by more than 1.
  let high = rangeMax ?? statistics.max + Math.max(1, Math.abs(statistics.max) * 2 ** -50);
  if (rangeMin !== undefined && rangeMax === undefined && high <= low) high = low + 1;
  if (rangeMax !== undefined && rangeMin === undefined && low >= high) low = high - 1;
  if (!(low < high)) throw new BadValueError(`Invalid range: rangeMin ${low} must be less than rangeMax ${high}.`);
  if (roundRange && isInteger && rangeMin === undefined && rangeMax === undefined && high - low < 10 * binCount) {
    const span = high - low;
    const step = Math.ceil(span / binCount);
    binCount = Math.ceil(span / step);
    high = low + step * binCount;
  }
  const counts = Array.from({ length: binCount }, () => 0);
  const width = (high - low) / binCount;
  let samples = 0;
  const count = (run: Float64Array, bands: number) => {
    let inside = 0;
    for (let position = band; position < run.length; position += bands) {
      const value = run[position]!;
      if (!(value >= low && value <= high)) continue;
      counts[Math.min(binCount - 1, Math.floor((value - low) / width))]! += 1;
      inside += 1;
    }
    samples += inside;
  };
  const result = (): HistogramBand => ({
    min: statistics.min,
    max: statistics.max,
    mean: statistics.mean,
    stdev: statistics.stdev,
    range: [low, high],
    bins: binCount,
    hist: density && samples > 0 ? counts.map((each) => each / samples) : counts,
    bin_edges: Array.from({ length: binCount + 1 }, (_, edge) => (edge === binCount ? high : low + width * edge)),
    samples,
    density,
  });
  return { count, getHistogram: result };
}

const interpretations: Readonly<Record<number, readonly string[]>> = {
  1: ['gray'],
  2: ['gray', 'alpha'],
  3: ['red', 'green', 'blue'],
  4: ['red', 'green', 'blue', 'alpha'],
};

/** The meaning of each band of an image with this many bands. */
export function bandInterpretations(bandCount: number): string[] {
  const names = interpretations[bandCount] ?? interpretations[3] ?? [];
  return Array.from({ length: bandCount }, (_, band) => names[band] ?? 'unknown');
}
