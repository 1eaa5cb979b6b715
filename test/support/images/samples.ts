import { sampleArrays, type SampleType, type Samples } from '../../../src/tilesource/raster.js';

/** Bytes of a file as samples, little-endian. */
export function samplesOf(bytes: Uint8Array, dtype: SampleType): Samples {
  const copy = Uint8Array.from(bytes);
  return new sampleArrays[dtype](copy.buffer);
}
