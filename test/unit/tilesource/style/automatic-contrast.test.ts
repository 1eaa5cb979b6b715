import fc from 'fast-check';
import sharp from 'sharp';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { awaitOrAbort } from '../../../../src/tilesource/process/shared-work.js';
import { sortByDigits } from '../../../../src/tilesource/style/sort-by-digits.js';
import { createRaster, type Raster, type SampleType } from '../../../../src/tilesource/raster.js';
import type { EncodedPicture, StreamedPicture } from '../../../../src/tilesource/requests.js';
import { parseStyle } from '../../../../src/tilesource/style/parse.js';
import { resolveRange, surveySamples } from '../../../../src/tilesource/style/range.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';
import { casesOf } from '../../../support/run/sample.js';

/** The range that automatic contrast gives to a band. */
async function rangeOf(raster: Raster, { share = 0.001, index = 0, nodata = null as number | null } = {}) {
  const style = await parseStyle({ min: `min:${share}`, max: `max:${share}` });
  return resolveRange(style!.bands[0]!, { index, dtype: raster.dtype }, () =>
    surveySamples({ samples: [raster], extremes: [] }, nodata),
  );
}

function line(dtype: SampleType, length: number, sample: (at: number) => number): Raster {
  const raster = createRaster({ width: length, height: 1, bands: 1, dtype });
  for (let at = 0; at < length; at += 1) raster.data[at] = sample(at);
  return raster;
}

const integers = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32'] as const;

describe('automatic contrast', () => {
  it.each([
    ['float32', 1e6],
    ['float32', Infinity],
    ['float32', NaN],
    ['float32', -3.4028234663852886e38],
    ['float32', 3.4e38],
    ['float64', 1e300],
    ['float64', -1e300],
  ] as const)('of %s samples from 0 to 1 is not distorted by a few of %d', async (dtype, hot) => {
    const [min, max] = await rangeOf(line(dtype, 100_000, (at) => (at % 20_000 === 7 ? hot : (at % 1000) / 1000)));
    expect(min).toBeGreaterThanOrEqual(0);
    expect(min).toBeLessThan(0.01);
    expect(max).toBeLessThan(1);
    expect(max).toBeGreaterThan(0.99);
  });

  it.each(['uint32', 'int32'] as const)('of %s samples up to 1000 is not distorted by a few large ones', async (dtype) => {
    const [min, max] = await rangeOf(line(dtype, 100_000, (at) => (at % 20_000 === 7 ? 2e9 : at % 1000)));
    expect([min, max]).toEqual([1, 999]);
  });

  it('of a tile is measured to the end when the request that began to measure is aborted', async () => {
    const raster = paint({ width: 200, height: 150, bands: 1, dtype: 'uint16' }, (x, y) => 100 + x + y);
    const { source } = rasterSource(raster);
    let measurements = 0;
    let readsOfTile = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const image = openLargeImage({
      ...source,
      async readTile(address, options) {
        if (address.x === 0 && address.y === 0) readsOfTile += 1;
        // Only measuring the image reads tiles other than the first.
        else {
          measurements += 1;
          await awaitOrAbort(released, options?.signal);
        }
        return source.readTile(address, options);
      },
    });
    const request = { level: 2, x: 0, y: 0, encoding: 'PNG', style: '{"min": "min", "max": "max"}' };
    const first = new AbortController();
    const firstTile = image.tile({ ...request, signal: first.signal });
    await vi.waitFor(() => expect(measurements).toBeGreaterThan(0));
    const readsBefore = readsOfTile;
    const tiles = Promise.allSettled([firstTile, image.tile({ ...request, signal: new AbortController().signal })]);
    await vi.waitFor(() => expect(readsOfTile).toBe(readsBefore + 1));
    // The second request waits for the measurement now, too.
    await setImmediate();
    first.abort(new Error('gone'));
    release();
    expect(await tiles).toMatchObject([{ status: 'rejected', reason: { message: 'gone' } }, { status: 'fulfilled' }]);
  });

  it('leaves out all no-data samples', async () => {
    const samples = (noValue: number) => (at: number) => (at % 3 === 0 ? noValue : 200 + (at % 100));
    for (const [dtype, noValue] of [
      ['float32', NaN],
      ['float32', -Infinity],
      ['float32', -3.4028234663852886e38],
    ] as const) {
      expect(await rangeOf(line(dtype, 30_000, samples(noValue)))).toEqual([200, 299]);
    }
    for (const [dtype, nodata] of [
      ['float32', -9999],
      ['int16', -9999],
      ['int32', -2_000_000_000],
      ['uint16', 65_535],
    ] as const) {
      const raster = line(dtype, 30_000, samples(nodata));
      expect(await rangeOf(raster, { nodata })).toEqual([200, 299]);
      expect(await rangeOf(raster)).toContain(nodata);
    }
  });

  it('of samples that are nearly all 0 is computed from the others', async () => {
    for (const dtype of [...integers, 'float32', 'float64'] as const) {
      const spots = line(dtype, 100_000, (at) => (at % 2000 === 0 ? 1 + ((at / 2000) % 50) : 0));
      expect(await rangeOf(spots)).toEqual([0, 50]);
    }
    expect(await rangeOf(line('float32', 10_000, (at) => (at === 5 ? -3 : at === 6 ? 0.5 : 0)))).toEqual([-3, 0.5]);
    expect(await rangeOf(line('uint16', 10_000, () => 0))).toEqual([0, 0]);
  });

  it('of samples without any value is empty, and of a single one shows it in the middle', async () => {
    expect(await rangeOf(line('float32', 10, () => NaN))).toEqual([0, 0]);
    expect(await rangeOf(line('float32', 1, () => -2.5))).toEqual([-5, 0]);
    expect(await rangeOf(line('int32', 1, () => 70_000))).toEqual([0, 140_000]);
  });

  it('leaves out at most the share that the style names, and hardly less', async () => {
    const value = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 }), fc.double(), fc.integer({ min: 0, max: 3 }));
    const cases = fc.record({
      dtype: fc.constantFrom<SampleType>(...integers, 'float32', 'float64'),
      values: fc.array(value, { minLength: 1, maxLength: 40 }),
      length: fc.integer({ min: 1, max: 5000 }),
      share: fc.constantFrom(0.001, 0.02, 0.1, 0.3),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ dtype, values, length, share }) => {
        const raster = line(dtype, length, (at) => values[at % values.length]! * (1 + (at % 97)));
        const most = dtype.startsWith('float') ? 3.4e38 : Infinity;
        const sorted = Float64Array.from(raster.data)
          .filter((sample) => Math.abs(sample) < most)
          .sort();
        const rank = Math.floor(share * sorted.length);
        const near = Math.floor(rank * (1 - 1 / 128));
        // If nearly all samples are equal, the range follows another rule.
        if (sorted.length === 0 || sorted[rank] === sorted.at(-1 - rank)) return;
        const [min, max] = await rangeOf(raster, { share });
        expect([sorted[near]! <= min, min <= sorted[rank]!, sorted.at(-1 - rank)! <= max, max <= sorted.at(-1 - near)!]).toEqual([
          true,
          true,
          true,
          true,
        ]);
      }),
      { numRuns: casesOf(300) },
    );
  });

  it('is separate for each of several bands', async () => {
    const raster = createRaster({ width: 500, height: 20, bands: 3, dtype: 'int32' });
    for (let at = 0; at < raster.data.length; at += 1) {
      raster.data[at] = at % 3 === 1 ? ((at % 3000) - 1) * 1000 : (at % 3) * 100 + (Math.floor(at / 3) % 10);
    }
    const share = { share: 0.01 };
    expect(await rangeOf(raster, { index: 0, ...share })).toEqual([0, 9]);
    expect(await rangeOf(raster, { index: 1, ...share })).toEqual([30_000, 2_967_000]);
    expect(await rangeOf(raster, { index: 2, ...share })).toEqual([200, 209]);
  });

  it('of more samples than can be sorted is based on evenly picked ones', async () => {
    const rows = Array.from({ length: 3 }, () => line('float32', 2 ** 21, (at) => at % 1021));
    const style = (await parseStyle({ min: 'min:0.001', max: 'max:0.001' }))!;
    const range = await resolveRange(style.bands[0]!, { index: 0, dtype: 'float32' }, () =>
      surveySamples({ samples: rows, extremes: [] }),
    );
    expect(range).toEqual([1, 1019]);
  });
});

describe('sorting in slices', () => {
  it('equals sorting at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.double({ noNaN: true })), async (list) => {
        expect(await sortByDigits(Float64Array.from(list))).toEqual(Float64Array.from(list).sort());
      }),
    );
    const random = Float64Array.from({ length: 100_001 }, (_, at) => Math.fround(Math.sin(at) * 10 ** (at % 7)));
    expect(await sortByDigits(random.slice())).toEqual(random.slice().sort());
  });
});

describe('samples without a value', () => {
  /** Three stripes: no value, the value for no data, and a bright sample, of 32 columns each. */
  const stripes = paint({ width: 96, height: 64, bands: 1, dtype: 'float32' }, (x) => [NaN, -1, 7][Math.floor(x / 32)]!);
  const style = { band: 1, palette: ['#400', '#fa0'], min: 0, max: 7, nodata: -1 };

  async function stripesOf(picture: EncodedPicture | StreamedPicture) {
    if (picture.kind !== 'bytes') throw new Error('A picture in bytes was expected');
    const { data, info } = await sharp(picture.bytes).raw().toBuffer({ resolveWithObject: true });
    return [16, 48, 80].map((x) => [...data.subarray((10 * info.width + x) * info.channels).subarray(0, info.channels)]);
  }

  it('are transparent in encodings with alpha, and black in others', async () => {
    const image = openLargeImage(rasterSource(stripes, { tileWidth: 96, tileHeight: 64 }).source);
    const pictures = (encoding: string) => [
      image.tile({ level: 0, x: 0, y: 0, style, encoding }),
      image.region({ style, encoding }),
      image.tileFrames({ style, encoding, frameList: [0] }),
    ];
    for (const rendering of pictures('PNG')) {
      expect(await stripesOf(await rendering)).toEqual([
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [255, 170, 0, 255],
      ]);
    }
    for (const rendering of [...pictures('JPEG'), image.region({ style, encoding: 'TIFF', tiffCompression: 'jpeg' })]) {
      const [none, nodata, bright] = await stripesOf(await rendering);
      for (const sample of [...none!, ...nodata!]) expect(sample).toBeLessThan(5);
      expect(bright![0]).toBeGreaterThan(240);
    }
  });

  it('are black without a palette, too, and get the fill if there is one', async () => {
    const image = openLargeImage(rasterSource(stripes).source);
    for (const plain of [undefined, {}, { min: 0, max: 7 }]) {
      for (const encoding of ['PNG', 'JPEG']) {
        const [none] = await stripesOf(await image.region({ encoding, ...(plain && { style: plain }) }));
        expect(none![0]).toBeLessThan(5);
      }
    }
    const [filled] = await stripesOf(await image.region({ style, width: 96, height: 64, fill: '#fff', encoding: 'JPEG' }));
    expect(Math.min(...filled!)).toBeGreaterThan(250);
  });
});
