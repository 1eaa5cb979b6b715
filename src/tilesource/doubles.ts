import { inRuns } from '../core/concurrency/slices.js';
import type { Raster } from './raster.js';

/** Samples that are worked on before the time is looked at: few, as work is ten times slower until the compiler has seen it. */
const samplesAtOnce = 16_384;

/**
 * Gives the samples of a raster as doubles, run by run of whole pixels, in slices: the compiler makes faster code for a single kind of arrays than for
 * all of them.
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
