/** Names of the sample types a tile source may deliver, as on the wire (`dtype`). */
export type SampleType = 'uint8' | 'int8' | 'uint16' | 'int16' | 'uint32' | 'int32' | 'float32' | 'float64';

/** The typed array that holds samples of each type. */
interface SampleArrays {
  uint8: Uint8Array;
  int8: Int8Array;
  uint16: Uint16Array;
  int16: Int16Array;
  uint32: Uint32Array;
  int32: Int32Array;
  float32: Float32Array;
  float64: Float64Array;
}

/** Any of the typed arrays of {@link SampleArrays}. */
export type Samples = SampleArrays[SampleType];

/**
 * Decoded pixels: row by row, samples of one pixel side by side (`data[(y * width + x) * bands + band]`).
 * One band is gray, two gray and alpha, three RGB, four RGB and alpha; more are plain bands. Alpha is not premultiplied.
 */
export interface Raster {
  /** Length `width * height * bands`. */
  data: Samples;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
}

const constructors: { [T in SampleType]: new (length: number) => SampleArrays[T] } = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** Bytes of one sample. */
export function sampleBytes(dtype: SampleType): number {
  return new constructors[dtype](0).BYTES_PER_ELEMENT;
}

/** A raster of zeros. */
export function createRaster(shape: { width: number; height: number; bands: number; dtype: SampleType }): Raster {
  const { width, height, bands, dtype } = shape;
  return { data: new constructors[dtype](width * height * bands), width, height, bands, dtype };
}
