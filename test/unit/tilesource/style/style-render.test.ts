import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Rgba } from '../../../../src/tilesource/color.js';
import { createRaster, type Raster, type SampleType } from '../../../../src/tilesource/raster.js';
import { StyleMemo } from '../../../../src/tilesource/style/color-table.js';
import { interpolateColor } from '../../../../src/tilesource/style/palette.js';
import { parseStyle, type BandStyle, type Style } from '../../../../src/tilesource/style/parse.js';
import { surveySamples } from '../../../../src/tilesource/style/range.js';
import { stylePixel, styleRaster } from '../../../../src/tilesource/style/render.js';
import { casesOf } from '../../../support/run/sample.js';

/** The rule of the style language, computed pixel by pixel in the simplest way. */
function expectedPixel(style: Style, raster: Raster, pixel: number): number[] {
  const out = [0, 0, 0, 0];
  style.bands.forEach((band, position) => {
    const color = bandColor(band, raster.data[pixel * raster.bands + (Number(band.band) - 1)]!);
    if (color === null) return;
    color.forEach((value, channel) => {
      if (band.composite === 'lighten') out[channel] = Math.max(out[channel]!, value);
      else if (position > 0) out[channel] = (out[channel]! * value) / 255;
    });
  });
  return out;
}

function bandColor(band: BandStyle, sample: number): number[] | null {
  if (band.min.kind !== 'number' || band.max.kind !== 'number') throw new Error('Ranges are given as numbers here');
  const [min, max] = [band.min.value, band.max.value];
  if (Number.isNaN(sample) || sample === band.nodata) return null;
  const linear = (sample - min) / (max === min ? 1 : max - min);
  if (!band.clamp && (linear < 0 || linear > 1)) return null;
  const value = Math.max(0, linear) ** band.gamma;
  const { palette } = band;
  if (!band.discrete) return interpolateColor(palette, value);
  return [...palette[Math.min(palette.length - 1, Math.max(0, Math.floor(value * palette.length)))]!];
}

const sampleValues: Record<SampleType, number[]> = {
  uint8: [0, 1, 77, 128, 200, 255],
  int8: [-128, -1, 0, 5, 127],
  uint16: [0, 1, 300, 40_000, 65_535],
  int16: [-32_768, -1, 0, 9, 32_767],
  uint32: [0, 1, 2 ** 31, 2 ** 32 - 1],
  int32: [-(2 ** 31), 0, 2 ** 31 - 1],
  float32: [NaN, -Infinity, Infinity, -0.5, 0, 0.25, 1],
  float64: [NaN, -Infinity, Infinity, -1e9, 0, 0.1, 1e300],
};

const byte = fc.integer({ min: 0, max: 255 });
const hex = (parts: readonly number[]) => `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
const color = fc.oneof(
  fc.constantFrom('#f00', '#0f0', '#00f', '#000', '#fff', '#fff0'),
  fc.tuple(byte, byte, byte, byte).map((parts) => hex(parts)),
);

const cases = fc.constantFrom(...(Object.keys(sampleValues) as SampleType[])).chain((dtype) => {
  const sample = fc.constantFrom(...sampleValues[dtype]);
  const finite = fc.constantFrom(...sampleValues[dtype].filter(Number.isFinite));
  const entry = fc.record({
    band: fc.constantFrom(1, 2, 3),
    min: finite,
    max: finite,
    palette: fc.array(color, { minLength: 2, maxLength: 4 }),
    scheme: fc.constantFrom('linear', 'discrete'),
    composite: fc.constantFrom('lighten', 'lighten', 'multiply'),
    clamp: fc.boolean(),
    nodata: fc.oneof(fc.constant(null), finite),
    gamma: fc.constantFrom(1, 1, 0.5, 2.2, 100),
    invert: fc.boolean(),
  });
  return fc.record({
    dtype: fc.constant(dtype),
    samples: fc.array(sample, { minLength: 3 * 40, maxLength: 3 * 40 }),
    bands: fc.array(entry, { minLength: 1, maxLength: 4 }),
    // Tables of 16-bit samples are made only for many pixels.
    large: fc.constantFrom(true, false, false, false, false),
  });
});

function inputsOf(raster: Raster) {
  return {
    frame: 0,
    rasters: new Map([[0, raster]]),
    memo: new StyleMemo(),
    survey: () => surveySamples({ samples: [raster], extremes: [] }),
  };
}

describe('styles, compared with the rule for each pixel', () => {
  it('gives every pixel its color, with tables and without, with alpha and without', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ dtype, samples, bands, large }) => {
        const is16 = dtype === 'uint16' || dtype === 'int16';
        const height = large && is16 ? 2200 : 1;
        const raster = createRaster({ width: 40, height, bands: 3, dtype });
        raster.data.set(samples, 0);
        // The last row is in another run of pixels than the first.
        raster.data.set(samples, raster.data.length - samples.length);
        const style = (await parseStyle({ bands }))!;
        const inputs = inputsOf(raster);
        const full = await styleRaster(style, inputs);
        const plain = await styleRaster(style, inputs, { mayDropAlpha: true });
        expect(full.bands).toBe(4);
        for (const first of [0, (height - 1) * 40]) {
          for (let pixel = first; pixel < first + 40; pixel += 1) {
            const expected = expectedPixel(style, raster, pixel);
            const shown = [...full.data.subarray(pixel * 4, pixel * 4 + 4)];
            // Allows for half a thousandth, by which single precision may round before the fraction is cut off.
            shown.forEach((value, channel) => {
              expect([Math.floor(expected[channel]! + 5e-4), Math.floor(expected[channel]! - 5e-4)]).toContain(value);
            });
            const opaque = [...plain.data.subarray(pixel * plain.bands, (pixel + 1) * plain.bands)];
            expect(opaque).toEqual(shown.slice(0, plain.bands));
            if (plain.bands === 3) expect(shown[3]).toBe(255);
          }
        }
        const first = await stylePixel(style, inputs);
        first.forEach((value, channel) => expect(value).toBeCloseTo(expectedPixel(style, raster, 0)[channel]!, 2));
      }),
      { numRuns: casesOf(150, 1 / 3) },
    );
  });

  it('gives the last pixels their colors, for any number of pixels', async () => {
    const range = { min: 0, max: 255 };
    const styles = [
      { bands: [1, 2, 3].map((band) => ({ band, ...range, palette: '#123456' })) },
      { bands: ['#00f', '#f00', '#0f0'].map((palette, band) => ({ band: band + 1, ...range, palette })) },
      { bands: [3, 1].map((band) => ({ band, ...range, palette: band === 1 ? '#0c0' : '#b0a' })) },
      { band: 2, ...range, palette: '#fedcba' },
      {
        bands: [1, 3].map((band) => ({
          band,
          ...range,
          palette: ['#123', '#fed'],
          ...(band === 3 && { composite: 'multiply' }),
        })),
      },
    ];
    for (const each of styles) {
      const style = (await parseStyle(each))!;
      for (const [width, bands, dtype] of [1, 2, 3, 4, 5, 7, 4097, 4099].flatMap((size) => [
        [size, 3, 'uint8'] as const,
        [size, 5, 'uint8'] as const,
        [size, 3, 'int8'] as const,
      ])) {
        const raster = createRaster({ width, height: 1, bands, dtype });
        raster.data.forEach((_, at) => (raster.data[at] = at * 37));
        const { data } = await styleRaster(style, inputsOf(raster));
        const plain = await styleRaster(style, inputsOf(raster), { mayDropAlpha: true });
        expect(plain.bands).toBe(3);
        expect([...plain.data]).toEqual([...data].filter((_, at) => at % 4 !== 3));
      }
    }
  });

  it.each(['int8', 'uint8', 'int16'] as const)(
    'shows the least sample of %s in two bands that share no channel',
    async (dtype) => {
      const [least] = sampleValues[dtype] as [number];
      const raster = createRaster({ width: 4, height: 1, bands: 3, dtype });
      raster.data.fill(least);
      const bands = [
        { band: 1, min: 127, max: 127, palette: ['#00000000', '#f00'], clamp: false, nodata: least },
        { band: 2, min: least, max: least, palette: ['#f00', '#00000100'] },
      ];
      const { data } = await styleRaster((await parseStyle({ bands }))!, inputsOf(raster), { mayDropAlpha: true });
      expect([...data.subarray(0, 4)]).toEqual([255, 0, 0, 255]);
    },
  );

  it('omits alpha only if everything is opaque', async () => {
    const raster = createRaster({ width: 4, height: 1, bands: 3, dtype: 'uint8' });
    const bands = async (style: object) =>
      (await styleRaster((await parseStyle(style))!, inputsOf(raster), { mayDropAlpha: true })).bands;
    const opaque: Rgba[] = [
      [0, 0, 0, 255],
      [255, 0, 0, 255],
    ];
    expect((await parseStyle({ band: 1, palette: '#f00' }))!.bands[0]!.palette).toEqual(opaque);
    expect(await bands({ band: 1, palette: '#f00' })).toBe(3);
    expect(await bands({ band: 1, palette: ['#000', '#f008'] })).toBe(4);
    expect(await bands({ band: 1, palette: '#f00', nodata: 3 })).toBe(4);
    expect(await bands({ band: 1, palette: '#f00', min: 5, max: 9, clamp: false })).toBe(4);
    expect(await bands({ bands: [{ band: 1, composite: 'multiply' }, { band: 2 }] })).toBe(4);
  });

  it('measures a range once for all pictures of an image', async () => {
    const raster = createRaster({ width: 40, height: 1, bands: 1, dtype: 'uint8' });
    raster.data.forEach((_, at) => (raster.data[at] = at));
    let surveys = 0;
    const survey = () => {
      surveys += 1;
      return surveySamples({ samples: [raster], extremes: [] });
    };
    const inputs = { ...inputsOf(raster), survey };
    const style = (await parseStyle({ min: 'min:0.1', max: 'max:0.1', palette: ['#000', '#fff', '#f00'] }))!;
    const first = await styleRaster(style, inputs);
    const measured = surveys;
    expect(measured).toBeGreaterThan(0);
    expect(await styleRaster(style, inputs)).toEqual(first);
    expect(surveys).toBe(measured);
  });
});
