import { forEachRange } from '../core/concurrency/slices.js';
import type { Raster } from './raster.js';

/**
 * Number of samples that are processed between two checks of the time. It is small, because code that is not yet compiled is ten
 * times slower.
 */
const samplesPerCheck = 16_384;

/**
 * Calls `processRun` with the samples of a raster, in runs of complete pixels, and pauses between slices of time. All samples are
 * converted to doubles, because the compiler makes faster code for one kind of array than for many.
 */
export async function processAsDoubles(
  { data, bands }: Raster,
  processRun: (samples: Float64Array, firstPixel: number) => void,
): Promise<void> {
  const pixelsAtOnce = Math.ceil(samplesPerCheck / bands);
  const samples = new Float64Array(pixelsAtOnce * bands);
  await forEachRange(data.length / bands, pixelsAtOnce, (from, to) => {
    samples.set(data.subarray(from * bands, to * bands));
    processRun(samples.subarray(0, (to - from) * bands), from);
  });
}
