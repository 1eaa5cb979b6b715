import sharp from 'sharp';
import { TileSourceError } from '../../errors.js';
import { runProcessing } from '../process/processing.js';
import { vipsReason } from '../process/vips-reason.js';
import type { Raster } from '../raster.js';

/** Expected properties of a JPEG. */
export interface JpegExpectation {
  /** 1 for gray, 3 for colors. */
  bands: 1 | 3;
  /** Name of the JPEG in messages. */
  what: string;
  /** A JPEG with more pixels is refused. */
  maxPixels: number;
}

/** Decodes a JPEG of 8 bits. @throws TileSourceError if it is corrupt, or does not have the expected properties. */
export async function decodeJpeg(
  bytes: Uint8Array,
  { bands, what, maxPixels }: JpegExpectation,
  signal?: AbortSignal,
): Promise<Raster> {
  try {
    const picture = sharp(bytes, { failOn: 'error', limitInputPixels: maxPixels, sequentialRead: true });
    const raw = picture.toColourspace(bands === 1 ? 'b-w' : 'srgb').raw({ depth: 'uchar' });
    const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal, maxPixels);
    if (info.channels !== bands)
      throw new TileSourceError(`Corrupt file: ${what} has ${info.channels} bands where ${bands} are expected.`);
    const samples = new Uint8Array(data.buffer, data.byteOffset, data.length);
    return { data: samples, width: info.width, height: info.height, bands, dtype: 'uint8' };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof TileSourceError) throw cause;
    throw new TileSourceError(`Corrupt file: ${what} cannot be decoded as JPEG (${vipsReason(cause)}).`, { cause });
  }
}
