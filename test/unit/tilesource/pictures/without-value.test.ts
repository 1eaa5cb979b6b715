import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { fullValue, minValue, sampleArrays, type SampleType } from '../../../../src/tilesource/raster.js';
import type { EncodedPicture } from '../../../../src/tilesource/requests.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';
import { sampleOf } from '../../../support/run/sample.js';

const types = Object.keys(sampleArrays) as SampleType[];
const [width, height] = [120, 90];

async function samplesOf(picture: unknown): Promise<number[]> {
  const image = sharp((picture as EncodedPicture).bytes);
  const { channels } = await image.metadata();
  return [...new Set(await (channels <= 2 ? image.toColourspace('b-w') : image).removeAlpha().raw().toBuffer())];
}

/** Every second pixel has no value, the others are gray. */
function checkered(dtype: SampleType, nothing: number) {
  return paint({ width, height, bands: 1, dtype }, (x, y) => ((x + y) % 2 === 0 ? nothing : 100));
}

const sizes = [
  { width: 60, height: 45 },
  { width: 90, height: 68 },
  { width: 47, height: 35 },
  { width: 30, height: 23 },
];
const style = (nodata?: number) => ({ min: 0, max: 255, ...(nodata !== undefined && { nodata }) });

describe('samples without a value', () => {
  it.each(sampleOf(types, 3))('of %s that the file declares count in no picture, whatever its size', async (dtype) => {
    const image = openLargeImage(rasterSource(checkered(dtype, 7), { nodata: 7 }).source);
    for (const size of sizes) {
      const request = { ...size, encoding: 'PNG', style: style() };
      expect([await samplesOf(await image.region(request)), size]).toEqual([[100], size]);
      expect(await samplesOf(await image.thumbnail(request))).toEqual([100]);
    }
    expect(await samplesOf(await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG', edge: 'crop', style: style() }))).toEqual([
      100,
    ]);
    expect((await image.histogram({ ...sizes[0], resample: 1 }))[0]).toMatchObject({ min: 100, max: 100 });
  });

  it.each(sampleOf(types, 3))('of %s that only the style declares count in no picture, whatever its size', async (dtype) => {
    const image = openLargeImage(rasterSource(checkered(dtype, 7)).source);
    const plain = { level: 0, x: 0, y: 0, encoding: 'PNG', edge: 'crop', style: style() };
    const before = await samplesOf(await image.tile(plain));
    for (const size of sizes) {
      expect(await samplesOf(await image.region({ ...size, encoding: 'PNG', style: style(7) }))).toEqual([100]);
    }
    expect(await samplesOf(await image.tile({ ...plain, style: style(7) }))).toEqual([100]);
    // Tiles of other requests are not made from the same averages.
    expect(await samplesOf(await image.tile(plain))).toEqual(before);
    expect(before).not.toEqual([100]);
  });

  it.each<SampleType>(['float32', 'float64'])('of %s that are not numbers count in no picture', async (dtype) => {
    for (const nothing of [NaN, Infinity, -3.4028234663852886e38]) {
      const image = openLargeImage(rasterSource(checkered(dtype, nothing)).source);
      for (const size of sizes) expect(await samplesOf(await image.region({ ...size, encoding: 'PNG' }))).toEqual([100]);
      expect((await image.histogram({ ...sizes[0], resample: 1 }))[0]).toMatchObject({ min: 100, max: 100 });
    }
  });

  it.each(sampleOf(types, 3))('pixels of %s are averaged in a histogram of a scaled region', async (dtype) => {
    const raster = paint({ width, height, bands: 5, dtype }, (x, y) => ((x + y) % 2) * 100);
    const [counted] = await openLargeImage(rasterSource(raster).source).histogram({ width: 60, height: 45, resample: 1 });
    expect(counted).toMatchObject({ min: 50, max: 50, samples: 60 * 45 });
  });

  const world = 20_037_508.342789244;
  const mapped = {
    transform: [-world, (2 * world) / 512, 0, world, 0, -(2 * world) / 512] as [number, number, number, number, number, number],
    projection: 'epsg:3857',
    proj4: 'EPSG:3857',
  };

  it.each(
    sampleOf(
      types.map((dtype, at) => [dtype, [1, 3, 5][at % 3]!] as const),
      3,
    ),
  )('the map of %s with %i bands averages pixels, and leaves out those without a value', async (dtype, bands) => {
    const low = minValue(dtype) === 0 ? 0 : -100;
    const full = dtype.startsWith('float') ? 200 : Math.min(200, fullValue(dtype));
    const bounds = { min: low, max: full };
    const shown = { bands: [{ band: 1, ...bounds, palette: ['#000', '#fff'] }] };
    const plain = paint({ width: 512, height: 512, bands, dtype }, (x, y) => ((x + y) % 2 === 0 ? low : full));
    const tile = { level: 0, x: 0, y: 0, projection: 'EPSG:3857', encoding: 'PNG', style: shown };
    const even = await samplesOf(await openLargeImage(rasterSource(plain, { geo: mapped }).source).tile(tile));
    expect(Math.max(...even.map((value) => Math.abs(value - 127)))).toBeLessThanOrEqual(2);
    const part = openLargeImage(rasterSource(plain, { geo: mapped, nodata: low }).source);
    expect(await samplesOf(await part.tile(tile))).toEqual([255]);
  });
});
