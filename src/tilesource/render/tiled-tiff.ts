import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { BadValueError } from '../../errors.js';
import type { EncodingOptions } from './encode.js';
import { PyramidWriter, type BlockImage } from '../pyramid/pyramid-writer.js';
import { TiffContainer, tagOf } from '../pyramid/container.js';
import { packingTags, packTile, storedBandCount, type TilePacking } from '../pyramid/tiles.js';
import type { StreamedPicture } from '../requests.js';
import { temporaryPath, unlinkOpenFile } from '../../core/temporary-files.js';

/** Side of a tile, and side of a block that is read and reduced as a whole, in pixels. */
export const [tileSide, blockSide] = [256, 1024];

/** Maximum number of pixels of a pyramid, to protect the disk. Images have far fewer pixels. */
const maxPyramidPixels = 2 ** 37;

/** The picture to write, which is read block by block. For JPEG and WebP, it must have 1 to 4 bands of bytes. */
export interface BlockPicture extends BlockImage {
  /** Resolution of the finest level. */
  pixelsPerMm?: { x: number; y: number };
}

/**
 * Writes a pyramid of tiles as a BigTIFF and streams it.
 *
 * @throws BadValueError if the picture is larger than the limit.
 */
export async function streamTiledTiff(
  picture: BlockPicture,
  options: { encoding: EncodingOptions; directory?: string; signal?: AbortSignal },
): Promise<StreamedPicture> {
  if (picture.width * picture.height > maxPyramidPixels) {
    throw new BadValueError(
      `Output of ${picture.width} x ${picture.height} pixels is larger than the limit of ${maxPyramidPixels} pixels`,
    );
  }
  return streamTiff((container) => writePyramid(container, picture, options), options);
}

/**
 * Writes a TIFF into a temporary file, and then streams the file. If the system allows that, the file's name is removed before, so
 * that nothing is left behind even if the process is killed.
 *
 * @param write writes the TIFF, and returns its length in bytes.
 */
export async function streamTiff(
  write: (container: TiffContainer) => Promise<number>,
  options: { directory?: string },
): Promise<StreamedPicture> {
  const path = temporaryPath(options.directory ?? tmpdir(), '.tiff');
  const file = await open(path, 'wx+', 0o600);
  const discard = await unlinkOpenFile(path);
  try {
    const size = await write(new TiffContainer(file));
    const stream = file.createReadStream({ start: 0, highWaterMark: 65_536 });
    stream.once('close', () => void discard());
    return { kind: 'stream', stream, type: 'image/tiff', size };
  } catch (error) {
    await file.close();
    await discard();
    throw error;
  }
}

async function writePyramid(
  container: TiffContainer,
  picture: BlockPicture,
  { encoding, signal }: { encoding: EncodingOptions; signal?: AbortSignal },
): Promise<number> {
  const { compression, quality, subsampling } = encoding;
  const packing: TilePacking = { compression, quality, halvesChroma: subsampling !== 0, predictor: true, effort: null };
  const levels = await new PyramidWriter(container, picture, {
    tileSide,
    blockSide,
    // Lossless output must not contain new values, because mixed values mean nothing in label images.
    nearest: compression === 'lzw' || compression === 'none',
    encode: (tile) => packTile(tile, packing),
    signal,
  }).write();
  const tileTags = packingTags({ bands: storedBandCount(picture.bands, packing), dtype: picture.dtype }, packing);
  const { pixelsPerMm } = picture;
  const plans = levels.map((plan, level) => {
    const perInch = 25.4 / 2 ** level;
    const resolution = pixelsPerMm
      ? [tagOf.rational(282, pixelsPerMm.x * perInch), tagOf.rational(283, pixelsPerMm.y * perInch), tagOf.short(296, 2)]
      : [];
    return { ...plan, tags: [...plan.tags, ...tileTags, ...resolution] };
  });
  return container.writeDirectories(plans, { bigTiff: true });
}
