import { forEachRange } from '../core/concurrency/slices.js';
import type { Raster } from './raster.js';

/**
 * Number of samples that are processed between two checks of the time. It is small, because the code is ten times slower until it
 * is compiled.
 */
const samplesAtOnce = 16_384;

/**
 * Passes the samples of a raster as doubles, in runs of complete pixels, and in slices. The compiler makes faster code for one kind
 * of array than for many.
 */
export async function processAsDoubles(
  { data, bands }: Raster,
  work: (samples: Float64Array, firstPixel: number) => void,
): Promise<void> {
  const pixels = Math.ceil(samplesAtOnce / bands);
  const samples = new Float64Array(pixels * bands);
  await forEachRange(data.length / bands, pixels, (from, to) => {
    samples.set(data.subarray(from * bands, to * bands));
    work(samples.subarray(0, (to - from) * bands), from);
  });
}
