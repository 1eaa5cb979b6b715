import { TileSourceError } from '../../../errors.js';
import { sampleBytes, type SampleType } from '../../raster.js';

/** How the pixels of a sub-block are stored. */
export interface PixelType {
  name: string;
  dtype: SampleType;
  /** Number of samples of one pixel in the file. Colors are stored blue first. */
  storedSamples: number;
  /** Number of visible samples of one pixel. */
  bands: 1 | 3;
}

/**
 * Pixel types by their numbers in the file. The fourth sample of Bgra32 is not shown, because it is not alpha in files that
 * scanners write.
 */
const pixelTypes: Readonly<Record<number, PixelType>> = {
  0: { name: 'Gray8', dtype: 'uint8', storedSamples: 1, bands: 1 },
  1: { name: 'Gray16', dtype: 'uint16', storedSamples: 1, bands: 1 },
  2: { name: 'Gray32Float', dtype: 'float32', storedSamples: 1, bands: 1 },
  3: { name: 'Bgr24', dtype: 'uint8', storedSamples: 3, bands: 3 },
  4: { name: 'Bgr48', dtype: 'uint16', storedSamples: 3, bands: 3 },
  8: { name: 'Bgr96Float', dtype: 'float32', storedSamples: 3, bands: 3 },
  9: { name: 'Bgra32', dtype: 'uint8', storedSamples: 4, bands: 3 },
  12: { name: 'Gray32', dtype: 'uint32', storedSamples: 1, bands: 1 },
  13: { name: 'Gray64', dtype: 'float64', storedSamples: 1, bands: 1 },
};

/** Types of samples from narrow to wide. An image whose planes have different types gets the widest of these types. */
const typesByWidth: readonly SampleType[] = ['uint8', 'uint16', 'uint32', 'float32', 'float64'];

/** The pixel type for its number in the file. @throws TileSourceError for complex numbers and unknown types. */
export function pixelTypeOf(number: number): PixelType {
  const type = pixelTypes[number];
  if (type !== undefined) return type;
  const name = { 10: 'Gray64ComplexFloat', 11: 'Bgr192ComplexFloat' }[number] ?? `number ${number}`;
  throw new TileSourceError(`The CZI has pixels of type ${name}, which is not supported.`);
}

/** The type of samples and the number of bands that can represent pixels of all these types. */
export function commonType(types: Iterable<PixelType>): { dtype: SampleType; bands: number } {
  let dtype: SampleType = 'uint8';
  let bands = 1;
  for (const type of types) {
    if (typesByWidth.indexOf(type.dtype) > typesByWidth.indexOf(dtype)) ({ dtype } = type);
    bands = Math.max(bands, type.bands);
  }
  return { dtype, bands };
}

/** Bytes of one stored pixel. */
export function pixelBytes(type: PixelType): number {
  return type.storedSamples * sampleBytes(type.dtype);
}
