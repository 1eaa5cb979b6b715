import { TileSourceError } from '../../../errors.js';
import { defaultMaxDecodedPixels, type SourceInput } from '../../tile-source.js';
import { readHeader } from './decode.js';
import { prepareFile } from './prepared-file.js';
import { vipsSettings } from '../../convert/child/vips-pass.js';

/**
 * Whether a file is an intact image that merely has too many pixels for this source, so that it can be read after a conversion.
 * False for damaged files and for files that are not images.
 */
export async function isOnlyTooLarge(input: SourceInput, temporaryDirectory: string): Promise<boolean> {
  try {
    const preparedFile = await prepareFile(input, temporaryDirectory, undefined);
    try {
      const { width, height } = await readHeader(preparedFile, vipsSettings, { maxDecodedPixels: Infinity });
      return width * height > defaultMaxDecodedPixels;
    } finally {
      await preparedFile.release();
    }
  } catch (error) {
    // Errors of libvips have no class and no code. Errors of the file system have a code and are thrown on.
    if (error instanceof TileSourceError || !(error instanceof Error) || !('code' in error)) return false;
    throw error;
  }
}
