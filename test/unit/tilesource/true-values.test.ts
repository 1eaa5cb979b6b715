import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { TileSource } from '../../../src/tilesource/tile-source.js';
import { levelSize, tileContent } from '../../../src/tilesource/geometry.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { blit } from '../../../src/tilesource/render/pixels.js';
import { createRaster, type Raster } from '../../../src/tilesource/raster.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';

/** A pyramid whose coarser levels are averages, as most writers make them. */
function averagedPyramid(raster: Raster): { source: TileSource; tilesRead: { level: number }[] } {
  const { source, tilesRead } = rasterSource(raster, { tileWidth: 256, tileHeight: 256 });
  const { metadata } = source;
  const means = new Map<number, Raster>();
  for (let level = 0; level < metadata.levels - 1; level += 1) {
    const scale = 2 ** (metadata.levels - 1 - level);
    const { width, height } = levelSize(metadata, level);
    means.set(
      level,
      paint({ width, height, bands: raster.bands, dtype: raster.dtype }, (x, y, band) => {
        const at = (dx: number, dy: number) =>
          raster.data[
            (Math.min(raster.height - 1, y * scale + dy) * raster.width + Math.min(raster.width - 1, x * scale + dx)) *
              raster.bands +
              band
          ]!;
        return (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) / 4;
      }),
    );
  }
  const pyramid: TileSource = {
    ...source,
    populatedLevels: Array.from({ length: metadata.levels }, (_, level) => level),
    async readTile(address, options) {
      const level = means.get(address.level);
      if (!level) return source.readTile(address, options);
      tilesRead.push(address);
      const tile = createRaster({ ...tileContent(metadata, address), bands: raster.bands, dtype: raster.dtype });
      blit(tile, level, { left: -address.x * metadata.tileWidth, top: -address.y * metadata.tileHeight });
      return tile;
    },
  };
  return { source: pyramid, tilesRead };
}

/** A file that has only two values, in a fine pattern, so that averages have other values. */
const checkered = (side: number, dtype: Raster['dtype'] = 'uint8') =>
  paint({ width: side, height: side, bands: 1, dtype }, (x, y) => ((x + y) % 2 === 0 ? 64 : 192));

describe('statistics of the samples in a file', () => {
  it.each([
    ['one level', (side: number) => rasterSource(checkered(side), { tileWidth: 256, tileHeight: 256 }).source],
    ['averaged levels', (side: number) => averagedPyramid(checkered(side)).source],
  ])('agree in bands, histogram and bounds of styles, for small and large images of %s', async (_name, make) => {
    for (const side of [300, 2100]) {
      const image = openLargeImage(make(side));
      expect((await image.bands({}))['1']).toMatchObject({ min: 64, max: 192, mean: 128, stdev: 64 });
      for (const size of [{}, { width: 100, height: 100 }, { width: 100, resample: 0 }]) {
        const [counted] = await image.histogram(size);
        expect(counted).toMatchObject({ min: 64, max: 192, mean: 128, ...('width' in size && { samples: 10_000 }) });
        expect(counted?.hist.flatMap((count, bin) => (count > 0 ? [counted.bin_edges[bin]] : []))).toHaveLength(2);
      }
      for (const bounds of [
        { min: 'min', max: 'max' },
        { min: 'min:0.1', max: 'max:0.1' },
      ]) {
        const style = JSON.stringify(bounds);
        expect(await image.pixel({ left: 0, top: 0, style })).toEqual({ value: [0], l: 0 });
        expect(await image.pixel({ left: 1, top: 0, style })).toEqual({ value: [255], l: 255 });
        const [styled] = await image.histogram({ style });
        expect(styled).toMatchObject({ min: 0, max: 255 });
        expect(styled?.hist.filter((count) => count > 0)).toHaveLength(2);
      }
    }
  });

  it('mix pixels in a histogram on request', async () => {
    const image = openLargeImage(averagedPyramid(checkered(600)).source);
    expect((await image.histogram({ width: 100, height: 100, resample: 1 }))[0]).toMatchObject({ min: 128, max: 128 });
  });

  it('find the brightest spot of a large image by its coarser levels, reading few tiles of the finest level', async () => {
    const spots = paint({ width: 6000, height: 4000, bands: 1, dtype: 'uint16' }, (x, y) =>
      x >= 5701 && x < 5721 && y >= 901 && y < 921 ? 40_000 : x >= 3 && x < 19 && y >= 3801 && y < 3820 ? 7 : 100 + (x % 3),
    );
    const { source, tilesRead } = averagedPyramid(spots);
    const image = openLargeImage(source);
    expect((await image.bands({}))['1']).toMatchObject({ min: 7, max: 40_000 });
    expect(tilesRead.filter(({ level }) => level === source.metadata.levels - 1).length).toBeLessThan(100);
    const value = await image.pixel({ left: 5710, top: 910, style: '{"min":"min","max":"max"}' });
    expect(value).toEqual({ value: [255], l: 255 });
    expect((await image.histogram({}))[0]).toMatchObject({ min: 7, max: 40_000, range: [7, 40_001] });
  });

  it('leave out infinite and missing samples of floats', async () => {
    const values = [NaN, Infinity, -Infinity, -2.5, 7.5];
    const image = openLargeImage(
      rasterSource(paint({ width: 50, height: 10, bands: 1, dtype: 'float32' }, (x) => values[x % 5]!)).source,
    );
    expect((await image.bands({}))['1']).toMatchObject({ min: -2.5, max: 7.5, mean: 2.5, stdev: 5 });
    expect((await image.histogram({}))[0]).toMatchObject({ range: [-2.5, 8.5], samples: 200 });
    await expect(image.histogram({ rangeMin: -Infinity, rangeMax: NaN })).rejects.toThrow('must be finite numbers');
  });
});

describe('a color profile', () => {
  /** A profile with other primaries than sRGB, read from a picture that libvips writes with it. */
  async function wideProfile(): Promise<Uint8Array> {
    const bytes = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#fff' } })
      .withIccProfile('p3')
      .png()
      .toBuffer();
    return new Uint8Array((await sharp(bytes).metadata()).icc!);
  }
  const flat = paint({ width: 100, height: 80, bands: 3 }, (_x, _y, band) => [200, 60, 30][band]!);

  it('changes pixels, bands, histograms and styles as it changes tiles, unless it is switched off', async () => {
    const { source } = rasterSource(flat, { icc: await wideProfile() });
    for (const icc of [true, false]) {
      const image = openLargeImage(source, { icc });
      const tile = await image.tile({ level: 1, x: 0, y: 0, encoding: 'PNG' });
      const [r, g, b] = await sharp(tile.bytes).raw().toBuffer();
      const shown = [r, g, b];
      expect(shown).toEqual(icc ? [217, 42, 1] : [200, 60, 30]);
      expect(await image.pixel({ left: 3, top: 3 })).toEqual({ value: shown, r, g, b });
      expect(Object.values(await image.bands({})).map(({ min, max }) => [min, max])).toEqual(
        shown.map((value) => [value, value]),
      );
      expect((await image.histogram({})).map(({ min }) => min)).toEqual(shown);
      expect((await image.histogram({ style: '{"icc":false}' })).map(({ min }) => min)).toEqual([200, 60, 30]);
      expect(await image.pixel({ style: '{"icc":false}' })).toMatchObject({ value: [200, 60, 30] });
      const style = JSON.stringify({ band: 1, min: 0, max: 255, palette: ['#000', '#fff'] });
      expect((await image.pixel({ style })).r).toBe(r);
      const styled = await image.tile({ level: 1, x: 0, y: 0, encoding: 'PNG', style });
      expect((await sharp(styled.bytes).raw().toBuffer())[0]).toBe(r);
    }
  });

  it('changes how a pixel of more than 8 bits is displayed, and not its samples', async () => {
    const deep = paint({ width: 10, height: 10, bands: 3, dtype: 'uint16' }, (_x, _y, band) => [200, 60, 30][band]! * 256);
    const image = openLargeImage(rasterSource(deep, { icc: await wideProfile() }).source);
    const { value, g } = await image.pixel({});
    expect([value, g]).toEqual([[51_200, 15_360, 7680], 42]);
  });
});
