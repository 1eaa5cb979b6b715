import { deflateSync } from 'node:zlib';
import sharp, { type TiffOptions } from 'sharp';
import { describe, expect, it } from 'vitest';
import type { TileSource } from '../../../../src/tilesource/tile-source.js';
import { completeJpeg } from '../../../../src/tilesource/sources/tiff/stored-tile.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { sampleFile } from '../../../support/images/data.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { pattern } from '../../../support/images/pattern.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { grayTags, writeTiff, type TagValue } from '../../../support/writers/tiff-writer.js';

const width = 300;
const height = 200;

async function open(bytes: Uint8Array): Promise<TileSource> {
  return tiffSource.open(memoryInput(bytes));
}

const tile = { tile: true, tileWidth: 64, tileHeight: 64 } as const;

describe('tiles written by libvips have the pixels that libvips reads', () => {
  const eightBit: [string, number, TiffOptions][] = [
    ['jpeg', 3, { ...tile, pyramid: true, compression: 'jpeg' }],
    ['jpeg in BigTIFF', 3, { ...tile, compression: 'jpeg', bigtiff: true }],
    ['gray jpeg', 1, { ...tile, compression: 'jpeg' }],
    ['lzw with predictor', 3, { ...tile, compression: 'lzw', predictor: 'horizontal' }],
    ['deflate with alpha', 4, { ...tile, compression: 'deflate', predictor: 'horizontal' }],
    ['packbits', 3, { ...tile, compression: 'packbits' }],
    ['uncompressed', 3, { ...tile, compression: 'none' }],
    ['webp', 3, { ...tile, compression: 'webp' }],
    ['strips', 3, { compression: 'lzw', predictor: 'horizontal' }],
    ['jpeg strips', 3, { compression: 'jpeg' }],
    ['one bit', 1, { ...tile, compression: 'deflate', predictor: 'none', bitdepth: 1 }],
    ['four bits', 1, { ...tile, compression: 'lzw', predictor: 'none', bitdepth: 4 }],
    ['white is zero', 1, { ...tile, compression: 'lzw', miniswhite: true }],
  ];
  it.each(eightBit)('%s', async (_name, channels, options) => {
    const raw = { width, height, channels: channels === 1 ? 1 : channels === 4 ? 4 : 3 } as const;
    const picture = sharp(pattern(width, height, channels), { raw });
    const file = await (channels === 1 ? picture.toColourspace('b-w') : picture).tiff(options).toBuffer();
    const expected = await sharp(file)
      .toColourspace(channels === 1 ? 'b-w' : 'srgb')
      .raw()
      .toBuffer();
    const source = await open(file);
    expect(source.metadata.bandCount).toBe(channels);
    expect(worstDifference(await wholeLevel(source), expected)).toBe(0);
    await source.close();
  });

  it('16-bit samples come through unchanged', async () => {
    const samples = Uint16Array.from({ length: width * height * 3 }, (_, i) => (i * 37) & 0xff_ff);
    const picture = sharp(samples, { raw: { width, height, channels: 3 } }).toColourspace('rgb16');
    const source = await open(await picture.tiff({ ...tile, compression: 'lzw', predictor: 'horizontal' }).toBuffer());
    expect(source.metadata.dtype).toBe('uint16');
    expect(worstDifference(await wholeLevel(source), samples)).toBe(0);
    await source.close();
  });
});

describe('reads formats that libvips does not write:', () => {
  const gray = (from: (x: number, y: number) => number, size = 32): number[] =>
    Array.from({ length: size * size }, (_, i) => from(i % size, Math.floor(i / size)));
  const ramp = gray((x, y) => x * 5 + y);
  const tags = grayTags(32, 32, 32);

  it.each([
    ['little-endian', false],
    ['big-endian', true],
  ])('16-bit differences in %s order', async (_name, bigEndian) => {
    const samples = gray((x, y) => (x * 1999 + y * 7) & 0xff_ff);
    const bytes = Buffer.alloc(samples.length * 2);
    for (const [i, value] of samples.entries()) {
      const difference = (i % 32 === 0 ? value : value - (samples[i - 1] ?? 0)) & 0xff_ff;
      if (bigEndian) bytes.writeUInt16BE(difference, i * 2);
      else bytes.writeUInt16LE(difference, i * 2);
    }
    const file = writeTiff(
      [{ tags: { ...tags, 258: { short: [16] }, 259: { short: [8] }, 317: { short: [2] } }, chunks: [deflateSync(bytes)] }],
      { bigEndian, big: bigEndian },
    );
    const source = await open(file);
    expect(source.metadata.dtype).toBe('uint16');
    expect(await wholeLevel(source)).toEqual(samples);
  });

  it.each([
    ['int16', 16, 2, (view: DataView, at: number, value: number) => view.setInt16(at, value, true)],
    ['int32', 32, 2, (view: DataView, at: number, value: number) => view.setInt32(at, value, true)],
    ['float32', 32, 3, (view: DataView, at: number, value: number) => view.setFloat32(at, value, true)],
    ['float64', 64, 3, (view: DataView, at: number, value: number) => view.setFloat64(at, value, true)],
  ] as const)('%s samples with their signs', async (dtype, bits, format, put) => {
    const samples = gray((x, y) => (x - 16) * (y + 1) * 0.5).map((value) => (format === 2 ? Math.round(value) : value));
    const view = new DataView(new ArrayBuffer((samples.length * bits) / 8));
    for (const [i, value] of samples.entries()) put(view, (i * bits) / 8, value);
    const chunks = [new Uint8Array(view.buffer)];
    const source = await open(writeTiff([{ tags: { ...tags, 258: { short: [bits] }, 339: { short: [format] } }, chunks }]));
    expect(source.metadata.dtype).toBe(dtype);
    expect(worstDifference(await wholeLevel(source), samples)).toBe(0);
  });

  it('PackBits whose runs continue in the next row, as some writers store it', async () => {
    const size = { width: 16, height: 256 };
    const samples = Array.from({ length: size.width * size.height }, (_, i) => (i % 400 < 200 ? 77 : (i * 7) & 255));
    const packed: number[] = [];
    for (let at = 0; at < samples.length;) {
      const isRun = samples[at] === samples[at + 1];
      let length = 1;
      while (length < 128 && at + length < samples.length && (samples[at + length] === samples[at + length - 1]) === isRun)
        length += 1;
      if (isRun) packed.push(257 - length, samples[at]!);
      else packed.push(length - 1, ...samples.slice(at, at + length));
      at += length;
    }
    const inStrips = {
      256: { long: [size.width] },
      257: { long: [size.height] },
      258: { short: [8] },
      259: { short: [32_773] },
      262: { short: [1] },
      277: { short: [1] },
      278: { long: [size.height] },
    };
    const source = await open(writeTiff([{ tags: inStrips, chunks: [Uint8Array.from(packed)] }]));
    expect(await wholeLevel(source)).toEqual(samples);
    const cut = await open(writeTiff([{ tags: inStrips, chunks: [Uint8Array.from(packed.slice(0, -40))] }]));
    await expect(wholeLevel(cut)).rejects.toThrow('PackBits');
  });

  it('separate planes, of any number', async () => {
    const planes = [3, 50, 90, 130, 200].map((offset) => Buffer.from(ramp.map((value) => (value + offset) & 255)));
    const five = { ...tags, 258: { short: [8, 8, 8, 8, 8] }, 277: { short: [5] }, 284: { short: [2] } };
    const source = await open(writeTiff([{ tags: five, chunks: planes }]));
    expect(source.metadata.bandCount).toBe(5);
    const expected = ramp.flatMap((_, i) => planes.map((plane) => plane[i] ?? 0));
    expect(await wholeLevel(source)).toEqual(expected);
  });

  it('palettes, looked up', async () => {
    const map = Array.from({ length: 3 * 256 }, (_, i) => ((i * 13) & 255) << 8);
    const file = writeTiff([{ tags: { ...tags, 262: { short: [3] }, 320: { short: map } }, chunks: [Buffer.from(ramp)] }]);
    const source = await open(file);
    expect(source.metadata.bandCount).toBe(3);
    expect(worstDifference(await wholeLevel(source), await sharp(file).raw().toBuffer())).toBe(0);
  });

  it.each([8, 16])('CMYK of %i bits nearly as libvips shows it', async (bits) => {
    const side = 128;
    const oneTile = { 256: { long: [side] }, 257: { long: [side] }, 322: { short: [side] }, 323: { short: [side] } };
    const inks = { ...tags, ...oneTile, 258: { short: [bits, bits, bits, bits] }, 262: { short: [5] }, 277: { short: [4] } };
    let random = 1;
    const bytes = Buffer.from(
      Array.from(
        { length: (side * side * 4 * bits) / 8 },
        () => ((random = (random * 1_103_515_245 + 12_345) % 2 ** 31) >> 16) & 255,
      ),
    );
    const file = writeTiff([{ tags: inks, chunks: [bytes] }]);
    const source = await open(file);
    const expected = await sharp(file).toColourspace('srgb').raw().toBuffer();
    const shown = await wholeLevel(source);
    const off = [...expected].map((sample, at) => Math.abs(sample - shown[at]!));
    expect(Math.max(...off)).toBeLessThanOrEqual(3);
    expect(off.filter((each) => each > 1).length).toBeLessThan(off.length / 50);
  });

  it('premultiplied alpha, divided out', async () => {
    const premultiplied = {
      ...tags,
      258: { short: [8, 8, 8, 8] },
      262: { short: [2] },
      277: { short: [4] },
      338: { short: [1] },
    };
    const pixels = Buffer.from(ramp.flatMap(() => [50, 100, 25, 100]));
    const source = await open(writeTiff([{ tags: premultiplied, chunks: [pixels] }]));
    expect((await wholeLevel(source)).slice(0, 4)).toEqual([127, 255, 63, 100]);
  });

  it.each([9, 10, 12, 14, 15])('samples of %i bits, packed', async (bits) => {
    const samples = Array.from({ length: 32 * 16 }, (_, i) => (i * 7919) % 2 ** bits);
    const digits = samples.map((sample) => sample.toString(2).padStart(bits, '0')).join('');
    const packed = Buffer.from(digits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
    const white = samples.map((sample) => 2 ** bits - 1 - sample);
    for (const [photometric, expected] of [
      [1, samples],
      [0, white],
    ] as const) {
      const packedTags = { ...grayTags(32, 16, 16), 258: { short: [bits] }, 262: { short: [photometric] }, 322: { short: [32] } };
      const source = await open(writeTiff([{ tags: packedTags, chunks: [packed] }]));
      expect(source.metadata.dtype).toBe('uint16');
      expect(await wholeLevel(source)).toEqual(expected);
    }
  });

  it('tiles that were never written, as zeros', async () => {
    const file = writeTiff([{ tags: grayTags(64, 32, 32), chunks: [Buffer.alloc(1024, 9), null] }]);
    const source = await open(file);
    const [written, missing] = [
      await source.readTile({ level: 1, x: 0, y: 0, frame: 0 }),
      await source.readTile({ level: 1, x: 1, y: 0, frame: 0 }),
    ];
    expect([written.data[0], missing.data[0]]).toEqual([9, 0]);
    expect(await source.readStoredTile?.({ level: 1, x: 1, y: 0, frame: 0 })).toBeNull();
  });

  it('reduced images that have another tile size and are rounded down, which are fitted to the pyramid', async () => {
    const base: Record<number, TagValue> = grayTags(65, 65, 32);
    const reduced = { ...grayTags(32, 32, 16), 254: { long: [1] } };
    const chunks = (count: number, bytes: number, fill: number): Buffer[] =>
      Array.from({ length: count }, () => Buffer.alloc(bytes, fill));
    const source = await open(
      writeTiff([
        { tags: base, chunks: chunks(9, 1024, 80) },
        { tags: reduced, chunks: chunks(4, 256, 40) },
      ]),
    );
    expect(source.metadata.levels).toBe(3);
    expect(source.populatedLevels).toEqual([1, 2]);
    expect(new Set(await wholeLevel(source, 1))).toEqual(new Set([40]));
  });
});

describe('orientation', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('%i is applied, at every tile border', async (orientation) => {
    const path = sampleFile(`test_orient${orientation}.tif`);
    if (path === null) return;
    const source = await tiffSource.open(fileInput(path));
    const { data, info } = await sharp(path).autoOrient().toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
    expect([source.metadata.sizeX, source.metadata.sizeY]).toEqual([info.width, info.height]);
    expect(worstDifference(await wholeLevel(source), data)).toBe(0);
    await source.close();
  });
});

describe('stored tiles', () => {
  /** JPEG without tables and markers, as tiles of TIFF files are, and the tables. */
  function split(jpeg: Buffer): { tables: Buffer; tile: Buffer } {
    const [tables, rest]: [Buffer[], Buffer[]] = [[], []];
    let at = 2;
    while (jpeg[at + 1] !== 0xda) {
      const end = at + 2 + jpeg.readUInt16BE(at + 2);
      const marker = jpeg[at + 1] ?? 0;
      if (marker === 0xdb || marker === 0xc4) tables.push(jpeg.subarray(at, end));
      else if (marker < 0xe0) rest.push(jpeg.subarray(at, end));
      at = end;
    }
    const soi = Buffer.from([0xff, 0xd8]);
    return {
      tables: Buffer.concat([soi, ...tables, Buffer.from([0xff, 0xd9])]),
      tile: Buffer.concat([soi, ...rest, jpeg.subarray(at)]),
    };
  }

  it.each([
    ['YCbCr', 6],
    ['RGB without any marker', 2],
  ])('%s JPEG with shared tables shows the same colors whole as decoded', async (_name, photometric) => {
    const picture = sharp(pattern(64, 64, 3), { raw: { width: 64, height: 64, channels: 3 } });
    const { tables, tile: stored } = split(await picture.jpeg({ quality: 90, chromaSubsampling: '4:4:4' }).toBuffer());
    const color = {
      ...grayTags(128, 64, 64),
      258: { short: [8, 8, 8] },
      259: { short: [7] },
      262: { short: [photometric] },
      277: { short: [3] },
      347: { bytes: tables },
      530: { short: [1, 1] },
    };
    const source = await open(writeTiff([{ tags: color, chunks: [stored, stored] }]));
    const address = { level: 1, x: 1, y: 0, frame: 0 };
    const tileBytes = await source.readStoredTile?.(address);
    expect(tileBytes?.encoding).toBe('JPEG');
    const shown = await sharp(tileBytes?.bytes).raw().toBuffer();
    const decoded = await source.readTile(address);
    expect(worstDifference(shown, decoded.data)).toBe(0);
    const original = pattern(64, 64, 3);
    if (photometric === 6) expect(worstDifference(shown, original)).toBeLessThan(80);
    else expect(worstDifference(shown, original), 'components are shown as they are, not as YCbCr').toBeGreaterThan(80);
  });

  it('gives nothing for a damaged header, border tiles and sizes that do not fit', async () => {
    const jpeg = await sharp(pattern(64, 64, 1), { raw: { width: 64, height: 64, channels: 1 } })
      .toColourspace('b-w')
      .jpeg()
      .toBuffer();
    const wrongSize = Buffer.from(jpeg);
    const frame = wrongSize.indexOf(Buffer.from([0xff, 0xc0]));
    wrongSize.writeUInt16BE(48, frame + 5);
    const noStart = Buffer.from(jpeg);
    noStart[0] = 0;
    const chunks = [jpeg, wrongSize, noStart, jpeg.subarray(0, -40), jpeg];
    const source = await open(writeTiff([{ tags: { ...grayTags(300, 64, 64), 259: { short: [7] } }, chunks }]));
    const results = await Promise.all(
      [0, 1, 2, 3, 4].map(async (x) => source.readStoredTile?.({ level: source.metadata.levels - 1, x, y: 0, frame: 0 })),
    );
    expect(results.map((result) => result?.encoding ?? null)).toEqual(['JPEG', null, null, null, null]);
  });
});

describe('JPEG tiles as they are stored', () => {
  it('are not copied when all decoders read them alike, and lose segments that rotate or recolor', async () => {
    const raw = { width: 16, height: 16, channels: 3 } as const;
    const jpeg = () => sharp(Buffer.alloc(16 * 16 * 3, 90), { raw }).jpeg();
    const shape = { photometric: 6, samplesPerPixel: 3, chunkWidth: 16, chunkHeight: 16, jpegTables: null };
    const plain = new Uint8Array(await jpeg().toBuffer());
    expect(completeJpeg(plain, shape)).toBe(plain);
    expect(completeJpeg(plain, { ...shape, photometric: 2 })).not.toBe(plain);
    const turned = new Uint8Array(await jpeg().withMetadata({ orientation: 6 }).toBuffer());
    expect(Buffer.from(turned).includes('Exif')).toBe(true);
    expect(Buffer.from(completeJpeg(turned, shape)!).includes('Exif')).toBe(false);
  });
});
