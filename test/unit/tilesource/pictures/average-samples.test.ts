import { describe, expect, it } from 'vitest';
import { averageSamples } from '../../../../src/tilesource/pyramid/average.js';
import { fullValue, minValue, sampleArrays, type Raster, type SampleType } from '../../../../src/tilesource/raster.js';
import { paint } from '../../../support/images/raster-source.js';

const types = Object.keys(sampleArrays) as SampleType[];

/** Pseudorandom numbers over the whole range of the type; for floats from -1000 to 1000. */
function noise(dtype: SampleType, shape: { width: number; height: number; bands: number }): Raster {
  const isFloat = dtype.startsWith('float');
  const [least, full] = isFloat ? [-1000, 1000] : [minValue(dtype), fullValue(dtype)];
  return paint({ ...shape, dtype }, (x, y, band) => {
    const part = ((x * 7919 + y * 104_729 + band * 1_299_709) % 9973) / 9972;
    const isAlpha = !isFloat && shape.bands % 2 === 0 && shape.bands <= 4 && band === shape.bands - 1;
    return isAlpha ? full : isFloat ? least + part * (full - least) : Math.round(least + part * (full - least));
  });
}

/** The average of each block of pixels, computed in the simplest way. */
function means({ data, width, height, bands, dtype }: Raster, factor: number): number[] {
  const averages: number[] = [];
  for (let top = 0; top < height; top += factor) {
    for (let left = 0; left < width; left += factor) {
      for (let band = 0; band < bands; band += 1) {
        let [sum, count] = [0, 0];
        for (let y = top; y < Math.min(height, top + factor); y += 1) {
          for (let x = left; x < Math.min(width, left + factor); x += 1, count += 1) sum += data[(y * width + x) * bands + band]!;
        }
        averages.push(dtype.startsWith('float') ? sum / count : Math.floor(sum / count + 0.5));
      }
    }
  }
  return averages;
}

const missing = Number.NaN;

describe('averageSamples', () => {
  for (const dtype of types) {
    it.each([1, 2, 3, 4, 5, 7])(`returns the mean of blocks of ${dtype} with %i bands`, async (bands) => {
      for (const [width, height, factor] of [
        [24, 16, 2],
        [24, 16, 8],
        [21, 13, 4],
      ] as const) {
        const raster = noise(dtype, { width, height, bands });
        const size = { width: Math.ceil(width / factor), height: Math.ceil(height / factor) };
        const window = { left: 0, top: 0, width: size.width * factor, height: size.height * factor };
        const averaged = await averageSamples(raster, size, { window });
        expect(averaged).toMatchObject({ ...size, bands, dtype });
        const expected = new sampleArrays[dtype](means(raster, factor));
        const tolerance = dtype.startsWith('float') ? 1e-3 : 0;
        expect(expected.length).toBe(averaged.data.length);
        expect([...averaged.data].filter((sample, at) => !(Math.abs(sample - expected[at]!) <= tolerance))).toEqual([]);
      }
    });
  }

  it('weights pixels by the area that is covered', async () => {
    const raster = paint({ width: 5, height: 1, bands: 1, dtype: 'float64' }, (x) => x * 10);
    const { data } = await averageSamples(raster, { width: 2, height: 1 });
    // 0, 10 and half of 20; half of 20, 30 and 40.
    expect([...data]).toEqual([8, 32]);
  });

  it.each<[string, SampleType, number | null, number[], number[]]>([
    ['NaN', 'float32', null, [4, missing, 8, missing], [6]],
    ['infinities', 'float64', null, [4, Infinity, 8, -Infinity], [6]],
    ['the largest floats', 'float32', null, [4, -3.4028234663852886e38, 8, 3.4028234663852886e38], [6]],
    ['no data of floats', 'float32', 0.1, [4, 0.1, 8, 0.1], [6]],
    ['no data of whole numbers', 'int16', -9999, [4, -9999, 8, 9], [7]],
    ['no data of bytes', 'uint8', 0, [0, 0, 0, 200], [200]],
    ['no data, but keeps it where there is nothing else', 'int32', -1, [-1, -1, -1, -1], [-1]],
    ['no data, but keeps NaN where there is nothing else', 'float32', 7, [missing, 7, 7, 7], [missing]],
  ])('leaves out %s', async (_, dtype, nodata, samples, expected) => {
    const raster: Raster = { data: new sampleArrays[dtype](samples), width: 2, height: 2, bands: 1, dtype };
    const { data } = await averageSamples(raster, { width: 1, height: 1 }, { nodata });
    expect([...data]).toEqual(expected);
  });

  it.each<SampleType>(['uint8', 'uint16', 'int16', 'uint32'])('weights colors of %s by their opacity', async (dtype) => {
    const [least, full] = [minValue(dtype), fullValue(dtype)];
    const data = new sampleArrays[dtype]([100, 110, 120, full, 50, 60, 70, least]);
    const { data: averaged } = await averageSamples({ data, width: 2, height: 1, bands: 4, dtype }, { width: 1, height: 1 });
    expect([...averaged]).toEqual([100, 110, 120, Math.floor((full + least) / 2 + 0.5)]);
  });

  it.each<SampleType>(['uint8', 'int16'])('counts opacity of %s even where samples have no value', async (dtype) => {
    const [least, full] = [minValue(dtype), fullValue(dtype)];
    // Alpha always has a value, even if it is equal to the value for no data.
    const data = new sampleArrays[dtype]([100, 7, 120, full, 50, 60, 70, least, 20, 30, 7, full, 7, 7, 7, full]);
    const raster: Raster = { data, width: 4, height: 1, bands: 4, dtype };
    for (const nodata of [7, full]) {
      const { data: averaged } = await averageSamples(raster, { width: 1, height: 1 }, { nodata });
      const colors = nodata === 7 ? [60, 30, 120] : [42, 15, 45];
      expect([...averaged]).toEqual([...colors, Math.floor((full * 3 + least) / 4 + 0.5)]);
    }
  });

  it('leaves out a sample of one band', async () => {
    const raster: Raster = { data: Uint16Array.of(5, 5, 9, 9), width: 2, height: 1, bands: 2, dtype: 'uint16' };
    const wide: Raster = { data: Uint16Array.of(5, 5, 1, 1, 1, 9, 9, 1, 1, 1), width: 2, height: 1, bands: 5, dtype: 'uint16' };
    expect([...(await averageSamples(wide, { width: 1, height: 1 }, { bandNodata: [5, null, null, null, 1] })).data]).toEqual([
      9, 7, 1, 1, 1,
    ]);
    expect([...(await averageSamples(raster, { width: 1, height: 1 }, { bandNodata: [5, 5] })).data]).toEqual([9, 7]);
  });
});
