import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { LargeImageError } from '../../../../src/errors.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import type { TileSource } from '../../../../src/tilesource/tile-source.js';
import { inverseOf, toCoordinates, type Affine } from '../../../../src/tilesource/geo/georeference.js';
import { createByteConverter } from '../../../../src/tilesource/render/pixels.js';
import { projectToWebMercator } from '../../../../src/tilesource/geo/web-mercator.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';
import { samplesOf } from '../../../support/images/samples.js';

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  corners?: [number, number][];
  /** Longitude and latitude of the middle of the pixel at 450, 350. */
  center: [number, number];
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
  it('is undone by its inverse', () => {
    const transform: Affine = [500, 2, 0.3, -40, 0.1, -1.5];
    const back = toCoordinates(inverseOf(transform)!, toCoordinates(transform, { x: 12, y: 34 }));
    expect(back).toEqual({ x: near(12), y: near(34) });
    expect(inverseOf([0, 1, 2, 0, 2, 4])).toBeNull();
  });
});

describe('measurements of the earth', () => {
  const geo = { transform: [0, 10, 0, 0, 0, -10] as Affine, projection: 'epsg:32633', proj4: null };
  const heights = (sample: (x: number, y: number) => number, dtype: SampleType = 'float32') =>
    openLargeImage(
      rasterSource(paint({ width: 128, height: 64, bands: 1, dtype }, sample), {
        geo,
        nodata: -9999,
        tileWidth: 128,
        tileHeight: 64,
      }).source,
    );
  const grays = async (image: ReturnType<typeof openLargeImage>, style?: string) => {
    const tile = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG', ...(style !== undefined && { style }) });
    const { data, info } = await sharp(tile.bytes).raw().toBuffer({ resolveWithObject: true });
    return (x: number) => data[x * info.channels];
  };

  it('are shown from minimum to maximum, without no-data values, unless a style says otherwise', async () => {
    const image = heights((x) => (x < 8 ? -9999 : 1000 + x * 10));
    const shown = await grays(image);
    expect([shown(0), shown(8), shown(127)]).toEqual([0, 0, 255]);
    expect(Math.abs(shown(68)! - 128)).toBeLessThan(3);
    expect((await grays(image, '{}'))(68)).toBe(255);
    expect(await image.pixel({ left: 68, top: 1 })).toEqual({ value: [1680], l: shown(68) });
    const signed = await grays(heights((x) => x * 20 - 400, 'int16'));
    expect([signed(0), signed(127)]).toEqual([0, 255]);
  });

  it('that are bytes in a wider type, or nothing at all, are shown as they are', async () => {
    expect((await grays(heights((x) => x)))(100)).toBe(100);
    expect((await grays(heights(() => -9999)))(100)).toBe(0);
  });
});

describe.skipIf(fixtures === null)('GeoTIFF written by rasterio', () => {
  it.each(written.map((file) => [file.name, file] as const))(
    'places %s where its writer does',
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
    'finds pixels of %s by longitude and latitude',
    async (name, { center }) => {
      const image = openLargeImage(await open(name));
      const [left, top] = center;
      for (const units of ['EPSG:4326', 'wgs84', '4326', 'epsg:4326']) {
        expect(await image.pixel({ left, top, units })).toEqual(await image.pixel({ left: 450, top: 350 }));
      }
      expect(await image.pixel({ left: left + 40, top, units: '4326' })).toEqual({});
    },
  );

  it('cuts regions by coordinates', async () => {
    const image = openLargeImage(await open('utm.tif'));
    const byPixels = await image.region({ left: 100, top: 50, right: 300, bottom: 200, encoding: 'PNG' });
    const region = { left: 501_000, top: 5_199_500, right: 503_000, bottom: 5_198_000, encoding: 'PNG' };
    expect(await image.region({ ...region, units: 'projection' })).toEqual(byPixels);
    expect(await image.region({ ...region, units: 'EPSG:32633' })).toEqual(byPixels);
    const sized = { left: 501_000, top: 5_199_500, regionWidth: 2000, regionHeight: 1500, encoding: 'PNG', units: 'proj' };
    expect(await image.region(sized)).toEqual(byPixels);
    await expect((async () => image.region({ ...region, units: 'EPSG:999999' }))()).rejects.toThrow(
      "Unknown projection 'EPSG:999999'",
    );
    const plain = openLargeImage(await open('plain.tif'));
    await expect((async () => plain.region({ ...region, units: 'EPSG:4326' }))()).rejects.toThrow('not georeferenced');
  });

  it.each(written.map((file) => [file.name, file] as const))('shows %s in EPSG:3857 as GDAL does', async (name, file) => {
    const original = await open(name);
    const { source, bounds } = projectToWebMercator(original);
    const { levels, bandCount } = source.metadata;
    expect(source.metadata).toMatchObject({ sizeX: 256 * 2 ** (levels - 1), tileWidth: 256, tileHeight: 256 });
    if (file.mercatorBounds !== null) {
      const [xmin, ymin, xmax, ymax] = file.mercatorBounds;
      for (const [actual, expected] of [
        [bounds.xmin, xmin],
        [bounds.ymin, ymin],
        [bounds.xmax, xmax],
        [bounds.ymax, ymax],
      ] as const) {
        expect(Math.abs(actual - expected)).toBeLessThan(1);
      }
    }
    const isSharp = (level: number) => level >= (file.dtype === 'uint8' ? levels - 1 : levels - 2);
    // Bytes are interpolated, with different rounding. If a pixel of the map covers several of the image, other samples are
    // averages of these, while GDAL picks one; neighbors differ by at most 1.
    const tolerance = file.dtype === 'uint8' ? 3 : 1;
    expect(file.tiles.some(({ level }) => level < levels && isSharp(level))).toBe(true);
    for (const { level, x, y, raw } of file.tiles.filter((tile) => tile.level < levels)) {
      const tile = await source.readTile({ level, x, y, frame: 0 });
      const expected = samplesOf(readFileSync(join(folder, raw)), file.dtype);
      const mask = readFileSync(join(folder, `${raw}.mask`));
      let [shown, differing, wrong] = [0, 0, 0];
      for (let pixel = 0; pixel < 256 * 256; pixel++) {
        const isShown = tile.data[pixel * bandCount + bandCount - 1]! > 0;
        if (isShown !== mask[pixel]! > 0) differing += 1;
        if (!isShown || mask[pixel] === 0) continue;
        shown += 1;
        for (let band = 0; band < file.bands; band++) {
          if (Math.abs(tile.data[pixel * bandCount + band]! - expected[pixel * file.bands + band]!) > tolerance) {
            wrong += 1;
            break;
          }
        }
      }
      // Pixels whose center is on the edge of a source pixel may be taken from either side.
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
    await expect(image.tile({ level: 0, x: 0, y: 0, projection: 'EPSG:4326' })).rejects.toThrow('EPSG:3857');
    const plain = openLargeImage(await open('plain.tif'));
    await expect(plain.tile({ level: 0, x: 0, y: 0, projection: 'EPSG:3857' })).rejects.toThrow('not georeferenced');
  });

  it('survives mutations of its keys', async () => {
    const near = [{ offset: 0, length: 1024 }];
    const kinds = new Map(
      ['lonlat.tif', 'turned.tif'].map((name) => [name, { file: readFileSync(join(folder, name)), name, near }]),
    );
    // Map tiles of mutated images are also requested.
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
    await fuzz(projecting, kinds, { count: 100 });
  });
});

describe('the map', () => {
  const [dark, bright] = [40, 220];
  const world = 2 * Math.PI * 6_378_137;
  /** The position of a step from dark to bright along a line, in samples, to a fraction of a sample. */
  const stepAt = (samples: ArrayLike<number>) =>
    Array.from(samples).reduce((sum, value) => sum + (bright - value) / (bright - dark), 0);

  it('places a step within a twentieth of a pixel at every zoom', async () => {
    const [width, height] = [1200, 900];
    // Positions and scales that do not coincide with pixels of the map.
    const places: { proj4: string; transform: Affine; map: (latitudeOrMeter: number) => number }[] = [
      {
        proj4: 'EPSG:3857',
        transform: [-6_012_345, 10_037, 0, 4_123_456, 0, -10_037],
        map: (meter) => 0.5 - meter / world,
      },
      {
        proj4: 'EPSG:4326',
        transform: [-61.3, 0.1031, 0, 76.77, 0, -0.1031],
        map: (latitude) => 0.5 - Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI),
      },
    ];
    const wrong: string[] = [];
    for (const { proj4, transform, map } of places) {
      const geo = { transform, projection: proj4.toLowerCase(), proj4 };
      const step = 391;
      const drawn = paint({ width, height, bands: 3 }, (_x, y) => (y < step ? dark : bright));
      const { source } = projectToWebMercator(rasterSource(drawn, { geo }).source);
      for (let level = 0; level < source.metadata.levels; level += 1) {
        const position = map(transform[3] + transform[5] * step) * 256 * 2 ** level;
        const x = Math.floor(2 ** level * (proj4 === 'EPSG:3857' ? 0.5 : 0.5 - 0.02));
        const y = Math.floor(position / 256);
        const { data, bands } = await source.readTile({ level, x, y, frame: 0 });
        const at = (row: number) => data.slice((row * 256 + 200) * bands, (row * 256 + 200) * bands + bands);
        // Pixels outside of the image are transparent, so only rows around the step are compared.
        const first = Math.max(0, Math.floor(position - y * 256) - 4);
        const rows = Array.from({ length: Math.min(256, first + 9) - first }, (_, row) => at(first + row));
        if (rows.some((row) => row[3] !== 255) || position - y * 256 < 4 || position - y * 256 > 252) continue;
        const off = stepAt(rows.map((row) => row[0]!)) - (position - y * 256 - first);
        if (Math.abs(off) > 0.05) wrong.push(`${proj4}, level ${level}: ${off.toFixed(3)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('pixels are picked, not mixed, if the image has a palette or the style has discrete colors', async () => {
    const transform: Affine = [-6_012_345, 10_037, 0, 4_123_456, 0, -10_037];
    const geo = { transform, projection: 'epsg:3857', proj4: 'EPSG:3857' };
    const drawn = (dtype: SampleType) =>
      paint({ width: 400, height: 300, bands: 1, dtype }, (x, y) => [10, 90, 200][(x + y) % 3]!);
    const values = async (source: TileSource, nearest = false) => {
      const { levels } = source.metadata;
      const [x, y] = [2 ** (levels - 2) - 1, 2 ** (levels - 2) - 1];
      const { data } = await source.readTile({ level: levels - 1, x, y, frame: 0 }, { nearest });
      return new Set(Array.from(data).filter((_, at) => at % 2 === 0));
    };
    const mapped = (dtype: SampleType, indexed = false) =>
      projectToWebMercator(rasterSource(drawn(dtype), { geo, ...(indexed && { indexed }) }).source).source;
    const palette = new Set([0, 10, 90, 200]);
    const isKept = (values: Set<number>) => [...values].every((value) => palette.has(value));
    expect(isKept(await values(mapped('uint8')))).toBe(false);
    expect(isKept(await values(mapped('uint8', true)))).toBe(true);
    expect(isKept(await values(mapped('uint16')))).toBe(false);
    expect(isKept(await values(mapped('uint16', true)))).toBe(true);
    expect(isKept(await values(mapped('uint8'), true))).toBe(true);
    const image = openLargeImage(rasterSource(drawn('uint8'), { geo }).source);
    const style = JSON.stringify({
      bands: [{ band: 1, min: 0, max: 255, scheme: 'discrete', palette: ['#000', '#808080', '#fff'] }],
    });
    const { levels } = image.metadata('EPSG:3857');
    const middle = 2 ** (levels - 2) - 1;
    const tile = await image.tile({ level: levels - 1, x: middle, y: middle, projection: 'EPSG:3857', style, encoding: 'PNG' });
    const { data, info } = await sharp(tile.bytes).raw().toBuffer({ resolveWithObject: true });
    expect(new Set(data.filter((_, at) => at % info.channels === 0))).toEqual(new Set([0, 128, 255]));
  });

  it.each(['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32'] as const)(
    'samples of %s are opaque in EPSG:3857 inside the image, and transparent outside it and without data',
    async (dtype) => {
      const transform: Affine = [0, 1e6, 0, 0, 0, -1e6];
      const geo = { transform, projection: 'epsg:3857', proj4: 'EPSG:3857' };
      const picture = paint({ width: 8, height: 8, bands: 1, dtype }, (x) => (x < 4 ? 7 : 100));
      const original = rasterSource(picture, { geo, nodata: 7 });
      const { source } = projectToWebMercator(original.source);
      const tile = await source.readTile({ level: 0, x: 0, y: 0, frame: 0 });
      const alpha = (x: number, y: number) => createByteConverter(dtype)(tile.data[(y * 256 + x) * 2 + 1]!);
      // The image begins in the middle of the map, and each of its pixels is six pixels of the tile wide.
      expect([alpha(100, 100), alpha(135, 140), alpha(160, 140)]).toEqual([0, 0, 255]);
    },
  );
});
