import { request } from '../api.js';
import type { Histogram } from './channel-range.js';
import { automaticShare } from '../../tilesource/style/usual-colors.js';
import type { Channel } from './channels.js';
import { projectionQuery, type Projection } from './projection.js';

const binCount = 4096;

/** Requests the histogram of a channel in a frame. The range of the histogram includes the automatic bounds. @returns `undefined` if there is no histogram */
export async function requestHistogram(
  itemId: string,
  { source }: Channel,
  { frame, projection }: { frame: number; projection: Projection | null },
  signal: AbortSignal,
): Promise<Histogram | undefined> {
  const requestBins = async (range: { rangeMin?: number; rangeMax?: number } = {}) => {
    const query = { frame, ...projectionQuery(projection), bins: binCount, threshold: automaticShare, ...range };
    // The declared type also covers requests about cached histograms, which have another response.
    const histograms = (await request('GET', `item/${itemId}/tiles/histogram`, { query, signal })) as unknown as Histogram[];
    return histograms['band' in source ? source.band - 1 : 0];
  };
  const histogram = await requestBins();
  if (!histogram) return undefined;
  // If all samples are equal, the automatic bounds are outside the range of the samples.
  const min = Math.min(histogram.min, histogram.thresholds[0]);
  const max = Math.max(histogram.max, histogram.thresholds[1]);
  const hasBoundsOutside = min < histogram.min || max > histogram.max;
  // Unless a range is given, the last bin ends 1 above the maximum. Samples that differ by less than 1 would then be in very few bins.
  const needsFinerBins = max > min && (hasBoundsOutside || max - min < 1);
  const finerHistogram = needsFinerBins ? await requestBins({ rangeMin: min, rangeMax: max }) : undefined;
  return { ...(finerHistogram ?? histogram), min, max };
}
