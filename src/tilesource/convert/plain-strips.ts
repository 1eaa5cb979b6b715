import { TileSourceError } from '../../errors.js';
import { openFileReader } from '../byte-reader.js';
import type { TileSource } from '../tile-source.js';
import { readLayout, type ImageLayout } from '../sources/tiff/tiff-layout.js';
import { compressions, photometrics } from '../sources/tiff/file/tags.js';
import { TiffBytes } from '../sources/tiff/file/tiff-bytes.js';

/** Compressions that libvips reads correctly. PackBits is missing, because libvips cuts off runs that continue in the next row. */
const plainCompressions: readonly number[] = [
  compressions.none,
  compressions.lzw,
  compressions.deflate,
  compressions.deflateOld,
  compressions.jpeg,
];

/**
 * Whether an opened TIFF is one large image, stored in strips, whose samples libvips reads like the TIFF source. Then libvips can
 * convert the TIFF in one pass, from the first row to the last, and no tiles have to be made from the strips first.
 */
export async function isPlainStrips(path: string, source: TileSource, maxUntiledSide: number): Promise<boolean> {
  const { metadata, associatedImages = [] } = source;
  const { sizeX, sizeY, frames } = metadata;
  if (Math.max(sizeX, sizeY) <= maxUntiledSide || (frames?.length ?? 1) > 1 || associatedImages.length > 0) return false;
  const reader = await openFileReader(path);
  try {
    const layout = await readLayout(await (await TiffBytes.open(reader)).readFirstDirectory());
    return layout.width * layout.height === sizeX * sizeY && isPlain(layout);
  } catch (error) {
    if (error instanceof TileSourceError) return false;
    throw error;
  } finally {
    await reader.close();
  }
}

function isPlain(layout: ImageLayout): boolean {
  const { tiled, planes, bits, sampleFormat, compression, photometric, samplesPerPixel, extraSamples } = layout;
  if (tiled || planes > 1 || (bits !== 8 && bits !== 16) || sampleFormat !== 1 || !plainCompressions.includes(compression)) {
    return false;
  }
  if (photometric === photometrics.yCbCr) return compression === compressions.jpeg;
  const colors = photometric === photometrics.rgb ? 3 : photometric === photometrics.blackIsZero ? 1 : 0;
  // One extra sample is allowed if it is alpha that is not premultiplied (ExtraSamples 2).
  const hasAlpha = samplesPerPixel === colors + 1 && extraSamples[0] === 2;
  return colors > 0 && (samplesPerPixel === colors || hasAlpha);
}
