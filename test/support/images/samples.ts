import type { SampleType, Samples } from '../../../src/tilesource/raster.js';

const constructors = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** Bytes of a file as samples, little-endian. */
export function samplesOf(bytes: Uint8Array, dtype: SampleType): Samples {
  const copy = Uint8Array.from(bytes);
  return new constructors[dtype](copy.buffer);
}
