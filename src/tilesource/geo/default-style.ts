import { forEachRange } from '../../core/concurrency/slices.js';
import type { ImageMetadata } from '../tile-source.js';
import { fullValue, minValue, type Raster } from '../raster.js';
import type { MeasuredSamples } from '../measure/sample-selection.js';

/** Number of pixels that are processed between two checks of the time. */
const pixelsPerCheck = 65_536;

/** A band of the default style: its samples from `min` to `max` become the colors of the palette. */
interface StyleBand {
  band: number | 'alpha';
  min: number;
  max: number;
  nodata?: number;
  palette?: readonly string[];
}

/**
 * Whether requests without a style show an image in the range of its samples. This applies to georeferenced measurements, such as
 * elevations. If they were reduced to bytes as usual, little would be visible.
 */
export function hasDefaultStyle({ geo, dtype }: ImageMetadata): boolean {
  return geo !== undefined && dtype !== 'uint8';
}

/** Creates the default style from the range of the measured samples; `null` if none of them has a value. */
export async function createDefaultStyle(
  { nodata, bandCount }: ImageMetadata,
  measured: MeasuredSamples,
): Promise<StyleBand[] | null> {
  const colors = bandCount >= 3 ? ['#f00', '#0f0', '#00f'] : [null];
  const bands: StyleBand[] = [];
  for (const [band, color] of colors.entries()) {
    const [min, max] = await rangeOf([...measured.samples, ...measured.extremes], band, nodata);
    if (!(max >= min)) return null;
    // Samples of a wider type that look like bytes keep the range of bytes.
    const isByteRange = min >= 0 && max <= 255 && max >= 2;
    const range = isByteRange ? { min: 0, max: 255 } : { min, max };
    bands.push({
      band: band + 1,
      ...range,
      ...(nodata !== undefined && { nodata }),
      ...(color !== null && { palette: ['#000', color] }),
    });
  }
  return bands;
}

/** The style as JSON. If the image has alpha, a band for it is added. */
export function toStyleJson(bands: readonly StyleBand[], { bandCount, dtype, white }: ImageMetadata): string {
  const max = dtype.startsWith('float') ? 255 : (white ?? fullValue(dtype));
  const alpha: StyleBand = { band: 'alpha', min: minValue(dtype), max };
  return JSON.stringify({ bands: bandCount === 2 || bandCount === 4 ? [...bands, alpha] : bands });
}

async function rangeOf(rasters: readonly Raster[], band: number, nodata?: number): Promise<[min: number, max: number]> {
  let [min, max] = [Infinity, -Infinity];
  for (const { data, bands } of rasters) {
    await forEachRange(data.length / bands, pixelsPerCheck, (from, to) => {
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
