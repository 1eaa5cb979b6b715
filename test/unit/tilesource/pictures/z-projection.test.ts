import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { CorruptTileError, TileSourceError } from '../../../../src/errors.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { fullValue, minValue, sampleArrays, type Raster, type SampleType } from '../../../../src/tilesource/raster.js';
import type { ImageMetadata } from '../../../../src/tilesource/tile-source.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

const methods = ['max', 'mean', 'min'] as const;

/** Frames of two channels and some planes: the sample of a plane is a function of channel and z. */
function stackOf(
  shape: { planes: number; dtype?: SampleType; width?: number; height?: number; tileWidth?: number },
  sample: (place: { x: number; y: number; c: number; z: number }) => number,
  facts: Partial<ImageMetadata> = {},
) {
  const { planes, dtype = 'uint8', width = 4, height = 3 } = shape;
  const places = Array.from({ length: planes * 2 }, (_, frame) => ({ c: frame % 2, z: Math.floor(frame / 2) }));
  const rasters = places.map(({ c, z }): Raster => {
    return paint({ width, height, bands: 1, dtype }, (x, y) => sample({ x, y, c, z }));
  });
  const frames = places.map(({ c, z }) => ({ axes: { C: c, Z: z } }));
  return rasterSource(rasters, { frames, ...(shape.tileWidth && { tileWidth: shape.tileWidth, tileHeight: 64 }), ...facts });
}

/** Values of three planes at one pixel, for each sample type: extremes of the type, and means that end in a half. */
const columns: Record<SampleType, [planes: number[], mean: number][]> = {
  uint8: [
    [[255, 255, 255], 255],
    [[0, 1, 3], 1],
    [[1, 2, 2], 2],
  ],
  int8: [
    [[-128, 127, -128], -43],
    [[-1, -2, -2], -2],
    [[0, 0, -128], -43],
  ],
  uint16: [
    [[65_535, 65_535, 65_534], 65_535],
    [[0, 1, 65_535], 21_845],
  ],
  int16: [[[-32_768, 32_767, -32_768], -10_923]],
  uint32: [[[4_294_967_295, 4_294_967_295, 4_294_967_293], 4_294_967_294]],
  int32: [[[-2_147_483_648, -2_147_483_648, -2_147_483_645], -2_147_483_647]],
  float32: [
    [[0.5, -1.25, 3], 0.75],
    [[Infinity, 0, 1], Infinity],
  ],
  float64: [[[1e300, -1e300, 3], 1]],
};

describe('projections over z', () => {
  it.each(Object.entries(columns) as [SampleType, [number[], number][]][])(
    'keeps values and type of %s samples',
    async (dtype, cases) => {
      for (const [planes, mean] of cases) {
        const { source } = stackOf({ planes: 3, dtype }, ({ c, z }) => (c === 1 ? planes[z]! : 0));
        const image = openLargeImage(source);
        const expected = { max: Math.max(...planes), mean, min: Math.min(...planes) };
        for (const zProject of methods) {
          const { value } = await image.pixel({ left: 1, top: 1, frame: 1, zProject });
          expect([zProject, ...(value ?? [])]).toEqual([zProject, new sampleArrays[dtype]([expected[zProject]])[0]]);
        }
      }
    },
  );

  it('rounds means to the even neighbor, as numpy.rint does', async () => {
    const planes = [0, 1, 2, 3];
    const { source } = stackOf({ planes: 4 }, ({ x, z }) => planes[z]! + x);
    const image = openLargeImage(source);
    const means = await Promise.all([0, 1, 2].map((left) => image.pixel({ left, top: 0, zProject: 'mean' })));
    expect(means.map(({ value }) => value?.[0])).toEqual([2, 2, 4]);
  });

  it('combines only the planes of the requested range, in the channel of the frame', async () => {
    const { source, tilesRead } = stackOf({ planes: 5 }, ({ c, z }) => 100 * c + 10 * z);
    const image = openLargeImage(source);
    const range = { left: 0, top: 0, zFrom: 1, zTo: 3 };
    expect(await image.pixel({ ...range, frame: 8, zProject: 'max' })).toMatchObject({ value: [30] });
    expect(tilesRead.map(({ frame }) => frame)).toEqual([2, 4, 6]);
    expect(await image.pixel({ ...range, frame: 1, zProject: 'min' })).toMatchObject({ value: [110] });
    expect(await image.pixels({ ...range, zProject: 'mean' }, [0, 9])).toMatchObject([{ value: [20] }, { value: [120] }]);
  });

  it.each([
    ['float32 NaN', 'float32', Number.NaN, undefined],
    ['float32 no data', 'float32', -9999.9, -9999.9],
    ['int16 no data', 'int16', -9999, -9999],
  ] as const)('leaves out %s, unless no plane has a value', async (_name, dtype, noValue, nodata) => {
    const { source } = stackOf(
      { planes: 3, dtype },
      ({ x, z }) => (x === 1 || z === x ? noValue : z + 1),
      nodata === undefined ? {} : { nodata },
    );
    const image = openLargeImage(source);
    const at = async (left: number, zProject: string) => (await image.pixel({ left, top: 0, zProject })).value?.[0];
    const missing = new sampleArrays[dtype]([noValue])[0];
    // The two planes with a value have 2 and 3.
    const mean = dtype === 'int16' ? 2 : 2.5;
    for (const [zProject, result] of [
      ['max', 3],
      ['mean', mean],
      ['min', 2],
    ] as const) {
      expect([zProject, await at(0, zProject), await at(1, zProject)]).toEqual([zProject, result, missing]);
    }
  });

  it('mixes several channels of the projection with a style, in tiles, regions, thumbnails and histograms', async () => {
    const { source } = stackOf({ planes: 3, width: 100, height: 64 }, ({ c, z }) => (c === 0 ? z * 50 : 200 - z * 100));
    const image = openLargeImage(source);
    const style = JSON.stringify({
      bands: [
        { framedelta: 0, palette: '#ff0000', min: 0, max: 255 },
        { framedelta: 1, palette: '#00ff00', min: 0, max: 255 },
      ],
    });
    const projected = { style, zProject: 'max' };
    expect(await image.pixel({ left: 0, top: 0, ...projected })).toMatchObject({ r: 100, g: 200, b: 0 });
    const png = { ...projected, encoding: 'PNG' };
    const pictures = [
      await image.tile({ level: 1, x: 0, y: 0, ...png }),
      await image.tile({ level: 0, x: 0, y: 0, ...png }),
      await image.region({ left: 10, top: 10, regionWidth: 20, regionHeight: 20, ...png }),
      await image.region({ encoding: 'TILED', tiffCompression: 'deflate', ...projected }),
      await image.thumbnail({ width: 32, height: 32, ...png }),
      await image.tileFrames({ frameList: [0, 2], width: 16, height: 16, ...png }),
      await image.dziTile({ level: 0, name: '0_0.png', ...projected }),
    ];
    for (const [at, picture] of pictures.entries()) {
      const bytes = picture.kind === 'bytes' ? picture.bytes : await buffer(picture.stream);
      const { data } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
      expect([at, ...data.subarray(0, 3)]).toEqual([at, 100, 200, 0]);
    }
    const [band] = await image.histogram({ frame: 1, zProject: 'min', bins: 256 });
    expect(band).toMatchObject({ min: 0, max: 0 });
  });

  it('makes a projected tile once for several styles and frames of the stack', async () => {
    const { source, tilesRead } = stackOf({ planes: 4, width: 64, height: 64 }, ({ z }) => z);
    const image = openLargeImage(source);
    for (const frame of [0, 2, 4]) {
      for (const max of [10, 20, 30]) {
        const style = { bands: [{ min: 0, max, palette: '#ffffff' }] };
        await image.tile({ level: 0, x: 0, y: 0, frame, zProject: 'mean', style });
      }
    }
    expect(tilesRead).toHaveLength(4);
  });

  it.each([
    [{ zProject: 'median' }, "Invalid zProject 'median': use max, mean or min."],
    [{ zProject: '' }, "Invalid zProject '': use max, mean or min."],
    [{ zFrom: 1 }, 'Give zProject as well'],
    [{ zTo: 1 }, 'Give zProject as well'],
    [{ zProject: 'max', zFrom: -1 }, 'the planes of this image are 0 to 299'],
    [{ zProject: 'max', zTo: 300 }, 'the planes of this image are 0 to 299'],
    [{ zProject: 'max', zFrom: 7, zTo: 6 }, 'Invalid zFrom 7 or zTo 6'],
    [{ zProject: 'max' }, 'would combine 300 planes; at most 256 are allowed'],
    [{ zProject: 'min', zFrom: 1, zTo: 257 }, 'would combine 257 planes; at most 256 are allowed'],
  ])('refuses %j', async (request, message) => {
    const { source, tilesRead } = stackOf({ planes: 300 }, () => 0);
    const image = openLargeImage(source);
    const place = { left: 0, top: 0 };
    const refused = { name: 'BadValueError', message: expect.stringContaining(message) };
    await expect(image.pixel({ ...place, ...request })).rejects.toMatchObject(refused);
    await expect(image.tile({ level: 0, x: 0, y: 0, ...request })).rejects.toMatchObject(refused);
    await expect(image.region(request)).rejects.toMatchObject(refused);
    await expect(image.thumbnail(request)).rejects.toMatchObject(refused);
    await expect(image.histogram(request)).rejects.toMatchObject(refused);
    expect(tilesRead).toEqual([]);
    expect(await image.pixel({ ...place, zProject: 'max', zFrom: 44 })).toMatchObject({ value: [0] });
    expect(tilesRead).toHaveLength(256);
  });

  it('refuses images without z', async () => {
    const { source } = rasterSource([0, 1].map((value) => paint({ width: 4, height: 4, bands: 1 }, () => value)));
    const message = 'Value Error: zProject combines the z planes of an image, and this image has only one.';
    await expect(openLargeImage(source).region({ zProject: 'max' })).rejects.toMatchObject({ name: 'BadValueError', message });
  });

  it('shows a hole where one plane is corrupt, and does not keep it', async () => {
    const { source } = stackOf({ planes: 3, width: 100, height: 64 }, ({ z }) => z + 1);
    const readTile = source.readTile.bind(source);
    let isBroken = true;
    source.readTile = (address, options) => {
      if (isBroken && address.frame === 2 && address.x === 0) throw new CorruptTileError(address, new TileSourceError('broken'));
      return readTile(address, options);
    };
    const image = openLargeImage(source);
    const request = { zProject: 'max', encoding: 'PNG' };
    await expect(image.tile({ level: 1, x: 0, y: 0, ...request })).rejects.toMatchObject({ name: 'CorruptTileError' });
    expect(await image.region(request)).toMatchObject({ corruptTiles: 1 });
    isBroken = false;
    expect(await image.region(request)).not.toHaveProperty('corruptTiles');
  });

  it('stops reading when the client is gone', async () => {
    const { source, tilesRead } = stackOf({ planes: 200 }, () => 0);
    const aborting = new AbortController();
    const readTile = source.readTile.bind(source);
    source.readTile = (address, options) => {
      if (address.frame === 20) aborting.abort(new Error('gone'));
      return readTile(address, options);
    };
    const image = openLargeImage(source);
    await expect(image.region({ zProject: 'max', signal: aborting.signal })).rejects.toThrow('gone');
    expect(tilesRead.length).toBeLessThan(20);
  });

  it('is exact for 256 planes of the largest and least samples', async () => {
    for (const dtype of ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32'] as const) {
      for (const sample of [fullValue(dtype), minValue(dtype)]) {
        const { source } = stackOf({ planes: 256, dtype, width: 1, height: 1 }, () => sample);
        const { value } = await openLargeImage(source).pixel({ left: 0, top: 0, zProject: 'mean' });
        expect([dtype, value]).toEqual([dtype, [sample]]);
      }
    }
  });
});
