import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { createRaster } from '../../../../src/tilesource/raster.js';
import { rasterSource } from '../../../support/images/raster-source.js';

/** Wider than any of these formats allows, as tiles and as one tile. */
const wide = createRaster({ width: 65_600, height: 2, bands: 3, dtype: 'uint8' });
const tiled = openLargeImage(rasterSource(wide).source);

const limits = [
  ['JPEG', 65_500, {}],
  ['JFIF', 65_500, {}],
  ['TIFF', 65_500, { tiffCompression: 'jpeg' }],
  ['WEBP', 16_383, {}],
  ['AVIF', 16_384, {}],
  ['GIF', 65_535, {}],
] as const;

describe('a picture as large as its format allows', () => {
  it.each(limits)('is made as %s of %i pixels, and refused with one more', async (encoding, limit, options) => {
    const request = { encoding, ...options, left: 0, height: 2, jpegQuality: 50 };
    const picture = await tiled.region({ ...request, right: limit, width: limit });
    if (picture.kind !== 'bytes') throw new Error('no bytes');
    const { width } = await sharp(picture.bytes, { limitInputPixels: false }).metadata();
    expect(width).toBe(limit);
    const refusal = { code: 'bad-value', message: expect.stringContaining(`at most ${limit} pixels per side`) };
    await expect(tiled.region({ ...request, right: limit + 1, width: limit + 1 })).rejects.toMatchObject(refusal);
    const single = openLargeImage(
      rasterSource(createRaster({ ...wide, width: limit + 1 }), { tileWidth: limit + 1, tileHeight: 2 }).source,
    );
    await expect(single.tile({ level: 0, x: 0, y: 0, encoding, ...options })).rejects.toMatchObject(refusal);
  });
});
