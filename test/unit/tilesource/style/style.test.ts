import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { parseColor, parseEdge, parseFill, tryParseColor } from '../../../../src/tilesource/color.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { parsePalette } from '../../../../src/tilesource/style/palette.js';
import { parseStyle } from '../../../../src/tilesource/style/parse.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

const photo = paint({ width: 100, height: 10, bands: 3 }, (x, _y, band) => x + band * 50);
const gray = paint({ width: 100, height: 10, bands: 1 }, (x) => x);
const frames = [gray, paint({ width: 100, height: 10, bands: 1 }, (x) => 99 - x)];

async function styled(raster: Parameters<typeof rasterSource>[0], style: object, frame = 0) {
  const { source } = rasterSource(raster, { tileWidth: 100, tileHeight: 10 });
  const tile = await openLargeImage(source).tile({ level: 0, x: 0, y: 0, frame, encoding: 'PNG', style: JSON.stringify(style) });
  const { data, info } = await sharp(tile.bytes).raw().toBuffer({ resolveWithObject: true });
  const facts = await sharp(tile.bytes).metadata();
  return { channels: facts.channels, at: (x: number) => [...data.subarray(x * info.channels, (x + 1) * info.channels)] };
}

describe('colors', () => {
  it.each([
    ['#abc', [170, 187, 204, 255]],
    ['#abcd', [170, 187, 204, 221]],
    ['#A0B0C0', [160, 176, 192, 255]],
    ['#a0b0c080', [160, 176, 192, 128]],
    ['white', [255, 255, 255, 255]],
    ['White', [255, 255, 255, 255]],
    ['green', [0, 128, 0, 255]],
    ['GREEN', [0, 255, 0, 255]],
    ['G', [0, 255, 0, 255]],
    ['BLUE', [0, 0, 255, 255]],
    ['rgb(1, 2, 3)', [1, 2, 3, 255]],
    ['rgba(1,2,3,0.5)', [1, 2, 3, 128]],
    ['hsl(120, 100%, 50%)', [0, 255, 0, 255]],
    ['hsl(0, 0%, 50%)', [128, 128, 128, 255]],
  ])('%s is %j', (text, color) => {
    expect(parseColor(text)).toEqual(color);
  });

  it.each(['', 'notacolor', '#12', '#12345', 'rgb(1,2)', 'constructor', '__proto__', 'x'.repeat(10_000)])(
    '%j is not a color',
    (text) => {
      expect(tryParseColor(text)).toBeNull();
    },
  );

  it('hexadecimal notation is read back unchanged', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(byte, byte, byte, byte, (...color) => {
        expect(parseColor(`#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`)).toEqual(color);
      }),
    );
  });

  it('understands fill and edge', () => {
    expect(parseFill('none')).toBeNull();
    expect(parseFill('corner:black')).toEqual({ color: [0, 0, 0, 255], anchor: 'corner' });
    expect(parseFill('#fff')).toMatchObject({ anchor: 'center' });
    expect(parseEdge('crop')).toEqual({ kind: 'crop' });
    expect(parseEdge('TRUE')).toEqual({ kind: 'crop' });
    expect(parseEdge('false')).toEqual({ kind: 'pad', color: null });
    expect(() => parseEdge('bad')).toThrow("unknown color specifier: 'bad'");
  });
});

describe('palettes', () => {
  it.each([
    'viridis',
    'magma',
    'jet',
    'tab10',
    'gray',
    'viridis_r',
    'matplotlib.Viridis_6',
    'colorbrewer.sequential.Blues_9',
    'hot',
    'Spectral_11',
  ])('knows %s', (name) => {
    expect(parsePalette(name).length).toBeGreaterThan(1);
  });

  it('cuts, reverses and completes', () => {
    expect(parsePalette('matplotlib.Viridis_6')).toHaveLength(6);
    expect(parsePalette('viridis_r')).toEqual(parsePalette('viridis').toReversed());
    expect(parsePalette('#0f0')).toEqual([
      [0, 0, 0, 255],
      [0, 255, 0, 255],
    ]);
    expect(parsePalette(['red', [0, 0.5, 1]])).toEqual([
      [255, 0, 0, 255],
      [0, 128, 255, 255],
    ]);
    expect(parsePalette('viridis')[0]).toEqual([68, 1, 84, 255]);
  });

  it.each(['nosuchpalette', 'os.system', '', 'viridis_99999', 'constructor'])('refuses %j', (name) => {
    expect(() => parsePalette(name)).toThrow(`Value Error: cannot be used as a color palette.: '${name}'.`);
  });

  it.each([[[]], [[[1, 2]]], [[null]], [5], [{ a: 1 }], [['notacolor', 'red']]])('refuses %j', (value) => {
    expect(() => parsePalette(value)).toThrow('cannot be used as a color palette.');
  });
});

describe('styles', () => {
  it('an empty style and one that only says icc show the image as it is', async () => {
    for (const style of [{}, { icc: false }, { icc: 'relative_colorimetric' }, { bands: [] }]) {
      expect((await styled(photo, style)).at(7)).toEqual([7, 57, 107]);
    }
  });

  it.each([
    [
      'a thousand bands',
      JSON.stringify({ bands: Array.from({ length: 1000 }, () => ({ band: 1 })) }),
      'has 1000 bands; at most 256 are allowed',
    ],
    ['a mebibyte of text', JSON.stringify({ palette: 'x'.repeat(2 ** 20) }), 'must not be longer than 262144 characters'],
    ['bounds that no JSON has', '{"min":NaN}', 'not a valid json object'],
  ])('with %s are refused', async (_name, style, message) => {
    await expect(parseStyle(style)).rejects.toThrow(message);
  });

  it('with bounds that are not numbers show the range of the image', async () => {
    const wide = paint({ width: 100, height: 10, bands: 1 }, (x) => 100 + x);
    for (const bound of ['NaN', 'Infinity', null, [1], 'red']) {
      expect((await styled(wide, { min: bound, max: bound })).at(50)).toEqual(
        (await styled(wide, { min: 'auto', max: 'auto' })).at(50),
      );
    }
    expect((await parseStyle('{"min":1e999}'))?.bands[0]?.min).toEqual({ kind: 'auto' });
  });

  it('a single plain band of a gray image stays gray', async () => {
    const picture = await styled(gray, { min: 0, max: 50 });
    expect(picture.channels).toBe(1);
    expect([picture.at(10)[0], picture.at(50)[0], picture.at(90)[0]]).toEqual([51, 255, 255]);
  });

  it('takes green of colors when no band is named, and bands by number and name', async () => {
    const range = { min: 0, max: 255 };
    expect((await styled(photo, range)).at(7)).toEqual([57, 57, 57, 255]);
    expect((await styled(photo, { band: 3, ...range })).at(7)).toEqual([107, 107, 107, 255]);
    expect((await styled(photo, { band: 'red', ...range })).at(7)).toEqual([7, 7, 7, 255]);
    expect((await styled(photo, { band: 'alpha', composite: 'lighten', ...range })).at(7)).toEqual([255, 255, 255, 255]);
  });

  it('lightens the colors of several frames', async () => {
    const bands = [
      { framedelta: 0, palette: '#ff0000', min: 0, max: 100 },
      { frame: 1, palette: '#0000ff', min: 0, max: 100 },
    ];
    expect((await styled(frames, { bands })).at(20)).toEqual([51, 0, 201, 255]);
    await expect(styled(frames, { bands: [{ framedelta: 1 }] }, 1)).rejects.toThrow('Frame does not exist');
  });

  it('multiplies, and a multiplied first band shows nothing', async () => {
    const bands = [
      { band: 1, min: 0, max: 100 },
      { band: 2, min: 50, max: 150, composite: 'multiply' },
    ];
    expect((await styled(photo, { bands })).at(50)).toEqual([63, 63, 63, 255]);
    expect((await styled(photo, { bands: bands.slice(1) })).at(50)).toEqual([0, 0, 0, 0]);
  });

  it('leaves out nodata and, without clamping, values outside the range', async () => {
    const base = { band: 1, min: 10, max: 60, palette: '#fff' };
    expect((await styled(photo, { ...base, nodata: 20 })).at(20)).toEqual([0, 0, 0, 0]);
    expect((await styled(photo, { ...base, clamp: false })).at(5)).toEqual([0, 0, 0, 0]);
    expect((await styled(photo, { ...base, clamp: true })).at(5)).toEqual([0, 0, 0, 255]);
    expect((await styled(photo, { ...base, clamp: false })).at(60)).toEqual([255, 255, 255, 255]);
  });

  it('cuts a discrete palette into equal parts', async () => {
    const picture = await styled(gray, { min: 0, max: 100, scheme: 'discrete', palette: ['red', '#0f0', 'blue'] });
    expect([picture.at(33), picture.at(34), picture.at(99)]).toEqual([
      [255, 0, 0, 255],
      [0, 255, 0, 255],
      [0, 0, 255, 255],
    ]);
  });

  it.each([
    ['auto', 'auto', 0, 255],
    ['min', 'max', 0, 99],
    ['full', 'full', 0, 255],
    ['min:0.1', 'max:0.1', 10, 89],
    ['min:abc', 'max:', 0, 255],
    ['5', '95', 5, 95],
  ])('range from %s to %s', async (min, max, low, high) => {
    const picture = await styled(gray, { min, max });
    const expected = (x: number) => Math.floor(Math.min(1, Math.max(0, (x - low) / (high - low))) * 255);
    for (const x of [0, 20, 50, 80, 99]) expect(Math.abs((picture.at(x)[0] ?? 0) - expected(x))).toBeLessThanOrEqual(1);
  });

  it('auto measures images that are not eight bit', async () => {
    const deep = paint({ width: 100, height: 10, bands: 1, dtype: 'uint16' }, (x) => 1000 + x * 100);
    const picture = await styled(deep, { band: 1 });
    expect([picture.at(0)[0], picture.at(99)[0]]).toEqual([0, 255]);
    const float = paint({ width: 100, height: 10, bands: 1, dtype: 'float32' }, (x) => x / 100 - 0.5);
    expect((await styled(float, { band: 1, min: 'min', max: 'max' })).at(99)[0]).toBe(255);
  });

  it.each([
    ['uint16', 777, 127],
    ['uint16', 0, 0],
    ['int16', -5, 127],
    ['float32', 0.5, 127],
    // At this size, no other float is within 1, and a range without width has no histogram.
    ['float32', 1e38, 127],
  ] as const)('shows %s samples that are all %d in the middle between zero and twice that', async (dtype, value, expected) => {
    const flat = paint({ width: 100, height: 10, bands: 1, dtype }, () => value);
    const nearly = paint({ width: 100, height: 10, bands: 1, dtype }, (x, y) => (x + y === 0 ? value + 1 : value));
    const style = { min: 'min:0.001', max: 'max:0.001' };
    expect((await styled(flat, style)).at(50)[0]).toBe(expected);
    if (value !== 1e38) expect((await styled(nearly, { min: 'min:0.01', max: 'max:0.01' })).at(50)[0]).toBe(expected);
    expect((await styled(flat, { min: 'min', max: 'max' })).at(50)[0]).toBe(0);
    // If one bound is a number, the other bound is still the same.
    const [least, most] = [value - Math.abs(value), value + Math.abs(value)];
    if (least === most) return;
    expect((await styled(flat, { min: 'min:0.001', max: most })).at(50)[0]).toBe(expected);
    expect((await styled(flat, { min: least, max: 'max:0.001' })).at(50)[0]).toBe(expected);
  });

  it.each([
    ['gamma 0.5', { gamma: 0.5 }, (v: number) => v ** 0.5],
    ['gamma 2, as a text', { gamma: '2' }, (v: number) => v ** 2],
    ['invert', { invert: true }, (v: number) => 1 - v],
    ['no inversion', { invert: 'false', gamma: 1 }, (v: number) => v],
    ['both', { invert: true, gamma: 3 }, (v: number) => 1 - v ** 3],
  ])('applies %s to every type of sample', async (_name, options, expected) => {
    for (const dtype of ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'] as const) {
      const ramp = paint({ width: 100, height: 10, bands: 1, dtype }, (x) => x);
      const picture = await styled(ramp, { min: 0, max: 100, ...options });
      for (const x of [0, 1, 25, 50, 99]) {
        expect(Math.abs(picture.at(x)[0]! - 255 * expected(x / 100)), `${dtype} ${x}`).toBeLessThanOrEqual(1);
      }
      const red = await styled(ramp, { min: 0, max: 100, palette: '#ff0000', ...options });
      expect(Math.abs(red.at(30)[0]! - 255 * expected(0.3))).toBeLessThanOrEqual(1);
      expect(red.at(30).slice(1)).toEqual([0, 0, 255]);
    }
  });

  it('keeps one output channel on request', async () => {
    const picture = await styled(gray, { min: 0, max: 100, palette: '#00f', axis: 2 });
    expect([picture.channels, picture.at(20)[0]]).toEqual([1, 51]);
  });

  it.each([
    ['[]', 'Style is not a valid json object.'],
    ['"x"', 'Style is not a valid json object.'],
    ['nope', 'Style is not a valid json object.'],
    ['null', 'Style is not a valid json object.'],
    ['{"bands": 5}', "Style 'bands' must be a list of objects"],
    ['{"bands": [5]}', "Style 'bands' must be a list of objects"],
    ['{"bands": [{"function": {"name": "x"}}]}', "Style 'function' is for the whole style"],
    ['{"icc": "loud"}', 'Invalid icc "loud"'],
    ['{"dtype": "int64"}', 'Invalid dtype "int64"'],
    ['{"scheme": "round"}', 'Invalid scheme "round"'],
    ['{"composite": "screen"}', 'Invalid composite "screen"'],
    ['{"frame": "first"}', 'Invalid frame "first"'],
    ['{"axis": 9}', 'Invalid axis 9'],
    ...['0', '-1', '1e9', '0.001', '"NaN"', '"Infinity"', '""', 'true', '[1]', '{}'].map((gamma) => [
      `{"gamma": ${gamma}}`,
      'Invalid gamma',
    ]),
    ['{"invert": "maybe"}', 'Invalid invert'],
    ['{"bands": [{"invert": 1}]}', 'Invalid invert'],
  ])('%s is refused', async (text, message) => {
    await expect(parseStyle(text)).rejects.toThrow(message);
  });

  it.each([
    [256, 'viridis_256', undefined],
    [256, 'viridis_257', 'The palettes of a style have more than 65536 colors in total'],
    [17, 'viridis_4096', 'The palettes of a style have more than 65536 colors in total'],
  ])('%i bands of %s', async (count, palette, refusal) => {
    const parsed = parseStyle({ bands: Array.from({ length: count }, () => ({ palette })) });
    if (refusal === undefined) expect((await parsed)!.bands).toHaveLength(count);
    else await expect(parsed).rejects.toThrow(refusal);
  });

  it('is refused when its text is too long', async () => {
    const text = JSON.stringify({ band: 1, note: 'x'.repeat(300_000) });
    await expect(parseStyle(text)).rejects.toMatchObject({ code: 'too-large' });
  });

  it('any JSON is either understood or refused with a clear error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        try {
          await parseStyle(JSON.stringify(value));
        } catch (error) {
          expect(error).toHaveProperty('code');
        }
      }),
    );
  });
});
