import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import sharp from 'sharp';
import { nextSlice } from '../../core/concurrency/slices.js';
import { loadZstdCompressor } from '../codecs/zstd-library.js';
import { openPicture } from '../render/encode.js';
import { hasAlpha, isPicture, grayToColor } from '../render/pixels.js';
import { bitsOf, createRaster, sampleBytes, type Raster, type Samples, type SampleType } from '../raster.js';
import { tagOf, type Tag } from './container.js';

/** Codes in TIFF of the compressions of tiles. */
const compressionCodes = {
  none: 1,
  lzw: 5,
  jpeg: 7,
  deflate: 8,
  packbits: 32_773,
  zstd: 50_000,
  webp: 50_001,
} as const;

export type TileCompression = keyof typeof compressionCodes;

/** Options for compressing tiles. */
export interface TilePacking {
  compression: TileCompression;
  /** Quality of JPEG and WebP, 1 to 100. 0 means lossless WebP. */
  quality: number;
  /** For JPEG: whether chroma is stored at half the resolution (4:2:0). */
  halvesChroma: boolean;
  /** For LZW, deflate and zstd: whether differences of neighboring samples are compressed instead of the samples. */
  predictor: boolean;
  /** Effort of deflate (1 to 9) or zstd (1 to 22); `null` for the default effort. */
  effort: number | null;
}

const deflateBytes = promisify(deflate);
const defaultDeflateEffort = 6;
const defaultZstdEffort = 3;

export function isLossy({ compression, quality }: Pick<TilePacking, 'compression' | 'quality'>): boolean {
  return compression === 'jpeg' || (compression === 'webp' && quality > 0);
}

/** Number of bands in the tiles of a file, for an image with `bands` bands. */
export function storedBandCount(bands: number, { compression }: Pick<TilePacking, 'compression'>): number {
  if (compression === 'jpeg') return bands <= 2 ? 1 : 3;
  if (compression === 'webp') return bands === 1 || bands === 3 || bands > 4 ? 3 : 4;
  return bands;
}

/** The tags that describe compressed tiles. `bands` is the number that {@link storedBandCount} returns. */
export function packingTags({ bands, dtype }: Pick<Raster, 'bands' | 'dtype'>, packing: TilePacking): Tag[] {
  const { compression } = packing;
  const isColorJpeg = compression === 'jpeg' && bands === 3;
  const colors = bands === 3 || bands === 4 ? 3 : 1;
  const tags = [
    tagOf.short(258, ...Array.from({ length: bands }, () => sampleBytes(dtype) * 8)), // BitsPerSample
    tagOf.short(259, compressionCodes[compression]), // Compression
    tagOf.short(262, isColorJpeg ? 6 : colors === 3 ? 2 : 1), // PhotometricInterpretation: YCbCr, RGB, BlackIsZero
    tagOf.short(277, bands), // SamplesPerPixel
  ];
  if (usesPredictor(packing, dtype)) tags.push(tagOf.short(317, 2)); // Predictor: horizontal
  // SampleFormat: unsigned (1), signed (2) or float (3).
  const format = dtype.startsWith('float') ? 3 : dtype.startsWith('int') ? 2 : 1;
  if (format !== 1) tags.push(tagOf.short(339, ...Array.from({ length: bands }, () => format)));
  // ExtraSamples: the last of two or four bands is an alpha that is not premultiplied (2); further bands have no known meaning (0).
  const extraSamples = bands === 2 || bands === 4 ? [2] : Array.from({ length: bands - colors }, () => 0);
  if (extraSamples.length > 0) tags.push(tagOf.short(338, ...extraSamples));
  // YCbCrSubSampling
  if (isColorJpeg) tags.push(packing.halvesChroma ? tagOf.short(530, 2, 2) : tagOf.short(530, 1, 1));
  return tags;
}

/** Whether the horizontal predictor is used, which is defined for integers only. */
function usesPredictor({ compression, predictor }: TilePacking, dtype: SampleType): boolean {
  return (
    predictor && (compression === 'lzw' || compression === 'deflate' || compression === 'zstd') && !dtype.startsWith('float')
  );
}

/**
 * Compresses a tile to the bytes that are stored in the file.
 *
 * @param tile for `jpeg` and `webp` a raster of bytes with at most four bands.
 */
export async function packTile(tile: Raster, packing: TilePacking): Promise<Uint8Array> {
  const { compression, quality, halvesChroma, effort } = packing;
  if (compression === 'jpeg' || compression === 'webp') {
    if (!isPicture(tile)) throw new RangeError(`${compression} holds 1 to 4 bands of bytes, not ${tile.bands} of ${tile.dtype}`);
    if (compression === 'webp') {
      const image = openPicture(await grayToColor(tile));
      return image.webp(quality === 0 ? { lossless: true, effort: 2 } : { quality, effort: 2 }).toBuffer();
    }
    let image = openPicture(tile);
    if (hasAlpha(tile)) image = image.flatten({ background: '#fff' });
    if (tile.bands <= 2) image = image.toColourspace('b-w');
    return image.jpeg({ quality: Math.max(1, quality), chromaSubsampling: halvesChroma ? '4:2:0' : '4:4:4' }).toBuffer();
  }
  const samples = usesPredictor(packing, tile.dtype) ? horizontalDifferences(tile) : tile.data;
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  switch (compression) {
    case 'none':
      return bytes;
    case 'deflate':
      return deflateBytes(bytes, { level: effort ?? defaultDeflateEffort });
    case 'zstd':
      // zstd runs on this thread, so other work gets a turn before each tile.
      await nextSlice();
      return (await loadZstdCompressor())(bytes, effort ?? defaultZstdEffort);
    case 'lzw':
    case 'packbits':
      return packByLibvips(bytes, tile.width, compression);
  }
}

/** The horizontal predictor of TIFF: each sample minus the sample of the same band to its left. */
function horizontalDifferences({ data, width, height, bands, dtype }: Raster): Samples {
  const samples = createRaster({ width, height, bands, dtype }).data;
  const source = bitsOf(data);
  const out = bitsOf(samples);
  const stride = width * bands;
  for (let row = 0; row < height; row += 1) {
    const start = row * stride;
    for (let at = start; at < start + bands; at += 1) out[at] = source[at] ?? 0;
    for (let at = start + bands; at < start + stride; at += 1) out[at] = (source[at] ?? 0) - (source[at - bands] ?? 0);
  }
  return samples;
}

/** Makes libvips write the bytes as a grayscale TIFF of a single tile, and extracts the compressed data. */
async function packByLibvips(bytes: Uint8Array, width: number, compression: 'lzw' | 'packbits'): Promise<Uint8Array> {
  const height = bytes.length / width;
  const tiff = await sharp(bytes, { raw: { width, height, channels: 1 } })
    .toColourspace('b-w')
    .tiff({ compression, predictor: 'none', tile: true, tileWidth: width, tileHeight: height })
    .toBuffer();
  const directoryOffset = tiff.readUInt32LE(4);
  const valueByTag = new Map<number, number>();
  for (let entry = 0; entry < tiff.readUInt16LE(directoryOffset); entry += 1) {
    const at = directoryOffset + 2 + entry * 12;
    valueByTag.set(
      tiff.readUInt16LE(at),
      tiff.readUInt16LE(at + 2) === 3 ? tiff.readUInt16LE(at + 8) : tiff.readUInt32LE(at + 8),
    );
  }
  const offset = valueByTag.get(324); // TileOffsets
  const length = valueByTag.get(325); // TileByteCounts
  if (offset === undefined || length === undefined) throw new Error('libvips wrote a TIFF without tiles');
  return tiff.subarray(offset, offset + length);
}
