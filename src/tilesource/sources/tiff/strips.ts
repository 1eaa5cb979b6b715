import { TileSourceError } from '../../../errors.js';
import { sampleBytes } from '../../raster.js';
import type { ImageLayout } from './tiff-layout.js';
import { canReadRowsSeparately } from './region.js';

/** Side in pixels of the tiles of temporary pyramids. */
export const stripTileSide = 256;

/** Largest decoded size of a compressed strip of a large image in bytes. A strip can only be decoded as a whole. */
const maxStripBytes = 2 ** 27;
/** Largest size of a row of tiles in bytes. Two rows are in memory at a time. */
const maxTileRowBytes = 2 ** 27;
/** Maximum number of bytes that are decoded to read a tile directly. The same strips are decoded again for each tile next to it. */
const maxBytesPerTile = 2 ** 22;
/** Maximum number of rows of strips that are read together. */
const maxRunRows = 256;
/** Maximum number of decoded bytes of strips that are read together, unless a single strip has more. */
const maxRunBytes = 2 ** 22;

function rowBytesOf(layout: ImageLayout): number {
  const storedPixelBytes = layout.samplesPerPixel * Math.max(1, layout.bits / 8);
  return layout.width * Math.max(storedPixelBytes, layout.bands * sampleBytes(layout.dtype));
}

/** Whether tiles can be read directly from the stored image. */
export function canReadTiles(layout: ImageLayout): boolean {
  return (
    layout.tiled || rowBytesOf(layout) * (canReadRowsSeparately(layout) ? stripTileSide : layout.chunkHeight) <= maxBytesPerTile
  );
}

/** Number of rows of a large image in strips that are read together: some strips, or some rows of an uncompressed strip. */
export function rowsPerRead(layout: ImageLayout): number {
  const rowCount = Math.max(1, Math.min(maxRunRows, Math.floor(maxRunBytes / rowBytesOf(layout))));
  if (canReadRowsSeparately(layout)) return rowCount;
  return Math.max(1, Math.floor(rowCount / layout.chunkHeight)) * layout.chunkHeight;
}

/** @throws TileSourceError if an image in strips is too large to be written to tiles in bounded memory. */
export function checkStrips(layout: ImageLayout, maxPixels: number): void {
  const { width, height, chunkHeight } = layout;
  if (width * height > maxPixels) {
    throw new TileSourceError(
      `This TIFF is not stored in tiles, and with ${width} by ${height} pixels it is too large to be tiled on opening (at most ${maxPixels} pixels).`,
    );
  }
  const stripBytes = rowBytesOf(layout) * chunkHeight;
  if (!canReadRowsSeparately(layout) && stripBytes > maxStripBytes) {
    throw new TileSourceError(
      `This TIFF has compressed strips of ${chunkHeight} rows, which take ${stripBytes} bytes each; at most ${maxStripBytes} are supported.`,
    );
  }
  const tileRowBytes = rowBytesOf(layout) * stripTileSide;
  if (tileRowBytes > maxTileRowBytes) {
    throw new TileSourceError(
      `This TIFF is not stored in tiles, and its rows take ${rowBytesOf(layout)} bytes each; at most ${maxTileRowBytes / stripTileSide} are converted to tiles.`,
    );
  }
}
