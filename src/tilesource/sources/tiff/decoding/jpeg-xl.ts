import sharp from 'sharp';
import { TileSourceError } from '../../../../errors.js';
import type { CodecThreads } from '../../../codecs/threads/codec-threads.js';
import { runProcessing } from '../../../process/processing.js';
import { vipsReason } from '../../../process/vips-reason.js';
import type { Raster } from '../../../raster.js';
import type { EncodedTile } from './jpeg2000.js';

/**
 * Decodes a JPEG XL tile of `layout.chunkWidth` by `rows` pixels.
 *
 * @throws TileSourceError if the tile is corrupt or has a different shape, or the decoder is not installed.
 */
export async function decodeJpegXl(threads: CodecThreads, { bytes, layout, rows, signal }: EncodedTile): Promise<Raster> {
  const { chunkWidth: width, bands, bits } = layout;
  const task = { format: 'jpegxl' as const, bytes, maxPixels: width * rows, requiredSize: { width, height: rows } };
  const { data: png } = await threads.call('picture', task, 'a tile (JPEG XL)', signal);
  const isWide = bits === 16;
  const gray = isWide ? 'grey16' : 'b-w';
  const color = isWide ? 'rgb16' : 'srgb';
  try {
    const picture = sharp(png, { failOn: 'error', limitInputPixels: width * rows });
    const raw = picture.toColourspace(bands <= 2 ? gray : color).raw({ depth: isWide ? 'ushort' : 'uchar' });
    const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal);
    if (info.channels !== bands) {
      throw new TileSourceError(`Corrupt TIFF: a JPEG XL tile has ${info.channels} samples where ${bands} are declared.`);
    }
    const copy = new Uint8Array(data);
    return { data: isWide ? new Uint16Array(copy.buffer) : copy, width, height: rows, bands, dtype: isWide ? 'uint16' : 'uint8' };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof TileSourceError) throw cause;
    throw new TileSourceError(`Corrupt TIFF: a JPEG XL tile cannot be decoded (${vipsReason(cause)}).`, { cause });
  }
}
