import { TileSourceError } from '../../../errors.js';
import { sampleBytes } from '../../raster.js';
import type { ImageLayout } from './layout.js';
import { hasPlainRows } from './region.js';

/** Side in pixels of the tiles that large images in strips are made into. */
export const stripTileSide = 256;

/** Most decoded bytes of one compressed strip of a large image, of which nothing less can be read. */
const maxStripBytes = 2 ** 27;
/** Most bytes of a row of tiles, of which there are two in memory. */
const maxBandBytes = 2 ** 27;
/** Decoded bytes of strips that are few enough to be read again for each tile. */
const quickBytes = 2 ** 22;
/** Rows that are read at once, and about how many bytes, where strips are lower. */
const runRows = 256;
const runBytes = 2 ** 22;

function rowBytes(layout: ImageLayout): number {
  const stored = layout.samplesPerPixel * Math.max(1, layout.bits / 8);
  return layout.width * Math.max(stored, layout.bands * sampleBytes(layout.dtype));
}

/** Whether tiles are to be read out of an image as it is stored. */
export function isQuick(layout: ImageLayout): boolean {
  return layout.tiled || rowBytes(layout) * (hasPlainRows(layout) ? stripTileSide : layout.chunkHeight) <= quickBytes;
}

/** Rows of a large image in strips that are read at once: some strips, or some rows of one that is not compressed. */
export function rowsAtOnce(layout: ImageLayout): number {
  const wanted = Math.max(1, Math.min(runRows, Math.floor(runBytes / rowBytes(layout))));
  if (hasPlainRows(layout)) return wanted;
  return Math.max(1, Math.floor(wanted / layout.chunkHeight)) * layout.chunkHeight;
}

/** @throws TileSourceError where an image in strips is too large to be made into tiles in bounded memory. */
export function checkStrips(layout: ImageLayout, maxPixels: number): void {
  const { width, height, chunkHeight } = layout;
  if (width * height > maxPixels) {
    throw new TileSourceError(
      `This TIFF is not stored in tiles, and with ${width} by ${height} pixels it is too large to be made into some when it is opened (at most ${maxPixels} pixels).`,
    );
  }
  const strip = rowBytes(layout) * chunkHeight;
  if (!hasPlainRows(layout) && strip > maxStripBytes) {
    throw new TileSourceError(
      `This TIFF has compressed strips of ${chunkHeight} rows, which take ${strip} bytes each; at most ${maxStripBytes} are decoded.`,
    );
  }
  const band = rowBytes(layout) * stripTileSide;
  if (band > maxBandBytes) {
    throw new TileSourceError(
      `This TIFF is not stored in tiles, and its rows take ${rowBytes(layout)} bytes each; at most ${maxBandBytes / stripTileSide} are made into tiles.`,
    );
  }
}
