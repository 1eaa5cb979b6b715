import { describe, expect, it } from 'vitest';
import type { GeoReference } from '../../../src/tilesource/geo/georeference.js';
import { positionInPixels, regionInPixels } from '../../../src/tilesource/geo/region-units.js';
import { projectionOfKeys, createTransformer } from '../../../src/tilesource/geo/projections.js';
import { projectToWebMercator } from '../../../src/tilesource/geo/web-mercator.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';

const named = (code: number) => ({ GTModelTypeGeoKey: 1, ProjectedCSTypeGeoKey: code });
const userDefined = (kind: number, keys: Record<string, number>) => ({
  GTModelTypeGeoKey: 1,
  GeographicTypeGeoKey: 4326,
  ProjectedCSTypeGeoKey: 32_767,
  ProjCoordTransGeoKey: kind,
  ...keys,
});

describe('projections', () => {
  it.each<[string, Record<string, number>, [x: number, y: number], [longitude: number, latitude: number]]>([
    ['Antarctic', named(3031), [1419227.92, 819391.62], [60, -75]],
    ['Arctic', named(3995), [-1267152.62, -1510133.68], [-40, 72]],
    ['to the west and south', named(2048), [-48243.45, 3320218.65], [19.5, -30]],
    ['Mercator with a parallel', named(3388), [-41332.65, 3842146.78], [50.5, 42.2]],
    ['oblique, counted from the equator', named(3078), [476195.6, 494298.55], [-86.3, 45]],
    ['oblique, counted from its middle', named(2056), [2658121.84, 1183485.73], [8.2, 46.8]],
    ['feet', named(2263), [1011978.08, 194321.17], [-73.9, 40.7]],
    ['Krovak, to the south and west', named(5513), [1084718.43, 670165.15], [15.5, 49.8]],
    [
      'zone 33 next to its geographic system',
      { ...named(32_633), GeographicTypeGeoKey: 4326 },
      [428333.55, 5539109.82],
      [14, 50],
    ],
    [
      'a custom system in feet',
      userDefined(1, {
        ProjLinearUnitsGeoKey: 9003,
        ProjNatOriginLongGeoKey: 20,
        ProjNatOriginLatGeoKey: 10,
        ProjScaleAtNatOriginGeoKey: 0.9,
      }),
      [322714.13, 327144.58],
      [21, 11],
    ],
    [
      'around a pole, with a parallel',
      userDefined(15, { ProjStraightVertPoleLongGeoKey: -30, ProjNatOriginLatGeoKey: 75, ProjScaleAtNatOriginGeoKey: 1 }),
      [707450.47, -843106.64],
      [10, 80],
    ],
    [
      'around a pole, with a scale',
      userDefined(15, { ProjStraightVertPoleLongGeoKey: 30, ProjNatOriginLatGeoKey: -90, ProjScaleAtNatOriginGeoKey: 0.994 }),
      [-380651.71, 1045831.97],
      [10, -80],
    ],
    [
      'equidistant with a parallel',
      userDefined(17, { ProjStdParallel1GeoKey: 30, ProjCenterLatGeoKey: 0, ProjCenterLongGeoKey: 5 }),
      [482027.53, 4452779.63],
      [10, 40],
    ],
  ])('agree with PROJ: %s', (_name, keys, [x, y], [longitude, latitude]) => {
    const definition = projectionOfKeys(keys);
    expect(definition).not.toBeNull();
    const place = createTransformer(definition!, 'EPSG:4326')({ x, y });
    expect(place.x).toBeCloseTo(longitude, 2);
    expect(place.y).toBeCloseTo(latitude, 2);
  });

  it.each([
    ['units that the library has wrong', named(24_370)],
    ['a kind that proj4 does not know', named(6244)],
    ['longitudes in radians', { GTModelTypeGeoKey: 2, GeographicTypeGeoKey: 4326, GeogAngularUnitsGeoKey: 9101 }],
  ])('are refused for %s', (_name, keys) => {
    expect(projectionOfKeys(keys)).toBeNull();
  });
});

/** An image whose pixels state their column and row. It begins at `west` and at 40° north, and is `width` degrees wide. */
const imageOfDegrees = (west: number, width: number) => {
  const size = { sizeX: 360, sizeY: 160 };
  const step = width / size.sizeX;
  const geo: GeoReference = {
    transform: [west, step, 0, 40, 0, -step / 2],
    projection: 'epsg:4326',
    proj4: 'EPSG:4326',
  };
  const picture = paint(
    { width: size.sizeX, height: size.sizeY, bands: 3 },
    (x, y, band) => [x % 256, y, x < 256 ? 0 : 255][band]!,
  );
  return rasterSource(picture, { geo });
};

describe('longitudes that repeat after a full turn', () => {
  const tile = (source: ReturnType<typeof imageOfDegrees>['source'], level: number, x: number, y: number) =>
    projectToWebMercator(source).source.readTile({ level, x, y, frame: 0 });

  it.each([
    ['across 180°', 176, 8],
    ['from 0° to 360°', 0, 360],
    ['from -170° to 190°', -170, 360],
    ['beyond 180°', 190, 10],
  ])('images %s are at their position on the map', async (_name, west, width) => {
    const { source } = imageOfDegrees(west, width);
    const projected = projectToWebMercator(source);
    const { levels } = projected.source.metadata;
    expect(2 ** (levels - 1) * 256).toBeGreaterThan((360 / width) * 360 * 0.99);
    for (const part of [0.1, 0.3, 0.49, 0.51, 0.7, 0.9]) {
      const longitude = west + width * part;
      const column = ((((longitude + 180) % 360) + 360) % 360) / 360;
      const at = Math.floor(column * 256 * 2 ** (levels - 1));
      // A latitude that even a narrow image covers, which ends few degrees below 40.
      const latitude = 40 - Math.min(20, width / 20);
      const y = (0.5 - Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI)) * 256 * 2 ** (levels - 1);
      const { data, bands } = await tile(source, levels - 1, Math.floor(at / 256), Math.floor(y / 256));
      const from = ((Math.floor(y) % 256) * 256 + (at % 256)) * bands;
      const shown = data[from]! + (data[from + 2]! > 127 ? 256 : 0);
      expect(data[from + 3], `${longitude}`).toBe(255);
      expect(Math.abs(shown - part * 360), `${longitude}`).toBeLessThan(2);
    }
    if (west === 190) expect(projected.bounds.xmin).toBeCloseTo((-170 / 180) * Math.PI * 6_378_137, 0);
    if (west === 176) expect(projected.bounds.xmin).toBeCloseTo(-Math.PI * 6_378_137, 0);
  });

  it('positions and regions are found at each of their longitudes', () => {
    const { metadata } = imageOfDegrees(190, 10).source;
    const west = positionInPixels(metadata, { left: -165, top: 39, units: 'EPSG:4326' });
    expect(west).toEqual(positionInPixels(metadata, { left: 195, top: 39, units: 'EPSG:4326' }));
    expect(west.left).toBe(180);
    const region = { top: 39.5, bottom: 39, units: 'EPSG:4326' };
    expect(regionInPixels(metadata, { ...region, left: -168, right: -166 })).toEqual(
      regionInPixels(metadata, { ...region, left: 192, right: 194 }),
    );
  });
});

it('an image around a pole covers the map up to its border, down to the level of its pixels', () => {
  const picture = paint({ width: 400, height: 400, bands: 1 }, () => 9);
  const proj4 = projectionOfKeys(named(3031));
  const geo: GeoReference = { transform: [-2e6, 10_000, 0, 2e6, 0, -10_000], projection: null, proj4 };
  const { bounds, source } = projectToWebMercator(rasterSource(picture, { geo }).source);
  const half = Math.PI * 6_378_137;
  expect([bounds.xmin, bounds.xmax, bounds.ymin]).toEqual([-half, half, -half]);
  expect(bounds.ymax).toBeCloseTo(-9_448_511, 0);
  expect(source.metadata.levels).toBe(4);
});
