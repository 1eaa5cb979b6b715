import { bandStatistics, histogramOf, widened, type BandStatistics } from '../measure/histogram.js';
import type { MeasuredSamples } from '../measure/facts.js';
import type { Raster } from '../raster.js';
import type { BandStyle, StyleBound } from './parse.js';

/** What the samples of a frame are like, as the file holds them. */
export interface FrameSurvey {
  /** Of each band. */
  statistics: readonly BandStatistics[];
  spreads: readonly SampleSpread[];
}

/** How often each sample of a band occurs. */
interface SampleSpread {
  low: number;
  /** Of one bin; 1 where each value has a bin of its own. */
  width: number;
  exact: boolean;
  counts: Uint32Array;
}

/** Up to this many different values are counted each for itself; more of them are counted in this many bins. */
const finestSpread = 65_536;
const coarseSpread = 4096;

/** Samples at which the palette of a band begins and ends. */
export type SampleRange = readonly [min: number, max: number];

/**
 * The range that a style gives to a band.
 *
 * @param index band of the raster, or -1 for the constant alpha of an image that has none.
 * @param survey called only where something has to be measured.
 */
export async function resolveRange(
  band: BandStyle,
  { index, dtype }: { index: number; dtype: Raster['dtype'] },
  survey: () => Promise<FrameSurvey>,
): Promise<SampleRange> {
  if (index < 0) return [0, 255];
  const resolve = async (bound: StyleBound, isMin: boolean): Promise<number> => {
    if (bound.kind === 'number') return bound.value;
    if (bound.kind === 'full') return isMin ? 0 : fullScale(dtype);
    const { statistics, spreads } = await survey();
    const facts = statistics[index] ?? { min: 0, max: 255 };
    const spread = spreads[index];
    if (bound.kind === 'threshold') {
      if (bound.fraction === 0 || !spread) return isMin ? facts.min : facts.max;
      return quantile(spread, bound.fraction, isMin);
    }
    if (bound.kind !== 'auto') return facts[bound.kind];
    const eightBit = statistics.every(({ min, max }) => min >= 0 && min <= 254 && max >= 2 && max <= 255);
    if (eightBit) return isMin ? 0 : 255;
    return isMin ? facts.min : facts.max;
  };
  const [min, max] = [await resolve(band.min, true), await resolve(band.max, false)];
  const isFlat = min === max && band.min.kind === 'threshold' && band.max.kind === 'threshold';
  // Where nearly all samples are equal, they are shown in the middle between zero and twice their value, instead of at the dark end.
  return isFlat ? [min - Math.abs(min), max + Math.abs(max)] : [min, max];
}

function fullScale(dtype: Raster['dtype']): number {
  if (dtype === 'uint16' || dtype === 'int16') return 65_535;
  if (dtype === 'uint32' || dtype === 'int32') return 2 ** 32 - 1;
  return dtype === 'uint8' || dtype === 'int8' ? 255 : 1;
}

/** Counts the samples of a frame. */
export async function surveySamples({ samples, extremes }: MeasuredSamples): Promise<FrameSurvey> {
  const counted = await bandStatistics(samples);
  const isInteger = samples[0]?.dtype.startsWith('float') !== true;
  const spreads: SampleSpread[] = [];
  for (const [band, { min, max }] of counted.entries()) {
    if (min === max) {
      spreads.push({ low: min, width: 1, exact: true, counts: Uint32Array.of(1) });
      continue;
    }
    const span = max - min + 1;
    const exact = isInteger && span <= finestSpread;
    const bins = exact ? span : coarseSpread;
    const end = exact ? max + 1 : max + Number.EPSILON * Math.max(1, Math.abs(max));
    const facts = (await histogramOf(samples, { bins, rangeMin: min, rangeMax: end }))[band];
    spreads.push({ low: min, width: (end - min) / bins, exact, counts: Uint32Array.from(facts?.hist ?? []) });
  }
  return { statistics: widened([counted, await bandStatistics(extremes)]), spreads };
}

/** The sample below (or above) which at most a fraction of the samples lies. */
function quantile({ low, width, exact, counts }: SampleSpread, fraction: number, fromBelow: boolean): number {
  let left = fraction * counts.reduce((sum, count) => sum + count, 0);
  const { length } = counts;
  const at = (step: number) => (fromBelow ? step : length - 1 - step);
  let step = 0;
  while (step < length - 1 && (counts[at(step)] ?? 0) <= left) left -= counts[at(step++)] ?? 0;
  return low + width * (fromBelow || exact ? at(step) : at(step) + 1);
}
