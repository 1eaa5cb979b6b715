import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LargeImageError } from '../../../src/errors.js';
import { fileInput } from '../../../src/tilesource/byte-reader.js';
import type { TileSource } from '../../../src/tilesource/contract.js';
import { inverseOf, toModel, type Affine } from '../../../src/tilesource/geo/georeference.js';
import { projectToWebMercator } from '../../../src/tilesource/geo/web-mercator.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import type { SampleType } from '../../../src/tilesource/raster.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { writeFixtures } from '../../support/fixtures.js';
import { fuzz } from '../../support/fuzz.js';
import { samplesOf } from '../../support/samples.js';

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  corners?: [number, number][];
  /** Longitude and latitude of the middle of the pixel at 450, 350. */
  centre: [number, number];
  mercatorBounds: [number, number, number, number] | null;
  tiles: { level: number; x: number; y: number; raw: string }[];
}

const fixtures = writeFixtures<Written[]>('geotiff.py', ['rasterio', 'numpy']);
const written = (fixtures?.manifest ?? []).filter(({ corners }) => corners !== undefined);
const folder = fixtures?.folder ?? '';
afterAll(() => fixtures?.remove());

const opened: TileSource[] = [];
const open = async (name: string) => {
  const source = await tiffSource.open(fileInput(join(folder, name)));
  opened.push(source);
  return source;
};
afterAll(() => Promise.all(opened.map((source) => source.close())));
const near = (value: number, digits = 6) => expect.closeTo(value, digits);

describe('an affine transform', () => {
  it('leads back where it came from', () => {
    const transform: Affine = [500, 2, 0.3, -40, 0.1, -1.5];
    const back = toModel(inverseOf(transform)!, toModel(transform, { x: 12, y: 34 }));
    expect(back).toEqual({ x: near(12), y: near(34) });
    expect(inverseOf([0, 1, 2, 0, 2, 4])).toBeNull();
  });
});

describe.skipIf(fixtures === null)('GeoTIFF that rasterio writes', () => {
  it.each(written.map((file) => [file.name, file] as const))(
    '%s lies where its writer says',
    async (name, { corners, width, height }) => {
      const source = await open(name);
      const metadata = openLargeImage(source).metadata();
      const [ul, ur, lr, ll] = corners!.map(([x, y]) => ({ x: near(x), y: near(y) }));
      expect(metadata).toMatchObject({
        geospatial: true,
        sourceSizeX: width,
        sourceSizeY: height,
        bounds: { ul, ur, lr, ll },
        magnification: null,
      });
      expect(metadata.sourceBounds).toEqual(metadata.bounds);
      expect(metadata.bands).toBeTypeOf('object');
    },
  );

  it('names the projection, and the size of pixels on the ground', async () => {
    const utm = openLargeImage(await open('utm.tif')).metadata();
    expect(utm).toMatchObject({ projection: 'epsg:32633', mm_x: near(10_000), mm_y: near(10_000) });
    const lonlat = openLargeImage(await open('lonlat.tif')).metadata();
    expect(lonlat).toMatchObject({
      projection: 'epsg:4326',
      mm_x: null,
      bands: { 1: { interpretation: 'gray', nodata: -9999 } },
    });
    const plain = openLargeImage(await open('plain.tif')).metadata();
    expect(plain).not.toHaveProperty('geospatial');
    expect(await (await open('utm.tif')).internalMetadata!()).toMatchObject({ geokeys: { ProjectedCSTypeGeoKey: 32_633 } });
  });

  it.each(written.map((file) => [file.name, file] as const))(
    '%s finds pixels by longitude and latitude',
    async (name, { centre }) => {
      const image = openLargeImage(await open(name));
      const [left, top] = centre;
      for (const units of ['EPSG:4326', 'wgs84', '4326', 'epsg:4326']) {
        expect(await image.pixel({ left, top, units })).toEqual(await image.pixel({ left: 450, top: 350 }));
      }
      expect(await image.pixel({ left: left + 40, top, units: '4326' })).toEqual({});
    },
  );

  it('cuts regions by coordinates', async () => {
    const image = openLargeImage(await open('utm.tif'));
    const byPixels = await image.region({ left: 100, top: 50, right: 300, bottom: 200, encoding: 'PNG' });
    const own = { left: 501_000, top: 5_199_500, right: 503_000, bottom: 5_198_000, encoding: 'PNG' };
    expect(await image.region({ ...own, units: 'projection' })).toEqual(byPixels);
    expect(await image.region({ ...own, units: 'EPSG:32633' })).toEqual(byPixels);
    const sized = { left: 501_000, top: 5_199_500, regionWidth: 2000, regionHeight: 1500, encoding: 'PNG', units: 'proj' };
    expect(await image.region(sized)).toEqual(byPixels);
    await expect((async () => image.region({ ...own, units: 'EPSG:999999' }))()).rejects.toThrow(
      "Unknown projection 'EPSG:999999'",
    );
    const plain = openLargeImage(await open('plain.tif'));
    await expect((async () => plain.region({ ...own, units: 'EPSG:4326' }))()).rejects.toThrow('no place on the earth');
  });

  it.each(written.map((file) => [file.name, file] as const))('%s shows in EPSG:3857 what GDAL shows', async (name, file) => {
    const original = await open(name);
    const { source, bounds } = projectToWebMercator(original);
    const { levels, bandCount } = source.metadata;
    expect(source.metadata).toMatchObject({ sizeX: 256 * 2 ** (levels - 1), tileWidth: 256, tileHeight: 256 });
    if (file.mercatorBounds !== null) {
      const [xmin, ymin, xmax, ymax] = file.mercatorBounds;
      for (const [found, wanted] of [
        [bounds.xmin, xmin],
        [bounds.ymin, ymin],
        [bounds.xmax, xmax],
        [bounds.ymax, ymax],
      ] as const) {
        expect(Math.abs(found - wanted)).toBeLessThan(1);
      }
    }
    const isSharp = (level: number) => level >= levels - 2;
    expect(file.tiles.some(({ level }) => level < levels && isSharp(level))).toBe(true);
    for (const { level, x, y, raw } of file.tiles.filter((tile) => tile.level < levels)) {
      const tile = await source.readTile({ level, x, y, frame: 0 });
      const wanted = samplesOf(readFileSync(join(folder, raw)), file.dtype);
      const mask = readFileSync(join(folder, `${raw}.mask`));
      let [shown, differing, wrong] = [0, 0, 0];
      for (let pixel = 0; pixel < 256 * 256; pixel++) {
        const isShown = tile.data[pixel * bandCount + bandCount - 1]! > 0;
        if (isShown !== mask[pixel]! > 0) differing += 1;
        if (!isShown || mask[pixel] === 0) continue;
        shown += 1;
        for (let band = 0; band < file.bands; band++) {
          if (tile.data[pixel * bandCount + band] !== wanted[pixel * file.bands + band]) {
            wrong += 1;
            break;
          }
        }
      }
      // Pixels whose middle lies on the edge of a source pixel may fall to either side of it.
      expect(differing, `${raw}: mask`).toBeLessThan(256 * 256 * 0.003 + 300);
      if (isSharp(level)) {
        expect(shown).toBeGreaterThan(1000);
        expect(wrong / shown, `${raw}: samples`).toBeLessThan(0.01);
      }
    }
  });

  it('serves tiles, thumbnail and metadata of the world map', async () => {
    const image = openLargeImage(await open('utm.tif'));
    const projected = image.metadata('EPSG:3857');
    expect(projected).toMatchObject({
      projection: 'epsg:3857',
      sourceSizeX: 900,
      sourceBounds: { srs: 'epsg:32633' },
      bounds: { srs: 'epsg:3857' },
    });
    expect(projected.levels).toBe(15);
    const { x, y } = fixtures!.manifest[0]!.tiles.find(({ level }) => level === 13)!;
    const tile = await image.tile({ level: 13, x, y, projection: 'EPSG:3857', encoding: 'PNG' });
    expect(tile.bytes.length).toBeGreaterThan(1000);
    const thumbnail = await image.thumbnail({ projection: 'epsg:3857', width: 100, height: 100, encoding: 'PNG' });
    expect(thumbnail.kind).toBe('bytes');
    expect(() => image.tile({ level: 0, x: 0, y: 0, projection: 'EPSG:4326' })).toThrow('EPSG:3857');
    const plain = openLargeImage(await open('plain.tif'));
    expect(() => plain.tile({ level: 0, x: 0, y: 0, projection: 'EPSG:3857' })).toThrow('no place on the earth');
  });

  it('survives mutations of its keys', { timeout: 120_000 }, async () => {
    const near = [{ offset: 0, length: 1024 }];
    const kinds = new Map(
      ['lonlat.tif', 'turned.tif'].map((name) => [name, { file: readFileSync(join(folder, name)), name, near }]),
    );
    // What a mutated place leads to is asked for as well.
    const projecting = {
      ...tiffSource,
      async open(...input: Parameters<typeof tiffSource.open>) {
        const source = await tiffSource.open(...input);
        if (source.metadata.geo === undefined) return source;
        try {
          const { source: projected, extent } = projectToWebMercator(source);
          const { levels } = projected.metadata;
          const [x, y] = [extent.left, extent.top].map((from) => Math.floor(from / 256)) as [number, number];
          await projected.readTile({ level: levels - 1, x, y, frame: 0 });
          await projected.readTile({ level: 0, x: 0, y: 0, frame: 0 });
        } catch (error) {
          if (!(error instanceof LargeImageError)) throw error;
        }
        return source;
      },
    };
    await fuzz(projecting, kinds, { count: 500, seconds: 15 });
  });
});
