import { request } from '../api.js';
import type { Histogram } from './channel-range.js';
import { automaticShare } from '../../tilesource/style/usual-colors.js';
import type { Channel } from './channels.js';
import { projectionQuery, type Projection } from './projection.js';

const bins = 4096;

/** The histogram of a channel of a frame; `undefined` if the image has none. Its range includes the automatic bounds. */
export async function requestHistogram(
  itemId: string,
  { source }: Channel,
  { frame, projection }: { frame: number; projection: Projection | null },
  signal: AbortSignal,
): Promise<Histogram | undefined> {
  const ask = async (part: { rangeMin?: number; rangeMax?: number } = {}) => {
    const query = { frame, ...projectionQuery(projection), bins, threshold: automaticShare, ...part };
    // Only requests about the cache have another response.
    const histograms = (await request('GET', `item/${itemId}/tiles/histogram`, { query, signal })) as unknown as Histogram[];
    return histograms['band' in source ? source.band - 1 : 0];
  };
  const histogram = await ask();
  if (!histogram) return undefined;
  // If all samples are equal, automatic bounds are outside their range.
  const min = Math.min(histogram.min, histogram.thresholds[0]);
  const max = Math.max(histogram.max, histogram.thresholds[1]);
  const isWider = min < histogram.min || max > histogram.max;
  // The last bin ends 1 above the maximum, so fractional samples would be in very few bins.
  const needsFinerBins = max > min && (isWider || max - min < 1);
  const finer = needsFinerBins ? await ask({ rangeMin: min, rangeMax: max }) : undefined;
  return { ...(finer ?? histogram), min, max };
}
