import { TileSourceError } from '../../errors.js';
import { openFileReader } from '../byte-reader.js';
import { tags } from '../sources/tiff/file/tags.js';
import { TiffBytes } from '../sources/tiff/file/tiff-bytes.js';

/** TIFF compression codes: old and new JPEG, four of JPEG 2000, WebP, and two of JPEG XL. */
const lossyCompressions = [6, 7, 33_003, 33_004, 33_005, 34_712, 50_001, 50_002, 52_546];

/** Whether the main image of a TIFF uses a lossy compression. False for other files. */
export async function isLossyTiff(path: string): Promise<boolean> {
  const reader = await openFileReader(path);
  try {
    const firstDirectory = await (await TiffBytes.open(reader)).readFirstDirectory();
    return lossyCompressions.includes(await firstDirectory.number(tags.compression, 1));
  } catch (error) {
    if (error instanceof TileSourceError) return false;
    throw error;
  } finally {
    await reader.close();
  }
}
