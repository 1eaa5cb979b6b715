import { OtherFormatError, TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../contract.js';
import { TiffBytes } from '../tiff/file/tiff-bytes.js';

/**
 * Refuses a TIFF whose first picture is stored in tiles: libvips shows a tile black that it cannot decode, and reports no error. The
 * `tiff` source reads such files, and where it does not it says why.
 *
 * @throws TileSourceError
 */
export async function refuseStoredInTiles(reader: ByteReader): Promise<void> {
  if (await isStoredInTiles(reader)) {
    throw new OtherFormatError('TIFF files that are stored in tiles are left to the tiff source.');
  }
}

/** Whether the first picture of a TIFF is stored in tiles; `false` where its first directory cannot be read. */
export async function isStoredInTiles(reader: ByteReader): Promise<boolean> {
  try {
    return (await (await TiffBytes.open(reader)).firstDirectory()).isTiled;
  } catch (error) {
    // libvips says in its own words what is wrong with it.
    if (error instanceof TileSourceError) return false;
    throw error;
  }
}
