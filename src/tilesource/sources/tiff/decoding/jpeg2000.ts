import { bufferOf } from '../../../../core/buffer-of.js';
import { TileSourceError } from '../../../../errors.js';
import type { CodecThreads } from '../../../codecs/threads/codec-threads.js';
import { yCbCrToRgb } from '../../../codecs/ycbcr.js';
import type { Raster } from '../../../raster.js';
import type { ImageLayout } from '../tiff-layout.js';
import { compressions, photometrics, tags } from '../file/tags.js';

/** Size and components in the header of a JPEG 2000 code stream. */
interface CodeStreamSize {
  width: number;
  height: number;
  components: { bits: number; signed: boolean; dx: number; dy: number }[];
}

/**
 * Reads the SIZ marker segment (ISO 15444-1 A.5.1) of a raw code stream, or of the code stream in a JP2 file. `null` if there is
 * none.
 */
export function readCodeStreamSize(bytes: Uint8Array): CodeStreamSize | null {
  const buffer = bufferOf(bytes);
  // SIZ directly follows SOC, as the standard requires.
  const start = buffer.indexOf(Buffer.from([0xff, 0x4f, 0xff, 0x51]));
  if (start < 0 || start + 45 > buffer.length) return null;
  const at = start + 6;
  const count = buffer.readUInt16BE(at + 34);
  if (count === 0 || at + 36 + count * 3 > buffer.length) return null;
  const components = Array.from({ length: count }, (_, i) => {
    const depth = buffer.readUInt8(at + 36 + i * 3);
    return {
      bits: (depth & 0x7f) + 1,
      signed: depth > 0x7f,
      dx: buffer.readUInt8(at + 37 + i * 3),
      dy: buffer.readUInt8(at + 38 + i * 3),
    };
  });
  return {
    width: buffer.readUInt32BE(at + 2) - buffer.readUInt32BE(at + 10),
    height: buffer.readUInt32BE(at + 6) - buffer.readUInt32BE(at + 14),
    components,
  };
}

/** Whether decoded samples of a tile are YCbCr. */
export function isYCbCr(bytes: Uint8Array, layout: ImageLayout, size: CodeStreamSize): boolean {
  if (layout.bands !== 3 || layout.dtype.startsWith('int')) return false;
  // The decoder itself converts subsampled colors to RGB. Without subsampling, the decoder does not know the color space.
  if (size.components.some(({ dx }) => dx !== 1)) return false;
  if (layout.compression === compressions.jpeg2000YCbCr) return true;
  if (layout.compression === compressions.jpeg2000Rgb) return false;
  return (
    layout.photometric === photometrics.yCbCr ||
    (layout.compression === compressions.jpeg2000Lossy && isWrittenByVips(bytes, layout))
  );
}

/**
 * Whether libvips has written a tile with compression 33004. libvips then stores YCbCr, although it tags the image as RGB, while
 * Bio-Formats and tifffile store RGB. libvips writes no Software tag, and the wavelets are 9-7 with six decompositions, or 5-3 with
 * five when the tile is lossless.
 */
function isWrittenByVips(bytes: Uint8Array, { directory }: ImageLayout): boolean {
  if (directory.has(tags.software)) return false;
  const at = bufferOf(bytes).indexOf(Buffer.from([0xff, 0x52, 0]));
  // The segment COD contains, after its length of 2 bytes, style, progression, layers (2 bytes), component transform,
  // decompositions and block sizes.
  const [decompositions, wavelet] = [bytes[at + 9], bytes[at + 13]];
  return at >= 0 && ((decompositions === 6 && wavelet === 0) || (decompositions === 5 && wavelet === 1));
}

function isSubsampledColor(components: CodeStreamSize['components']): boolean {
  const [first, second, third] = components;
  if (components.length !== 3 || first === undefined || second === undefined || third === undefined) return false;
  return first.dx === 1 && first.dy === 1 && second.dx === 2 && second.dy <= 2 && third.dx === 2 && third.dy === second.dy;
}

/** An encoded tile with its layout. */
export interface EncodedTile {
  bytes: Uint8Array;
  layout: ImageLayout;
  rows: number;
  signal?: AbortSignal | undefined;
}

/**
 * Decodes a tile of `layout.chunkWidth` by `rows` pixels.
 *
 * @throws TileSourceError if the code stream is corrupt or has a different shape, or decoding takes longer than 30 s.
 */
export async function decodeJpeg2000(threads: CodecThreads, { bytes, layout, rows, signal }: EncodedTile): Promise<Raster> {
  const size = readCodeStreamSize(bytes);
  if (size === null) throw new TileSourceError('Corrupt TIFF: a JPEG 2000 tile has no code stream header.');
  const { width, height, components } = size;
  if (width !== layout.chunkWidth || height !== rows || components.length !== layout.bands) {
    throw new TileSourceError(
      `Corrupt TIFF: a JPEG 2000 tile has ${width} by ${height} pixels of ${components.length} samples where ${layout.chunkWidth} by ${rows} of ${layout.bands} are declared.`,
    );
  }
  const isSubsampled = components.some(({ dx, dy }) => dx !== 1 || dy !== 1);
  if (isSubsampled && !isSubsampledColor(components)) {
    throw new TileSourceError('JPEG 2000 tiles with subsampled components other than 4:2:2 and 4:2:0 colors are not supported.');
  }
  if (components.some((component) => component.bits > layout.bits)) {
    throw new TileSourceError(`Corrupt TIFF: a JPEG 2000 tile has deeper samples than the ${layout.bits} bits declared.`);
  }
  const { info, data } = await threads.decodePicture({ codec: 'jpeg2000', bytes }, 'a tile', signal);
  const samples = width * rows * layout.bands;
  const isWide = info.bitsPerSample > 8;
  if (
    info.width !== width ||
    info.height !== rows ||
    info.componentCount !== layout.bands ||
    data.length < samples * (isWide ? 2 : 1)
  ) {
    throw new TileSourceError('Corrupt TIFF: a JPEG 2000 tile cannot be decoded to its declared size.');
  }
  if (isYCbCr(bytes, layout, size)) yCbCrToRgb(isWide ? new Uint16Array(data.buffer, 0, samples) : data, info.bitsPerSample);
  const shape = { width, height: rows, bands: layout.bands, dtype: layout.dtype };
  if (isWide === layout.bits > 8) {
    if (!isWide)
      return { ...shape, data: layout.dtype === 'int8' ? new Int8Array(data.buffer, 0, samples) : data.subarray(0, samples) };
    return {
      ...shape,
      data: layout.dtype === 'int16' ? new Int16Array(data.buffer, 0, samples) : new Uint16Array(data.buffer, 0, samples),
    };
  }
  // The image has more than 8 bits, but its code stream has at most 8.
  return { ...shape, data: layout.dtype === 'int16' ? Int16Array.from(new Int8Array(data.buffer)) : Uint16Array.from(data) };
}
