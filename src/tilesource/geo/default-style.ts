import { inRuns } from '../../core/concurrency/slices.js';
import type { ImageMetadata } from '../contract.js';
import { fullValue, leastValue, type Raster } from '../raster.js';
import type { MeasuredSamples } from '../measure/facts.js';

/** Samples that are looked at before the time is. */
const samplesAtOnce = 65_536;

/** A band whose samples are shown from the smallest to the largest, with the colours of its place. */
interface UsualBand {
  band: number | 'alpha';
  min: number;
  max: number;
  nodata?: number;
  palette?: readonly string[];
}

/** Whether samples are shown in their range where a request gives no style: those that are measurements, of which bytes would show little. */
export function hasUsualStyle({ geo, dtype }: ImageMetadata): boolean {
  return geo !== undefined && dtype !== 'uint8';
}

/** The style in which measured samples are shown; `null` where there are none. */
export async function defaultStyle({ geo, bandCount }: ImageMetadata, measured: MeasuredSamples): Promise<UsualBand[] | null> {
  const nodata = geo?.nodata ?? null;
  const colours = bandCount >= 3 ? ['#f00', '#0f0', '#00f'] : [null];
  const bands: UsualBand[] = [];
  for (const [band, colour] of colours.entries()) {
    const [min, max] = await rangeOf([...measured.samples, ...measured.extremes], band, nodata);
    if (!(max >= min)) return null;
    // Bytes in a wider type are shown as they are.
    const isEight = min >= 0 && max <= 255 && max >= 2;
    const range = isEight ? { min: 0, max: 255 } : { min, max };
    bands.push({
      band: band + 1,
      ...range,
      ...(nodata !== null && { nodata }),
      ...(colour !== null && { palette: ['#000', colour] }),
    });
  }
  return bands;
}

/** The style with the opacity of a picture that has one. */
export function withOpacity(bands: readonly UsualBand[], { bandCount, dtype }: ImageMetadata): string {
  const most = dtype.startsWith('float') ? 255 : fullValue(dtype);
  const alpha: UsualBand = { band: 'alpha', min: leastValue(dtype), max: most };
  return JSON.stringify({ bands: bandCount === 2 || bandCount === 4 ? [...bands, alpha] : bands });
}

async function rangeOf(rasters: readonly Raster[], band: number, nodata: number | null): Promise<[min: number, max: number]> {
  let [min, max] = [Infinity, -Infinity];
  for (const { data, bands } of rasters) {
    await inRuns(data.length / bands, samplesAtOnce, (from, to) => {
      for (let pixel = from; pixel < to; pixel += 1) {
        const sample = data[pixel * bands + band]!;
        if (sample === nodata || !Number.isFinite(sample)) continue;
        if (sample < min) min = sample;
        if (sample > max) max = sample;
      }
    });
  }
  return [min, max];
}
