import type { TileSource } from '../tile-source.js';
import { createRaster, fullValue, minValue, sampleBytes, type Raster, type SampleType } from '../raster.js';

/** How samples of any type are mapped to unsigned integers of 8 or 16 bits. */
export interface SampleMapping {
  dtype: 'uint8' | 'uint16';
  /** Computes the new sample. `null` if samples stay unchanged. */
  convert: ((sample: number) => number) | null;
}

/**
 * The mapping for samples that use only values up to `white`. The values are spread over 8 or 16 bits, so that the converted image
 * looks the same.
 */
function whiteMapping(dtype: SampleType, white: number): SampleMapping {
  const black = minValue(dtype) === 0 ? 0 : -white - 1;
  const mappedDtype = sampleBytes(dtype) === 1 ? 'uint8' : 'uint16';
  const max = fullValue(mappedDtype);
  const factor = max / (white - black);
  return { dtype: mappedDtype, convert: (sample) => Math.max(0, Math.min(max, Math.round((sample - black) * factor))) };
}

const mappingByDtype: { [T in SampleType]?: SampleMapping } = {
  uint8: { dtype: 'uint8', convert: null },
  uint16: { dtype: 'uint16', convert: null },
  int8: { dtype: 'uint8', convert: (sample) => sample + 128 },
  int16: { dtype: 'uint16', convert: (sample) => sample + 32_768 },
};

/**
 * The mapping for floating-point and 32-bit samples, which depends on their range. Samples from 0 to 1 or -1 to 1 are spread over
 * 16 bits, samples that fit 8 or 16 bits lose only their fractions, and all others are scaled from their range to 16 bits.
 */
function rangeMapping(low: number, high: number): SampleMapping {
  const floorAndClip = (value: number, max: number) => (value > 0 ? Math.min(max, Math.floor(value)) : 0);
  if (low >= 0 && high <= 1) return { dtype: 'uint16', convert: (sample) => floorAndClip(sample * 65_535, 65_535) };
  if (low >= 0 && high <= 255) return { dtype: 'uint8', convert: (sample) => floorAndClip(sample, 255) };
  if (low >= 0 && high <= 65_535) return { dtype: 'uint16', convert: (sample) => floorAndClip(sample, 65_535) };
  if (low >= -1 && high <= 1) return { dtype: 'uint16', convert: (sample) => floorAndClip((sample + 1) * 32_767, 65_535) };
  const scale = 65_535 / (high - low || 1);
  return { dtype: 'uint16', convert: (sample) => floorAndClip((sample - low) * scale, 65_535) };
}

/**
 * Finds the mapping for the samples of these frames. If the samples are floats or have 32 bits, all are read to find their range.
 */
export async function findSampleMapping(
  source: TileSource,
  frames: readonly number[],
  options: { signal?: AbortSignal } = {},
): Promise<SampleMapping> {
  const { metadata } = source;
  if (metadata.white !== undefined) return whiteMapping(metadata.dtype, metadata.white);
  const fixedMapping = mappingByDtype[metadata.dtype];
  if (fixedMapping !== undefined) return fixedMapping;
  let [low, high] = [Infinity, -Infinity];
  const level = metadata.levels - 1;
  for (const frame of frames) {
    for (let y = 0; y * metadata.tileHeight < metadata.sizeY; y += 1) {
      for (let x = 0; x * metadata.tileWidth < metadata.sizeX; x += 1) {
        options.signal?.throwIfAborted();
        for (const sample of (await source.readTile({ level, x, y, frame }, options)).data) {
          // Both comparisons are false for NaN, which therefore has no influence.
          if (sample < low) low = sample;
          if (sample > high) high = sample;
        }
      }
    }
  }
  return rangeMapping(Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 0);
}

/** Maps the samples of a raster. Returns the same raster if the mapping changes nothing. */
export function convertSamples(raster: Raster, { dtype, convert }: SampleMapping): Raster {
  if (convert === null) return raster;
  const mapped = createRaster({ ...raster, dtype });
  for (let at = 0; at < mapped.data.length; at += 1) mapped.data[at] = convert(raster.data[at] ?? 0);
  return mapped;
}
