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
  /** Counts, or fractions where `density` is true. Bins are half open, the last one closed. */
  hist: number[];
  /** One more than bins. */
  bin_edges: number[];
  /** Number of samples inside the range. */
  samples: number;
  density: boolean;
}

/** How to count. */
export interface HistogramOptions {
  bins?: number;
  rangeMin?: number;
  rangeMax?: number;
  roundRange?: boolean;
  density?: boolean;
}

/** Minimum, maximum, mean and population standard deviation of one band. NaN samples do not count. */
export interface BandStatistics {
  min: number;
  max: number;
  mean: number;
  stdev: number;
  /** Number of samples that are numbers. */
  count: number;
}

/** Largest number of bins that may be asked for. */
const maxBins = 65_536;

/** Facts of each band of a raster; all 0 where it has no samples. */
export function bandStatistics(raster: Raster): BandStatistics[] {
  return Array.from({ length: raster.bands }, (_, band) => statisticsOf(raster, band));
}

function statisticsOf({ data, bands }: Raster, band: number): BandStatistics {
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let squares = 0;
  let count = 0;
  // Sums are taken of the distance to the first sample, so that large values with small differences keep their digits.
  let shift = NaN;
  for (let position = band; position < data.length; position += bands) {
    const value = data[position] ?? NaN;
    if (Number.isNaN(value)) continue;
    if (count === 0) shift = value;
    if (value < min) min = value;
    if (value > max) max = value;
    const distance = value - shift;
    sum += distance;
    squares += distance * distance;
    count += 1;
  }
  if (count === 0) return { min: 0, max: 0, mean: 0, stdev: 0, count: 0 };
  const mean = sum / count;
  return { min, max, mean: shift + mean, stdev: Math.sqrt(Math.max(0, squares / count - mean * mean)), count };
}

/**
 * Histogram of each band.
 *
 * @throws BadValueError for a number of bins that is not 1 to 65536, or a range that is empty.
 */
export function histogramOf(raster: Raster, options: HistogramOptions = {}): HistogramBand[] {
  const { bins = 256 } = options;
  if (!Number.isInteger(bins) || bins < 1 || bins > maxBins) {
    throw new BadValueError(`Invalid bins: ${bins}. Allowed values: 1 to ${maxBins}.`);
  }
  return bandStatistics(raster).map((statistics, band) => countBand(raster, band, statistics, options));
}

function countBand(raster: Raster, band: number, facts: BandStatistics, options: HistogramOptions): HistogramBand {
  let { bins = 256 } = options;
  const { rangeMin, rangeMax, roundRange = false, density = false } = options;
  const whole = !raster.dtype.startsWith('float');
  // A missing end of an explicit range is that of the data: better than the peer's 0 and 256.
  let low = rangeMin ?? facts.min;
  let high = rangeMax ?? facts.max + 1;
  if (rangeMin !== undefined && rangeMax === undefined && high <= low) high = low + 1;
  if (rangeMax !== undefined && rangeMin === undefined && low >= high) low = high - 1;
  if (!(low < high)) throw new BadValueError(`Invalid range: rangeMin ${low} must be less than rangeMax ${high}.`);
  if (roundRange && whole && rangeMin === undefined && rangeMax === undefined && high - low < 10 * bins) {
    const span = high - low;
    const step = Math.ceil(span / bins);
    bins = Math.ceil(span / step);
    high = low + step * bins;
  }
  const counts = Array.from({ length: bins }, () => 0);
  const width = (high - low) / bins;
  let samples = 0;
  for (let position = band; position < raster.data.length; position += raster.bands) {
    const value = raster.data[position] ?? NaN;
    if (!(value >= low && value <= high)) continue;
    const bin = Math.min(bins - 1, Math.floor((value - low) / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
    samples += 1;
  }
  return {
    min: facts.min,
    max: facts.max,
    mean: facts.mean,
    stdev: facts.stdev,
    range: [low, high],
    bins,
    hist: density && samples > 0 ? counts.map((count) => count / samples) : counts,
    bin_edges: Array.from({ length: bins + 1 }, (_, edge) => (edge === bins ? high : low + width * edge)),
    samples,
    density,
  };
}

const interpretations: Readonly<Record<number, readonly string[]>> = {
  1: ['gray'],
  2: ['gray', 'alpha'],
  3: ['red', 'green', 'blue'],
  4: ['red', 'green', 'blue', 'alpha'],
};

/** What the bands of an image mean, by their number. */
export function bandInterpretations(bandCount: number): string[] {
  const known = interpretations[bandCount] ?? interpretations[3] ?? [];
  return Array.from({ length: bandCount }, (_, band) => known[band] ?? 'unknown');
}
