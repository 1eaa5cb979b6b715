import { pictureDefaults } from '../picture-parameters.js';
import { processAsDoubles } from '../doubles.js';
import { BadValueError } from '../../errors.js';
import type { Raster } from '../raster.js';

/** Statistics of one band, and the number of its samples in each bin. */
export interface HistogramBand {
  min: number;
  max: number;
  mean: number;
  /** Population standard deviation. */
  stdev: number;
  /** Lowest and highest edge of the bins. */
  range: [number, number];
  bins: number;
  /**
   * Number of samples in each bin, or with `density` the fraction of the samples inside the range. A bin includes its lower edge;
   * only the last bin also includes its upper edge.
   */
  hist: number[];
  /** Edges of the bins, one more than there are bins. */
  bin_edges: number[];
  /** Number of samples inside the range. */
  samples: number;
  density: boolean;
  /** The values that `min:` and `max:` followed by the requested threshold have in a style. */
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

/** Maximum number of bins of one band. */
const maxBins = 65_536;
/** Maximum number of bins of all bands together. */
const maxTotalBins = 2 ** 19;

/** Statistics of each band over several rasters of the same type; all 0 if there are no finite samples. */
export async function bandStatistics(rasters: readonly Raster[]): Promise<BandStatistics[]> {
  const bandCount = rasters[0]?.bands ?? 0;
  const accumulators = Array.from({ length: bandCount }, () => ({
    min: Infinity,
    max: -Infinity,
    sum: 0,
    sumOfSquares: 0,
    count: 0,
    shift: NaN,
  }));
  const addSamples = (samples: Float64Array, bands: number) => {
    for (const [band, accumulator] of accumulators.entries()) {
      let { min, max, sum, sumOfSquares, count, shift } = accumulator;
      for (let position = band; position < samples.length; position += bands) {
        const value = samples[position]!;
        if (!Number.isFinite(value)) continue;
        // The first sample is subtracted before summing, so that large values with small differences keep their precision.
        if (count === 0) shift = value;
        if (value < min) min = value;
        if (value > max) max = value;
        const shifted = value - shift;
        sum += shifted;
        sumOfSquares += shifted * shifted;
        count += 1;
      }
      accumulators[band] = { min, max, sum, sumOfSquares, count, shift };
    }
  };
  for (const raster of rasters) await processAsDoubles(raster, (samples) => addSamples(samples, raster.bands));
  return accumulators.map(({ min, max, sum, sumOfSquares, count, shift }) => {
    if (count === 0) return { min: 0, max: 0, mean: 0, stdev: 0, count: 0 };
    const shiftedMean = sum / count;
    const variance = Math.max(0, sumOfSquares / count - shiftedMean * shiftedMean);
    return { min, max, mean: shift + shiftedMean, stdev: Math.sqrt(variance), count };
  });
}

/**
 * Histogram of each band over several rasters of the same type.
 *
 * @param statistics the statistics of each band, if the rasters contain only some of the samples. By default, they are computed
 * from the rasters.
 * @throws BadValueError if a band, or all bands together, would have too many bins, and if the range is empty or not finite.
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
  if (bins * bandCount > maxTotalBins) {
    throw new BadValueError(`Invalid bins: ${bins}. The ${bandCount} bands have at most ${maxTotalBins} bins together.`);
  }
  if (!Number.isFinite(rangeMin) || !Number.isFinite(rangeMax)) {
    throw new BadValueError(`Invalid range: rangeMin ${rangeMin} and rangeMax ${rangeMax} must be finite numbers.`);
  }
  const isInteger = rasters[0]?.dtype.startsWith('float') !== true;
  const counters = (statistics ?? (await bandStatistics(rasters))).map((statisticsOfBand, band) =>
    createBandCounter(isInteger, band, statisticsOfBand, options),
  );
  for (const raster of rasters) {
    await processAsDoubles(raster, (samples) => {
      for (const { countSamples } of counters) countSamples(samples, raster.bands);
    });
  }
  return counters.map(({ getHistogram }) => getHistogram());
}

/**
 * Returns the first list of statistics, with `min` and `max` of each band widened to include this band's range in the other lists.
 */
export function widenStatistics([first = [], ...others]: readonly (readonly BandStatistics[])[]): BandStatistics[] {
  return first.map((statistics, band) => {
    const nonEmptyStatistics = [statistics, ...others.flatMap((list) => list[band] ?? [])].filter(({ count }) => count > 0);
    if (nonEmptyStatistics.length === 0) return statistics;
    const lowest = Math.min(...nonEmptyStatistics.map(({ min }) => min));
    const highest = Math.max(...nonEmptyStatistics.map(({ max }) => max));
    return { ...statistics, min: lowest, max: highest };
  });
}

/** Creates a counter for the samples of one band. The counter's `countSamples` takes the interleaved samples of all bands. */
function createBandCounter(isInteger: boolean, band: number, statistics: BandStatistics, options: HistogramOptions) {
  let { bins: binCount = pictureDefaults.bins } = options;
  const { rangeMin, rangeMax, roundRange = false, density = false } = options;
  // If a request states only one end of the range, the samples determine the other end.
  let low = rangeMin ?? statistics.min;
  // The range ends 1 above the maximum, or more for very large values, whose adjacent doubles differ by more than 1.
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
  const binWidth = (high - low) / binCount;
  let countInRange = 0;
  const countSamples = (samples: Float64Array, bands: number) => {
    for (let position = band; position < samples.length; position += bands) {
      const value = samples[position]!;
      if (!(value >= low && value <= high)) continue;
      counts[Math.min(binCount - 1, Math.floor((value - low) / binWidth))]! += 1;
      countInRange += 1;
    }
  };
  const getHistogram = (): HistogramBand => ({
    min: statistics.min,
    max: statistics.max,
    mean: statistics.mean,
    stdev: statistics.stdev,
    range: [low, high],
    bins: binCount,
    hist: density && countInRange > 0 ? counts.map((count) => count / countInRange) : counts,
    bin_edges: Array.from({ length: binCount + 1 }, (_, edge) => (edge === binCount ? high : low + binWidth * edge)),
    samples: countInRange,
    density,
  });
  return { countSamples, getHistogram };
}

const interpretationsByBandCount: Readonly<Record<number, readonly string[]>> = {
  1: ['gray'],
  2: ['gray', 'alpha'],
  3: ['red', 'green', 'blue'],
  4: ['red', 'green', 'blue', 'alpha'],
};

/** The meaning of each band of an image with this many bands: a color, `alpha` or `unknown`. */
export function bandInterpretations(bandCount: number): string[] {
  const names = interpretationsByBandCount[bandCount] ?? interpretationsByBandCount[3] ?? [];
  return Array.from({ length: bandCount }, (_, band) => names[band] ?? 'unknown');
}
