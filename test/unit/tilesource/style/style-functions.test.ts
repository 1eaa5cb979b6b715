import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { EncodedPicture, StreamedPicture } from '../../../../src/tilesource/requests.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

async function pixels(picture: EncodedPicture | StreamedPicture) {
  if (picture.kind !== 'bytes') throw new Error('expected bytes');
  const { data, info } = await sharp(picture.bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { ...info, at: (x: number, y: number) => [...data.subarray((y * info.width + x) * 4, (y * info.width + x + 1) * 4)] };
}

/** Samples recorded from Girder: a band of noise, and its results with a median of 3 by 3 and the weights 1 and 2. */
const noise = [
  [121, 243, 210, 79, 69, 104, 21],
  [192, 209, 201, 31, 34, 231, 67],
  [15, 124, 191, 185, 236, 41, 107],
  [29, 116, 156, 109, 135, 94, 164],
  [55, 66, 148, 130, 13, 209, 194],
  [49, 91, 20, 170, 224, 158, 1],
];
const recorded: Record<number, number[][]> = {
  1: [
    [226, 211, 0, 0, 255],
    [92, 226, 214, 255, 0],
    [116, 182, 70, 140, 53],
    [66, 180, 125, 0, 255],
  ],
  2: [
    [243, 221, 0, 0, 255],
    [60, 255, 243, 255, 0],
    [116, 208, 31, 145, 12],
    [66, 212, 120, 0, 255],
  ],
};
const style = (value: object) => JSON.stringify(value);

describe('functions of styles', () => {
  it.each([1, 2])('medianFilter with weight %i sharpens as Girder does', async (weight) => {
    const image = openLargeImage(rasterSource(paint({ width: 7, height: 6, bands: 3 }, (x, y) => noise[y]![x]!)).source);
    const name = 'large_image.tilesource.stylefuncs.medianFilter';
    const shown = await pixels(
      await image.tile({
        level: 0,
        x: 0,
        y: 0,
        edge: 'crop',
        encoding: 'PNG',
        style: style({ function: { name, parameters: { kernel: 3, weight } } }),
      }),
    );
    const inner = recorded[weight]!.map((row, y) => row.map((_, x) => shown.at(x + 1, y + 1)[0]));
    expect(inner).toEqual(recorded[weight]);
  });

  it.each([1, 3])('applies medianFilter to pictures smaller than its kernel: %i bands', async (bands) => {
    const of = async (width: number, height: number) => {
      const samples = (x: number, y: number) => noise[Math.min(4, y)]![Math.min(3, x)]!;
      const image = openLargeImage(rasterSource(paint({ width, height, bands }, samples)).source);
      const filter = style({ function: { name: 'medianFilter', parameters: { kernel: 7 } } });
      const pixel = await image.pixel({ left: 0, top: 0, style: filter });
      return { shown: await pixels(await image.region({ encoding: 'PNG', style: filter })), pixel };
    };
    // The larger image continues with the last row and column of the smaller one.
    const [small, large] = [await of(4, 5), await of(20, 20)];
    for (let y = 0; y < 5; y += 1) for (let x = 0; x < 4; x += 1) expect(small.shown.at(x, y)).toEqual(large.shown.at(x, y));
    expect(small.pixel).toEqual(large.pixel);
  });

  it('medianFilter shows no seams between tiles, also in gray and with bands', async () => {
    for (const bands of [1, 3]) {
      const image = openLargeImage(
        rasterSource(paint({ width: 150, height: 130, bands }, (x, y) => (x * 37 + y * 91 + ((x * y) % 17) * 5) % 256)).source,
      );
      for (const colored of [{}, { bands: [{ band: 1, palette: ['#000', '#fff', '#f00'], min: 0, max: 255 }] }]) {
        const filter = style({ ...colored, function: { name: 'medianFilter', parameters: { kernel: 5 } } });
        const complete = await pixels(await image.region({ style: filter, encoding: 'PNG' }));
        const tile = await pixels(await image.tile({ level: 2, x: 1, y: 1, style: filter, encoding: 'PNG' }));
        for (const [x, y] of [
          [0, 0],
          [63, 0],
          [0, 63],
          [30, 2],
        ] as const)
          expect(tile.at(x, y)).toEqual(complete.at(64 + x, 64 + y));
        expect(await image.pixel({ left: 64, top: 64, style: filter })).toMatchObject({ value: expect.any(Array) });
      }
    }
  });

  it('maskPixelValues shows where samples of any type have the given values, in pictures, pixels and histograms', async () => {
    for (const dtype of ['uint8', 'uint16', 'float32'] as const) {
      const image = openLargeImage(
        rasterSource(paint({ width: 200, height: 100, bands: 1, dtype }, (x) => (x % 4 === 0 ? 7 : 200))).source,
      );
      const mask = (parameters: object) => style({ function: { name: 'maskPixelValues', parameters } });
      expect((await image.pixel({ left: 4, style: mask({ values: [7, [9]] }) })).value).toEqual([255, 255, 255, 0]);
      expect((await image.pixel({ left: 5, style: mask({ values: [7] }) })).value).toEqual([0, 0, 0, 255]);
      const colors = mask({ values: [200], positive: [10, 20, 30, 255], negative: '#fff' });
      const region = await pixels(await image.region({ style: colors, encoding: 'PNG' }));
      expect([region.at(4, 5), region.at(5, 5)]).toEqual([
        [255, 255, 255, 255],
        [10, 20, 30, 255],
      ]);
      const [red] = await image.histogram({ style: colors });
      expect(red).toMatchObject({ min: 10, max: 255, mean: 10 * 0.75 + 255 * 0.25 });
      // Levels that are not in the file also show labels, which are not mixed.
      const tile = await pixels(await image.tile({ level: 0, x: 0, y: 0, style: colors, edge: 'crop', encoding: 'PNG' }));
      expect(new Set([0, 1, 2, 3, 4, 5].map((x) => tile.at(x, 3)[0]))).toEqual(new Set([255]));
    }
    const colored = openLargeImage(rasterSource(paint({ width: 9, height: 9, bands: 3 }, (_x, _y, band) => band + 1)).source);
    for (const [values, alpha] of [
      [[0x030201], 0],
      [[[1, 2, 3]], 0],
      [[0x010203], 255],
    ] as const) {
      const { value } = await colored.pixel({ style: style({ function: { name: 'maskPixelValues', parameters: { values } } }) });
      expect(value?.[3]).toBe(alpha);
    }
  });

  it.each([
    ['os.system', 'Style \'function\' "os.system" does not exist. Allowed values: medianFilter, maskPixelValues'],
    [{ name: 'medianFilter', parameters: { kernel: 99 } }, 'Invalid kernel 99'],
    [{ name: 'medianFilter', parameters: { weight: 'much' } }, 'Invalid weight "much"'],
    [{ name: 'medianFilter', parameters: 7 }, 'must be an object'],
    [{ name: 'maskPixelValues' }, 'Invalid values'],
    [{ name: 'maskPixelValues', parameters: { values: Array.from({ length: 5000 }, () => 1) } }, 'at most 4096'],
    [{ name: 'maskPixelValues', parameters: { values: [1], positive: [1, 2] } }, 'Invalid color [1,2]'],
    [Array.from({ length: 9 }, () => 'medianFilter'), 'at most 4 are allowed'],
  ])('refuses %j', async (value, message) => {
    const image = openLargeImage(rasterSource(paint({ width: 9, height: 9, bands: 1 }, () => 0)).source);
    await expect(image.pixel({ style: style({ function: value }) })).rejects.toThrow(message);
    await expect(image.pixel({ style: style({ bands: [{ function: 'medianFilter' }] }) })).rejects.toThrow('for the whole style');
  });
});

describe('styles of every type of sample', () => {
  const dtypes = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'] as const;
  it.each(dtypes)('%s: tile, region, thumbnail, pixel and histogram agree, several frames and bands merged', async (dtype) => {
    const frames = [0, 1].map((frame) =>
      paint({ width: 90, height: 70, bands: 5, dtype }, (x, _y, band) => (frame * 5 + band) * 10 + (x < 45 ? 0 : 5)),
    );
    const image = openLargeImage(rasterSource(frames, { tileWidth: 128, tileHeight: 128 }).source);
    const merged = {
      bands: [
        { band: 5, min: 40, max: 45, palette: '#f00' },
        { framedelta: 1, band: 1, min: 45, max: 60, palette: ['#000', '#0f0'] },
        { frame: 1, band: 3, min: 'min', max: 'max', palette: '#00f' },
      ],
    };
    const request = { style: style(merged), encoding: 'PNG' };
    const expected = (x: number) => (x < 45 ? [0, 85, 0, 255] : [255, 170, 255, 255]);
    const tile = await pixels(await image.tile({ level: 0, x: 0, y: 0, ...request }));
    const region = await pixels(await image.region({ left: 10, ...request }));
    const thumbnail = await pixels(await image.thumbnail({ width: 90, height: 90, ...request }));
    for (const x of [20, 70]) {
      expect(tile.at(x, 9)).toEqual(expected(x));
      expect(region.at(x - 10, 9)).toEqual(expected(x));
      expect(thumbnail.at(x, 9)).toEqual(expected(x));
      const { value = [] } = await image.pixel({ left: x, top: 9, style: request.style });
      expect(value.map(Math.floor)).toEqual(expected(x));
    }
    const histogram = await image.histogram({ style: request.style });
    expect(histogram.map(({ min, max }) => [min, max])).toEqual([
      [0, 255],
      [85, 170],
      [0, 255],
      [255, 255],
    ]);
  });

  it('values have the type that the style requests', async () => {
    const image = openLargeImage(rasterSource(paint({ width: 9, height: 9, bands: 1, dtype: 'uint16' }, () => 128)).source);
    const value = async (dtype?: string) =>
      (await image.pixel({ style: style({ min: 0, max: 256, palette: ['#000', '#fff'], ...(dtype && { dtype }) }) })).value?.[0];
    expect(await Promise.all([undefined, 'uint8', 'uint16', 'source', 'float'].map(value))).toEqual([
      127.5, 127, 32_767, 32_767, 0.5,
    ]);
    const [counted] = await image.histogram({ style: style({ min: 0, max: 128, palette: ['#000', '#fff'], dtype: 'uint16' }) });
    expect(counted).toMatchObject({ min: 65_535, max: 65_535 });
  });

  it('mixes no labels when the palette is discrete', async () => {
    const labels = paint({ width: 600, height: 500, bands: 1 }, (x, y) =>
      (Math.floor(x / 3) + Math.floor(y / 5)) % 2 === 0 ? 0 : 2,
    );
    const image = openLargeImage(rasterSource(labels).source);
    const discrete = style({ min: 0, max: 3, scheme: 'discrete', palette: ['#f00', '#0f0', '#00f'] });
    const fullRegion = { left: 0, top: 0, width: 600, height: 500 };
    for (const picture of [
      await image.tile({ level: 0, x: 0, y: 0, style: discrete, edge: 'crop', encoding: 'PNG' }),
      await image.region({ style: discrete, width: 217, encoding: 'PNG' }),
      await image.region({ style: discrete, width: 1001, encoding: 'PNG' }),
      await image.thumbnail({ style: discrete, width: 100, encoding: 'PNG' }),
      await image.tileFrames({ ...fullRegion, style: discrete, width: 99, encoding: 'PNG' }),
    ]) {
      const shown = await pixels(picture);
      const colors = new Set<string>();
      for (let y = 0; y < shown.height; y += 1) for (let x = 0; x < shown.width; x += 1) colors.add(shown.at(x, y).join());
      expect([...colors].toSorted()).toEqual(['0,0,255,255', '255,0,0,255']);
    }
    // Requests for mixed pixels get them.
    const mixed = await pixels(await image.region({ style: discrete, width: 217, resample: 1, encoding: 'PNG' }));
    expect(mixed.at(100, 100)[2]).not.toBeOneOf([0, 255]);
  });
});
