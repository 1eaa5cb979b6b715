import { histogramOf, type BandStatistics } from '../render/histogram.js';
import type { Raster } from '../raster.js';
import type { BandStyle, StyleBound } from './parse.js';

/** What the samples of a frame are like, measured on the image reduced to at most 1024 pixels a side. */
export interface FrameSurvey {
  raster: Raster;
  statistics: readonly BandStatistics[];
}

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
    const { raster, statistics } = await survey();
    const facts = statistics[index] ?? { min: 0, max: 255 };
    if (bound.kind === 'threshold') return quantile(raster, index, bound.fraction, isMin);
    if (bound.kind !== 'auto') return facts[bound.kind];
    const eightBit = statistics.every(({ min, max }) => min >= 0 && min <= 254 && max >= 2 && max <= 255);
    if (eightBit) return isMin ? 0 : 255;
    return isMin ? facts.min : facts.max;
  };
  return [await resolve(band.min, true), await resolve(band.max, false)];
}

function fullScale(dtype: Raster['dtype']): number {
  if (dtype === 'uint16' || dtype === 'int16') return 65_535;
  if (dtype === 'uint32' || dtype === 'int32') return 2 ** 32 - 1;
  return dtype === 'uint8' || dtype === 'int8' ? 255 : 1;
}

/** The sample below (or above) which at most a fraction of the samples lies. */
async function quantile(raster: Raster, band: number, fraction: number, fromBelow: boolean): Promise<number> {
  const spread = (await histogramOf(raster, { bins: 1 }))[band];
  if (!spread || spread.samples === 0) return 0;
  const isInteger = !raster.dtype.startsWith('float');
  const span = spread.max - spread.min + 1;
  const bins = isInteger && span <= 65_536 ? span : 4096;
  const range = {
    rangeMin: spread.min,
    rangeMax: isInteger ? spread.max + 1 : spread.max + Number.EPSILON * Math.abs(spread.max),
  };
  if (range.rangeMax <= range.rangeMin) return spread.min;
  const counted = (await histogramOf(raster, { bins, ...range }))[band];
  if (!counted) return 0;
  let left = fraction * counted.samples;
  const order = fromBelow ? counted.hist : counted.hist.toReversed();
  let bin = 0;
  while (bin < bins - 1 && (order[bin] ?? 0) <= left) left -= order[bin++] ?? 0;
  const index = fromBelow ? bin : bins - 1 - bin;
  const exact = isInteger && bins === span;
  return counted.bin_edges[fromBelow || exact ? index : index + 1] ?? 0;
}
