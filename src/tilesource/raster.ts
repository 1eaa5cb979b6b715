/** Names of the sample types of tile sources, as in responses (`dtype`). */
export type SampleType = 'uint8' | 'int8' | 'uint16' | 'int16' | 'uint32' | 'int32' | 'float32' | 'float64';

/** The type of the array for each sample type. */
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
 * Decoded pixels, row by row. The samples of a pixel are consecutive: `data[(y * width + x) * bands + band]`. One band is gray, two
 * bands are gray and alpha, three are RGB, and four are RGB and alpha. More bands have no fixed meaning. Alpha is not
 * premultiplied.
 */
export interface Raster {
  /** Length `width * height * bands`. */
  data: Samples;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
}

/** The constructor of the array for each sample type. */
export const sampleArrays = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const satisfies { [T in SampleType]: unknown };

const fullValues: Readonly<Record<SampleType, number>> = {
  uint8: 255,
  int8: 127,
  uint16: 65_535,
  int16: 32_767,
  uint32: 2 ** 32 - 1,
  int32: 2 ** 31 - 1,
  float32: 1,
  float64: 1,
};

/** The largest value of samples, which means white or opaque; 1 for floats. */
export function fullValue(dtype: SampleType): number {
  return fullValues[dtype];
}

/** The smallest value of samples, which means black or transparent. */
export function minValue(dtype: SampleType): number {
  return dtype.startsWith('int') ? -fullValue(dtype) - 1 : 0;
}

/**
 * The metadata member `white` for samples that use only the lowest `bits` bits of their type. Empty if they use all bits, and for
 * floats.
 */
export function whiteOfBits(dtype: SampleType, bits: number): { white?: number } {
  const white = 2 ** (dtype.startsWith('int') ? bits - 1 : bits) - 1;
  return dtype.startsWith('float') || white < 1 || white >= fullValue(dtype) ? {} : { white };
}

/** Bytes of one sample. */
export function sampleBytes(dtype: SampleType): number {
  return new sampleArrays[dtype](0).BYTES_PER_ELEMENT;
}

/**
 * A view of the same memory as unsigned integers or doubles of the same size, for loops that only move samples. The compiler makes
 * fast code for up to four kinds of arrays; with more kinds, the code is twenty times slower.
 */
export function bitsOf(samples: Samples): Uint8Array | Uint16Array | Uint32Array | Float64Array {
  const { buffer, byteOffset, length, BYTES_PER_ELEMENT: size } = samples;
  if (size === 1) return new Uint8Array(buffer, byteOffset, length);
  if (size === 2) return new Uint16Array(buffer, byteOffset, length);
  if (size === 4) return new Uint32Array(buffer, byteOffset, length);
  return new Float64Array(buffer, byteOffset, length);
}

/** A raster of zeros. */
export function createRaster(shape: { width: number; height: number; bands: number; dtype: SampleType }): Raster {
  const { width, height, bands, dtype } = shape;
  return { data: new sampleArrays[dtype](width * height * bands), width, height, bands, dtype };
}

/** The value of a half-precision float from its 16 bits. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x80_00 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3_ff];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
