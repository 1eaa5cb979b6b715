import type { Raster } from '../raster.js';
import { crop, decimate } from '../render/pixels.js';
import { averageSamples } from './average.js';
import { halfSize } from './levels.js';

/** How a level of a pyramid is made from the next finer level. */
export interface HalvingOptions {
  /** Whether each new pixel is the first of four pixels instead of their mean. */
  nearest?: boolean;
  /** The sample value that marks pixels without data. */
  nodata?: number | null;
}

/** Halves a raster. An odd last row or column is dropped. */
export async function halve(raster: Raster, { nearest = false, nodata = null }: HalvingOptions): Promise<Raster> {
  const size = halfSize(raster);
  if (nearest) return crop(await decimate(raster, 2), size);
  const window = {
    left: 0,
    top: 0,
    width: Math.min(raster.width, size.width * 2),
    height: Math.min(raster.height, size.height * 2),
  };
  return averageSamples(raster, size, { window, nodata });
}
