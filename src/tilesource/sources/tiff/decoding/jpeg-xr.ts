import { TileSourceError } from '../../../../errors.js';
import { readJpegXrSize } from '../../../codecs/jpeg-xr.js';
import type { DecodeContext, ImageLayout } from '../tiff-layout.js';
import { joinStrips } from './samples.js';

/** Decodes consecutive strips, or a tile, of JPEG XR to interleaved little-endian samples. */
export async function decompressJpegXr(
  layout: ImageLayout,
  strips: readonly Uint8Array[],
  rows: number,
  { threads, signal }: DecodeContext,
): Promise<Uint8Array> {
  const what = 'a tile or strip';
  const samples = layout.planes > 1 ? 1 : layout.samplesPerPixel;
  const parts: Uint8Array[] = [];
  for (const [index, bytes] of strips.entries()) {
    const width = layout.chunkWidth;
    const height = Math.min(layout.chunkHeight, rows - index * layout.chunkHeight);
    const size = readJpegXrSize(bytes, what);
    if (size.width !== width || size.height !== height) {
      const actualSize = `${size.width} by ${size.height} pixels where ${width} by ${height} are declared`;
      throw new TileSourceError(`Corrupt TIFF: a tile or strip of JPEG XR has ${actualSize}.`);
    }
    const { info, data } = await threads.decodePicture({ codec: 'jpegxr', bytes }, what, signal);
    const { bitsPerSample: bits, componentCount, isFloat } = info;
    if (componentCount !== samples || bits !== layout.bits || (isFloat === true) !== (layout.sampleFormat === 3)) {
      throw new TileSourceError(`Corrupt TIFF: a tile or strip of JPEG XR has ${componentCount} samples of ${bits} bits.`);
    }
    parts.push(data);
  }
  return joinStrips(parts);
}
