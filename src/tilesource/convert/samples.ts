import type { TileSource } from '../contract.js';
import { createRaster, type Raster, type SampleType } from '../raster.js';

/** How samples of any type become the whole numbers of 8 or 16 bits that are written. */
export interface SampleMapping {
  dtype: 'uint8' | 'uint16';
  /** `null`: as they are. */
  convert: ((sample: number) => number) | null;
}

const fixedMappings: { [T in SampleType]?: SampleMapping } = {
  uint8: { dtype: 'uint8', convert: null },
  uint16: { dtype: 'uint16', convert: null },
  int8: { dtype: 'uint8', convert: (sample) => sample + 128 },
  int16: { dtype: 'uint16', convert: (sample) => sample + 32_768 },
};

/** The mapping for samples of a type, where their range is needed to know it. */
function measuredMapping(low: number, high: number): SampleMapping {
  const clip = (value: number, most: number) => (value > 0 ? Math.min(most, Math.floor(value)) : 0);
  if (low >= 0 && high <= 1) return { dtype: 'uint16', convert: (sample) => clip(sample * 65_535, 65_535) };
  if (low >= 0 && high <= 255) return { dtype: 'uint8', convert: (sample) => clip(sample, 255) };
  if (low >= 0 && high <= 65_535) return { dtype: 'uint16', convert: (sample) => clip(sample, 65_535) };
  if (low >= -1 && high <= 1) return { dtype: 'uint16', convert: (sample) => clip((sample + 1) * 32_767, 65_535) };
  const scale = 65_535 / (high - low || 1);
  return { dtype: 'uint16', convert: (sample) => clip((sample - low) * scale, 65_535) };
}

/** Finds out how the samples of these frames are to be written; for floating-point and 32-bit samples by reading them all. */
export async function mapSamples(
  source: TileSource,
  frames: readonly number[],
  options: { signal?: AbortSignal } = {},
): Promise<SampleMapping> {
  const { metadata } = source;
  const fixed = fixedMappings[metadata.dtype];
  if (fixed !== undefined) return fixed;
  let [low, high] = [Infinity, -Infinity];
  const level = metadata.levels - 1;
  for (const frame of frames) {
    for (let y = 0; y * metadata.tileHeight < metadata.sizeY; y += 1) {
      for (let x = 0; x * metadata.tileWidth < metadata.sizeX; x += 1) {
        options.signal?.throwIfAborted();
        for (const sample of (await source.readTile({ level, x, y, frame }, options)).data) {
          // NaN is neither.
          if (sample < low) low = sample;
          if (sample > high) high = sample;
        }
      }
    }
  }
  return measuredMapping(Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 0);
}

/** The same picture with samples that can be written. */
export function convertSamples(raster: Raster, { dtype, convert }: SampleMapping): Raster {
  if (convert === null) return raster;
  const out = createRaster({ ...raster, dtype });
  for (let at = 0; at < out.data.length; at += 1) out.data[at] = convert(raster.data[at] ?? 0);
  return out;
}
