import { OtherFormatError, TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';
import { TiffBytes } from '../tiff/file/tiff-bytes.js';

/**
 * Refuses a TIFF whose first picture is stored in tiles. libvips shows tiles that it cannot decode in black, without an error. Such
 * files are read by the `tiff` source, or refused with an error of that source.
 *
 * @throws TileSourceError
 */
export async function refuseStoredInTiles(reader: ByteReader): Promise<void> {
  if (await isStoredInTiles(reader)) {
    throw new OtherFormatError('Tiled TIFF files are read by the tiff source.');
  }
}

/** Whether the first picture of a TIFF is stored in tiles; `false` when its first directory cannot be read. */
export async function isStoredInTiles(reader: ByteReader): Promise<boolean> {
  try {
    return (await (await TiffBytes.open(reader)).readFirstDirectory()).isTiled;
  } catch (error) {
    // libvips will report what is wrong with the file.
    if (error instanceof TileSourceError) return false;
    throw error;
  }
}
