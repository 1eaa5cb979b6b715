import { TileSourceError } from '../../errors.js';
import { defaultMaxDecodedPixels, type SourceInput } from '../contract.js';
import { readFacts } from '../sources/sharp/decode.js';
import { prepare } from '../sources/sharp/material.js';
import { vipsSettings } from './vips-pass.js';

/**
 * Whether a file that no tile source opens is an image that is merely too large for them, and that a conversion makes readable. What is
 * damaged or no image at all is not helped by one.
 */
export async function needsConversion(input: SourceInput, temporaryDirectory: string): Promise<boolean> {
  try {
    const material = await prepare(input, temporaryDirectory, undefined);
    try {
      const { width, height } = await readFacts(material, vipsSettings, { maxDecodedPixels: Infinity });
      return width * height > defaultMaxDecodedPixels;
    } finally {
      await material.release();
    }
  } catch (error) {
    // libvips has no class for its errors; what the file system says has a code.
    if (error instanceof TileSourceError || !(error instanceof Error) || !('code' in error)) return false;
    throw error;
  }
}
