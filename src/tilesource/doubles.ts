import { inRuns } from '../core/concurrency/slices.js';
import type { Raster } from './raster.js';

/** Samples that are processed between two checks of the time. They are few, because the code is ten times slower until it is compiled. */
const samplesAtOnce = 16_384;

/**
 * Gives the samples of a raster as doubles, in runs of complete pixels, and in slices. With one kind of array the compiler makes faster code than
 * with all of them.
 */
export async function inDoubles(
  { data, bands }: Raster,
  work: (samples: Float64Array, firstPixel: number) => void,
): Promise<void> {
  const pixels = Math.ceil(samplesAtOnce / bands);
  const samples = new Float64Array(pixels * bands);
  await inRuns(data.length / bands, pixels, (from, to) => {
    samples.set(data.subarray(from * bands, to * bands));
    work(samples.subarray(0, (to - from) * bands), from);
  });
}
