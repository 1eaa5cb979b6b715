import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import type { EncodedPicture, StreamedPicture } from '../../../src/tilesource/requests.js';
import { openTestImage } from '../../../src/tilesource/sources/test/test-source.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';

const photo = paint({ width: 200, height: 150, bands: 3 }, (x, y, band) => [x, y, (x + y) % 256][band] ?? 0);
const gray = paint({ width: 200, height: 150, bands: 1 }, (x) => x);

async function pixels(picture: EncodedPicture | StreamedPicture) {
  if (picture.kind !== 'bytes') throw new Error('expected bytes');
  const { data, info } = await sharp(picture.bytes).raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [
    ...data.subarray((y * info.width + x) * info.channels, (y * info.width + x + 1) * info.channels),
  ];
  return { ...info, data, at, facts: await sharp(picture.bytes).metadata() };
}

async function collect(picture: EncodedPicture | StreamedPicture): Promise<Buffer> {
  if (picture.kind !== 'stream') throw new Error('expected a stream');
  const chunks: Buffer[] = [];
  for await (const chunk of picture.stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('tiles', () => {
  it('a tile of the finest level shows the pixels of the image', async () => {
    const tile = await pixels(await openLargeImage(rasterSource(photo).source).tile({ level: 2, x: 1, y: 1, encoding: 'PNG' }));
    expect([tile.width, tile.height, tile.channels]).toEqual([64, 64, 3]);
    expect(tile.at(5, 7)).toEqual([69, 71, 140]);
  });

  it('partial pixels at the border do not stretch a tile of a missing level', async () => {
    const ramp = paint({ width: 297, height: 40, bands: 1 }, (x) => x * 0.8);
    const image = openLargeImage(rasterSource(ramp).source);
    const tile = await pixels(await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG' }));
    // Each pixel represents eight pixels of the image, even next to the border.
    for (const x of [3, 18, 30, 34]) expect(Math.abs(tile.at(x, 2)[0]! - (x * 8 + 3.5) * 0.8)).toBeLessThan(1.2);
  });

  it('a tile of a missing level is made from finer ones', async () => {
    const image = openLargeImage(rasterSource(photo).source);
    const tile = await pixels(await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG', edge: 'crop' }));
    expect([tile.width, tile.height]).toEqual([50, 37]);
    const [red = 0, green = 0] = tile.at(25, 20);
    expect(Math.abs(red - 101)).toBeLessThan(3);
    expect(Math.abs(green - 81)).toBeLessThan(3);
  });

  it('tiles of missing levels of other sample types take every second pixel', async () => {
    const deep = paint({ width: 200, height: 150, bands: 1, dtype: 'uint16' }, (x, y) => x * 256 + y);
    const tile = await pixels(
      await openLargeImage(rasterSource(deep).source).tile({ level: 1, x: 1, y: 0, encoding: 'PNG', edge: 'crop' }),
    );
    expect([tile.facts.channels, tile.width, tile.height]).toEqual([1, 36, 64]);
    expect(tile.at(3, 0)[0]).toBe((64 + 3) * 2);
  });

  it.each([
    ['PNG', undefined, [64, 64], [0, 0, 0, 0]],
    ['WEBP', 'none', [64, 64], [0, 0, 0, 0]],
    ['JPEG', 'false', [64, 64], [0, 0, 0]],
    ['PNG', '#ff8000', [64, 64], [255, 128, 0]],
    ['PNG', 'crop', [8, 22], null],
    ['PNG', 'true', [8, 22], null],
  ])('border tiles in %s with edge %s', async (encoding, edge, size, corner) => {
    const image = openLargeImage(rasterSource(photo).source);
    const tile = await pixels(await image.tile({ level: 2, x: 3, y: 2, encoding, ...(edge !== undefined && { edge }) }));
    expect([tile.width, tile.height]).toEqual(size);
    if (corner) expect(tile.at(60, 60)).toEqual(corner);
  });

  it('pads gray tiles with the brightness of a color and keeps them gray', async () => {
    const tile = await pixels(
      await openLargeImage(rasterSource(gray).source).tile({ level: 2, x: 3, y: 2, encoding: 'PNG', edge: 'white' }),
    );
    expect(tile.facts.channels).toBe(1);
    expect(tile.at(60, 60)[0]).toBe(255);
  });

  it('passes stored bytes on unchanged if nothing requires others', async () => {
    const bytes = new Uint8Array(
      await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
        .jpeg()
        .toBuffer(),
    );
    const { source } = rasterSource(photo);
    const withStored = { ...source, readStoredTile: async () => ({ encoding: 'JPEG' as const, bytes, width: 64, height: 64 }) };
    const image = openLargeImage(withStored);
    const place = { level: 2, x: 0, y: 0 };
    for (const request of [
      {},
      { encoding: 'JFIF' },
      { jpegQuality: 95 },
      { edge: 'crop' },
      { style: '{}' },
      { style: '{"icc": false}' },
    ]) {
      expect((await image.tile({ ...place, ...request })).bytes).toBe(bytes);
    }
    for (const request of [{ encoding: 'PNG' }, { jpegQuality: 50 }, { jpegSubsampling: 2 }, { style: '{"band": 1}' }]) {
      expect((await image.tile({ ...place, ...request })).bytes).not.toBe(bytes);
    }
    expect((await image.tile({ level: 1, x: 0, y: 0 })).bytes).not.toBe(bytes);
    const profiled = openLargeImage({ ...withStored, iccProfile: () => new Uint8Array(200) });
    expect((await profiled.tile(place)).bytes).not.toBe(bytes);
    expect((await profiled.tile({ ...place, style: '{"icc": false}' })).bytes).toBe(bytes);
  });

  it.each([
    [{ level: 9, x: 0, y: 0 }, 'z layer does not exist', 'tile-outside'],
    [{ level: 1, x: 2, y: 0 }, 'x is outside layer', 'tile-outside'],
    [{ level: 1, x: 0, y: 2 }, 'y is outside layer', 'tile-outside'],
    [{ level: 0, x: 0, y: 0, frame: 1 }, 'Frame does not exist', 'tile-outside'],
    [{ level: 0, x: 0, y: 0, frame: -1 }, 'Frame does not exist', 'tile-outside'],
    [{ level: 0, x: 0, y: 0, encoding: 'jpeg' }, 'Value Error: Invalid encoding "jpeg"', 'bad-value'],
    [{ level: 0, x: 0, y: 0, encoding: 'pickle:4' }, 'Value Error: Invalid encoding "pickle:4"', 'bad-value'],
    [{ level: 0, x: 0, y: 0, encoding: 'TILED' }, 'Value Error: Invalid encoding "TILED"', 'bad-value'],
    [{ level: 0, x: 0, y: 0, edge: 'nocolor' }, "Value Error: unknown color specifier: 'nocolor'", 'bad-value'],
    [{ level: 0, x: 0, y: 0, style: '[1]' }, 'Style is not a valid json object.', 'tile-source'],
    [{ level: 0, x: 0, y: 0, style: '{' }, 'Style is not a valid json object.', 'tile-source'],
    [{ level: 0, x: 0, y: 0, style: '{"function": "os.system"}' }, 'No other code is run.', 'bad-value'],
    [
      { level: 0, x: 0, y: 0, style: '{"band":1,"palette":"nosuchpalette"}' },
      "Value Error: cannot be used as a color palette.: 'nosuchpalette'.",
      'bad-value',
    ],
    [{ level: 0, x: 0, y: 0, encoding: 'TIFF', tiffCompression: 'rar' }, "Invalid tiffCompression 'rar'", 'bad-value'],
  ])('%j is refused: %s', async (request, message, code) => {
    const error: unknown = await openLargeImage(rasterSource(photo).source)
      .tile(request)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) as string });
  });

  it('stops when the request is aborted', async () => {
    const { source, tilesRead } = rasterSource(photo);
    await expect(openLargeImage(source).tile({ level: 0, x: 0, y: 0, signal: AbortSignal.abort() })).rejects.toThrow();
    expect(tilesRead).toHaveLength(0);
  });
});

describe('regions', () => {
  it('an unscaled region has the pixels of the image', async () => {
    const region = await pixels(
      await openLargeImage(rasterSource(photo).source).region({ left: 50, top: 40, right: 150, bottom: 140, encoding: 'PNG' }),
    );
    expect([region.width, region.height]).toEqual([100, 100]);
    expect(region.at(0, 0)).toEqual([50, 40, 90]);
    expect(region.at(99, 99)).toEqual([149, 139, 32]);
  });

  it('a shrunk region is what libvips makes of the whole image', async () => {
    const image = openLargeImage(rasterSource(photo).source);
    const shrunk = await pixels(await image.region({ width: 150, encoding: 'PNG' }));
    const raw = { width: 200, height: 150, channels: 3 as const };
    const expected = await sharp(photo.data, { raw }).resize(150, 112, { fit: 'fill' }).raw().toBuffer();
    expect([shrunk.width, shrunk.height]).toEqual([150, 112]);
    expect(shrunk.data.equals(expected)).toBe(true);
  });

  it.each([
    ['JPEG', 1],
    ['PNG', 1],
    ['TIFF', 1],
  ])('gray stays gray in %s, also when scaled', async (encoding, channels) => {
    const picture = await pixels(await openLargeImage(rasterSource(gray).source).region({ width: 100, encoding }));
    expect(picture.facts.channels).toBe(channels);
  });

  it('keeps alpha if the format supports it, and otherwise blends on white or on the fill', async () => {
    const clear = paint({ width: 80, height: 80, bands: 4 }, (_x, _y, band) => (band === 3 ? 0 : 10));
    const image = openLargeImage(rasterSource(clear).source);
    expect((await pixels(await image.region({ encoding: 'PNG' }))).at(0, 0)[3]).toBe(0);
    expect((await pixels(await image.region({}))).at(5, 5)).toEqual([255, 255, 255]);
    const [red = 0, green = 0] = (await pixels(await image.region({ width: 40, height: 40, fill: '#00ff00' }))).at(5, 5);
    expect(red).toBeLessThan(5);
    expect(green).toBeGreaterThan(250);
  });

  it.each([
    ['#102030', 0, 25, [16, 32, 48]],
    ['corner:#102030', 0, 99, [16, 32, 48]],
  ])('fill %s completes the box', async (fill, x, y, color) => {
    const picture = await pixels(
      await openLargeImage(rasterSource(photo).source).region({ width: 100, height: 100, fill, encoding: 'PNG' }),
    );
    expect([picture.width, picture.height]).toEqual([100, 100]);
    expect(picture.at(x, fill.startsWith('corner') ? y : 3)).toEqual(color);
  });

  it('gives nothing for a region outside, for an empty one, and for a scale without a level', async () => {
    const image = openLargeImage(rasterSource(photo, { magnification: 20 }).source);
    for (const request of [{ left: 500 }, { left: 10, right: 10 }, { magnification: 7, exact: true }]) {
      const picture = await image.region({ ...request, encoding: 'PNG' });
      expect(picture).toMatchObject({ kind: 'bytes', type: 'image/png' });
      if (picture.kind === 'bytes') expect(picture.bytes).toHaveLength(0);
    }
  });

  it('resamples with the requested method', async () => {
    const stripes = paint({ width: 200, height: 10, bands: 1 }, (x) => (x % 2) * 255);
    const image = openLargeImage(rasterSource(stripes, { tileWidth: 256, tileHeight: 256 }).source);
    const nearest = await pixels(await image.region({ width: 400, resample: 0, encoding: 'PNG' }));
    expect(new Set(nearest.data)).toEqual(new Set([0, 255]));
    const cubic = await pixels(await image.region({ width: 400, encoding: 'PNG' }));
    expect(new Set(cubic.data).size).toBeGreaterThan(2);
    await expect(image.region({ width: 100, resample: 9 })).rejects.toThrow('Invalid resample 9');
  });

  it.each([
    [{ width: 20_000, height: 20_000 }, 'larger than the limit of 134217728 pixels'],
    [{ width: 70_000, height: 700, bottom: 1, right: 100 }, 'does not fit JPEG: at most 65500 pixels per side'],
    [{ width: 17_000, encoding: 'WEBP', bottom: 1 }, 'does not fit WEBP: at most 16383 pixels per side'],
    [{ frame: 3 }, 'Frame does not exist'],
    [{ fill: 'notacolor', width: 10, height: 10 }, "Value Error: unknown color specifier: 'notacolor'"],
  ])('%j is refused: %s', async (request, message) => {
    await expect(openLargeImage(rasterSource(photo).source).region(request)).rejects.toThrow(message);
  });

  it('stores the pixel size in a plain TIFF, if known', async () => {
    const tags = async (facts: object, request: object) => {
      const image = openLargeImage(rasterSource(photo, facts).source);
      const picture = await image.region({ ...request, encoding: 'TIFF' });
      if (picture.kind !== 'bytes') throw new Error('expected bytes');
      const view = Buffer.from(picture.bytes);
      const start = view.readUInt32LE(4);
      const entries = Array.from({ length: view.readUInt16LE(start) }, (_, entry) => view.readUInt16LE(start + 2 + entry * 12));
      const at = entries.indexOf(282) < 0 ? null : view.readUInt32LE(start + 2 + entries.indexOf(282) * 12 + 8);
      const perCentimeter = at === null ? null : view.readUInt32LE(at) / view.readUInt32LE(at + 4);
      const { density, width } = await sharp(picture.bytes).metadata();
      return { hasResolution: entries.some((tag) => [282, 283, 296].includes(tag)), density, perCentimeter, width };
    };
    for (const tiffCompression of ['none', 'lzw', 'jpeg']) {
      expect(await tags({}, { width: 100, tiffCompression })).toMatchObject({ hasResolution: false, width: 100 });
      const withSize = await tags({ mmX: 0.001, mmY: 0.001 }, { width: 100, tiffCompression });
      expect(withSize).toEqual({ hasResolution: true, density: 12_700, perCentimeter: 5000, width: 100 });
      // Sizes of maps and electron microscopes.
      for (const mm of [30_000, 2e-7]) {
        const { perCentimeter } = await tags({ mmX: mm, mmY: mm }, { width: 100, tiffCompression });
        expect(perCentimeter! * mm).toBeCloseTo(5, 3);
      }
    }
  });

  it('streams a pyramid of tiles that libvips reads, and leaves no file behind', async () => {
    const big = paint({ width: 1500, height: 1201, bands: 3 }, (x, y, band) => [x, y, x ^ y][band] ?? 0);
    const image = openLargeImage(rasterSource(big, { tileWidth: 256, tileHeight: 256, mmX: 0.000499, mmY: 0.000499 }).source);
    const bytes = await collect(await image.region({ encoding: 'TILED' }));
    expect(bytes.readUInt16LE(2)).toBe(43);
    const facts = await sharp(bytes).metadata();
    expect([facts.width, facts.height, facts.pages]).toEqual([1500, 1201, 4]);
    expect(facts.density).toBeCloseTo(50_902, -1);
    expect((await sharp(bytes).raw().toBuffer()).equals(Buffer.from(big.data.buffer))).toBe(true);
    const second = await sharp(bytes, { page: 1 }).raw().toBuffer({ resolveWithObject: true });
    expect([second.info.width, second.info.height]).toEqual([750, 600]);
    expect([...second.data.subarray(30, 33)]).toEqual([20, 0, 20]);
  });

  it.each(['none', 'lzw', 'deflate', 'packbits', 'jpeg', 'webp'])(
    'libvips reads a gray pyramid compressed with %s',
    async (tiffCompression) => {
      const image = openLargeImage(rasterSource(gray).source);
      const bytes = await collect(await image.region({ encoding: 'TILED', tiffCompression }));
      const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
      for (const x of [0, 100, 199]) expect(Math.abs(data[(70 * 200 + x) * info.channels]! - x)).toBeLessThan(3);
    },
  );

  it.each([
    ['uint16', 'ushort', (x: number, y: number) => x * 90 + y],
    ['float32', 'float', (x: number, y: number) => x / 7 - y],
  ] as const)('a pyramid without a style holds samples of %s as they are', async (dtype, depth, value) => {
    const samples = paint({ width: 700, height: 300, bands: 1, dtype }, value);
    const image = openLargeImage(rasterSource(samples, { tileWidth: 256, tileHeight: 256 }).source);
    const read = async (request: object) => {
      const bytes = await collect(await image.region({ encoding: 'TILED', ...request }));
      const { data, info } = await sharp(bytes)
        .toColourspace(depth === 'float' ? 'b-w' : 'grey16')
        .raw({ depth })
        .toBuffer({ resolveWithObject: true });
      const values =
        depth === 'float' ? new Float32Array(data.buffer, data.byteOffset) : new Uint16Array(data.buffer, data.byteOffset);
      return { info, at: (x: number, y: number) => values[y * info.width + x] };
    };
    for (const tiffCompression of ['lzw', 'deflate', 'packbits', 'none']) {
      const region = await read({ tiffCompression, left: 13, top: 7, right: 613, bottom: 290 });
      expect([region.info.width, region.info.height]).toEqual([600, 283]);
      for (const [x, y] of [
        [0, 0],
        [599, 282],
        [300, 141],
      ] as const)
        expect(region.at(x, y)).toBe(Math.fround(value(x + 13, y + 7)));
    }
    // Each pixel is the central one of the pixels that it represents.
    const scaled = await read({ width: 140, height: 60 });
    for (const [x, y] of [
      [0, 0],
      [139, 59],
    ] as const)
      expect(scaled.at(x, y)).toBe(Math.fround(value(x * 5 + 2, y * 5 + 2)));
    // Colored pictures, and pictures with a fill color, have bytes.
    const shown = await sharp(await collect(await image.region({ encoding: 'TILED', style: '{"min":0,"max":1}' }))).metadata();
    const filled = await sharp(
      await collect(await image.region({ encoding: 'TILED', width: 100, height: 100, fill: '#f00' })),
    ).metadata();
    expect([shown.depth, filled.depth]).toEqual(['uchar', 'uchar']);
  });

  it('refuses pyramids that enlarge the image beyond the limit, before anything is written', async () => {
    const image = openLargeImage(rasterSource(photo).source, { maxOutputPixels: 100_000, temporaryDirectory: '/nowhere' });
    await expect(image.region({ encoding: 'TILED', width: 2000 })).rejects.toThrow('enlarges a region of 200 x 150 pixels');
    await expect(image.region({ encoding: 'TILED', width: 3, height: 100_000, fill: 'red' })).rejects.toThrow(
      'enlarges a region',
    );
  });

  it.each(['none', 'lzw', 'deflate', 'packbits', 'jpeg', 'webp'])(
    'streams a scaled pyramid compressed with %s',
    async (tiffCompression) => {
      const image = openLargeImage(rasterSource(photo).source);
      const bytes = await collect(await image.region({ encoding: 'TILED', tiffCompression, width: 1100 }));
      const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height, info.channels]).toEqual([1100, 825, 3]);
      const smooth = await sharp(photo.data, { raw: { width: 200, height: 150, channels: 3 } })
        .resize(1100, 825, { fit: 'fill', kernel: 'cubic' })
        .raw()
        .toBuffer();
      let far = 0;
      // The third band wraps around and is steep there; the first two are ramps.
      for (let at = 0; at < data.length; at += 3) if (Math.abs((data[at] ?? 0) - (smooth[at] ?? 0)) > 6) far += 1;
      expect(far).toBeLessThan(data.length / 3 / 200);
    },
  );
});

describe('thumbnails', () => {
  it.each([
    [{}, [256, 192]],
    [{ width: 100, height: 100 }, [100, 75]],
    [{ height: 30 }, [40, 30]],
    [{ width: 100, height: 100, fill: 'white' }, [100, 100]],
  ])('%j gives %j', async (request, size) => {
    const picture = await pixels(await openLargeImage(rasterSource(photo).source).thumbnail(request));
    expect([picture.width, picture.height]).toEqual(size);
    expect(picture.facts.chromaSubsampling).toBe('4:4:4');
  });

  it('refuses boxes of less than two pixels', async () => {
    const image = openLargeImage(rasterSource(photo).source);
    for (const request of [{ width: 1 }, { height: -1 }, { width: 0 }]) {
      await expect(image.thumbnail(request)).rejects.toThrow('Value Error: Invalid width or height.  Minimum value is 2.');
    }
  });
});

describe('pixels, histograms, bands', () => {
  it.each([
    [photo, { left: 10, top: 20 }, { value: [10, 20, 30], r: 10, g: 20, b: 30 }],
    [gray, { left: 10 }, { value: [10], l: 10 }],
    [photo, { left: 500, top: 0 }, {}],
    [photo, { left: 0.5, top: 0.5, units: 'fraction' }, { value: [100, 75, 175], r: 100, g: 75, b: 175 }],
    [paint({ width: 3, height: 1, bands: 1, dtype: 'uint16' }, () => 5602), {}, { value: [5602], l: 21 }],
    [paint({ width: 3, height: 1, bands: 2 }, (_x, _y, band) => band * 9), {}, { value: [0, 9], l: 0, a: 9 }],
  ])('reads a pixel (%#)', async (raster, request, value) => {
    expect(await openLargeImage(rasterSource(raster).source).pixel(request)).toEqual(value);
  });

  it('reads a styled pixel', async () => {
    const image = openLargeImage(rasterSource(photo).source);
    const style = '{"band":"red","min":0,"max":200,"palette":"#0000ff"}';
    const value = await image.pixel({ left: 100, top: 0, style });
    expect(value).toEqual({ value: [0, 0, 127.5, 255], r: 0, g: 0, b: 127, a: 255 });
  });

  it('reads a pixel of several frames', async () => {
    const frames = [3, 7].map((value) => paint({ width: 10, height: 10, bands: 1 }, () => value));
    expect(await openLargeImage(rasterSource(frames).source).pixels({}, [1, 0])).toEqual([
      { frame: 1, value: [7], l: 7 },
      { frame: 0, value: [3], l: 3 },
    ]);
  });

  it('counts all samples of a small image in a bare call', async () => {
    const [band] = await openLargeImage(rasterSource(gray).source).histogram({ bins: 4 });
    expect(band).toMatchObject({ min: 0, max: 199, mean: 99.5, range: [0, 200], bins: 4, samples: 30_000, density: false });
    expect(band?.hist).toEqual([7500, 7500, 7500, 7500]);
    expect(band?.bin_edges).toEqual([0, 50, 100, 150, 200]);
  });

  it('rounds the range to whole bins, and keeps explicit ranges', async () => {
    const image = openLargeImage(rasterSource(gray).source);
    const [rounded] = await image.histogram({ bins: 64, roundRange: true });
    expect(rounded).toMatchObject({ bins: 50, range: [0, 200] });
    const [ranged] = await image.histogram({ bins: 2, rangeMin: 0.5, rangeMax: 100.5, density: true });
    expect(ranged).toMatchObject({ range: [0.5, 100.5], samples: 15_000, hist: [0.5, 0.5], density: true });
    await expect(image.histogram({ rangeMin: 9, rangeMax: 9 })).rejects.toThrow('Invalid range');
    await expect(image.histogram({ bins: 0 })).rejects.toThrow('Invalid bins');
  });

  it('reads at most a reduced image for a large one', async () => {
    const [band] = await openLargeImage(openTestImage({ maxLevel: 5, monochrome: true })).histogram({});
    expect(band?.samples).toBe(2048 * 2048);
  });

  it('describes bands by number', async () => {
    const bands = await openLargeImage(rasterSource(photo).source).bands({});
    expect(Object.keys(bands)).toEqual(['1', '2', '3']);
    expect(bands['1']).toMatchObject({ interpretation: 'red', min: 0, max: 199, mean: 99.5 });
  });
});

describe('frames side by side', () => {
  const frames = [10, 90, 170].map((value) => paint({ width: 20, height: 10, bands: 1 }, () => value));
  it('puts all frames into one picture and leaves the rest at zero', async () => {
    const sprite = await pixels(await openLargeImage(rasterSource(frames).source).tileFrames({ encoding: 'PNG' }));
    expect([sprite.width, sprite.height]).toEqual([40, 20]);
    expect([sprite.at(5, 5)[0], sprite.at(25, 5)[0], sprite.at(5, 15)[0], sprite.at(25, 15)[0]]).toEqual([10, 90, 170, 0]);
  });

  it('takes listed frames in order, completes cells, ignores unknown frames', async () => {
    const image = openLargeImage(rasterSource(frames).source);
    const request = { frameList: [2, 99, 0], framesAcross: 1, width: 30, height: 30, fill: 'corner:#404040', encoding: 'PNG' };
    const sprite = await pixels(await image.tileFrames(request));
    expect([sprite.width, sprite.height]).toEqual([30, 60]);
    expect([sprite.at(5, 5)[0], sprite.at(5, 25)[0], sprite.at(5, 35)[0]]).toEqual([170, 64, 10]);
    const secondFrame = await pixels(await image.tileFrames({ frameList: [1], encoding: 'PNG' }));
    expect([secondFrame.width, secondFrame.height, secondFrame.at(0, 0)[0]]).toEqual([20, 10, 90]);
  });

  it('refuses sprites beyond the limit', async () => {
    const image = openLargeImage(rasterSource(frames).source, { maxOutputPixels: 500 });
    await expect(image.tileFrames({})).rejects.toThrow('larger than the limit of 500 pixels');
  });
});

describe('associated images and Deep Zoom', () => {
  it('scales an associated image and answers null for an unknown one', async () => {
    const { source } = rasterSource(photo);
    const image = openLargeImage({
      ...source,
      associatedImages: ['label'],
      readAssociatedImage: async (name: string) => (name === 'label' ? { raster: gray, format: 'LZW' } : null),
    });
    expect(image.associatedImages()).toEqual(['label']);
    const label = await image.associatedImage('label', { width: 400, encoding: 'PNG' });
    expect(label && (await pixels(label)).width).toBe(400);
    expect(await image.associatedImage('macro', {})).toBeNull();
    expect(await image.associatedImageMetadata('label')).toEqual({ sizeX: 200, sizeY: 150, mode: 'L', format: 'LZW' });
    expect(await image.associatedImageMetadata('macro')).toEqual({});
  });

  it('makes tiles of every Deep Zoom level in the encoding of the name', async () => {
    const image = openLargeImage(rasterSource(photo).source);
    const top = await pixels(await image.dziTile({ level: 0, name: '0_0.png' }));
    expect([top.width, top.height, top.facts.format]).toEqual([1, 1, 'png']);
    const tile = await pixels(await image.dziTile({ level: 8, name: '1_1.jpg', tilesize: 64, overlap: 2, encoding: 'PNG' }));
    expect([tile.width, tile.height, tile.facts.format]).toEqual([68, 68, 'jpeg']);
    expect(image.dzi({ encoding: 'PNG', overlap: 1, tilesize: 128 })).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><Image TileSize="128" Overlap="1" Format="png" xmlns="http://schemas.microsoft.com/deepzoom/2008"><Size Width="200" Height="150"/></Image>',
    );
  });
});
