import { TileSourceError } from '../../../../errors.js';
import type { TiffBytes } from '../file/tiff-bytes.js';

/** Number of bytes that are read to find the header of a picture. Only headers with large comments or profiles are longer. */
const maxHeaderBytes = 65_536;
const startOfScan = 0xda;

/**
 * Checks that old-style JPEG is a whole picture. Wang Imaging, for example, wrote only the header of the picture as JPEG, and its pixels
 * into the strips.
 *
 * @throws TileSourceError if there are no pixels.
 */
export async function requireWholePicture(
  file: TiffBytes,
  { offset, length }: { offset: number; length: number },
): Promise<void> {
  const pictureBytes = Math.min(length, file.size - offset);
  if (pictureBytes < 4) return;
  const bytes = await file.readExactly(offset, Math.min(pictureBytes, maxHeaderBytes), 'the picture of old-style JPEG');
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff;) {
    // Markers can follow fill bytes.
    if (bytes[at + 1] === 0xff) {
      at += 1;
      continue;
    }
    const next = at + 2 + bytes[at + 2]! * 256 + bytes[at + 3]!;
    if (bytes[at + 1] === startOfScan) {
      if (next + 2 < pictureBytes) return;
      break;
    }
    at = next;
    if (at > bytes.length && bytes.length < pictureBytes) return;
  }
  if (bytes[0] !== 0xff) return;
  throw new TileSourceError(
    'Cannot read this TIFF image: old-style JPEG (compression 6) with its pixels in strips, as Wang Imaging writes it, is not supported.',
  );
}
