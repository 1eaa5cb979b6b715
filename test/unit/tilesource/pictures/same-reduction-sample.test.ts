import { describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import type { EncodedPicture } from '../../../../src/tilesource/requests.js';
import sharp from 'sharp';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { otherSources } from '../../../support/images/other-sources.js';
import { paint } from '../../../support/images/raster-source.js';

/** A sample of the table of the costly group: one size of each kind of samples. */
describe('samples that alternate from pixel to pixel', () => {
  it.each<[SampleType, number]>([
    ['uint8', 3],
    ['uint16', 1],
    ['int16', 1],
    ['float32', 5],
  ])('of %s with %i bands are gray in every source', async (dtype, bands) => {
    const high = dtype === 'float32' ? 200 : dtype === 'uint8' ? 200 : 20_000;
    const raster = paint({ width: 400, height: 272, bands, dtype }, (x, y) => ((x + y) % 2) * high);
    for (const [name, source] of await otherSources(raster)) {
      const image = openLargeImage(source);
      const level = source.metadata.levels - 2;
      // A source of one chunk has a single level.
      const tiles = level < 0 ? [] : [await image.tile({ level, x: 1, y: 1, encoding: 'PNG' })];
      const region = (await image.region({ width: 100, height: 68, encoding: 'PNG' })) as EncodedPicture;
      for (const { bytes } of [...tiles, region]) {
        const { data } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        expect([name, new Set(data).size]).toEqual([name, 1]);
      }
      await source.close();
    }
  });
});
