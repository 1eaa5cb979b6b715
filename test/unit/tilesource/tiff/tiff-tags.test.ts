import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { TileSource } from '../../../../src/tilesource/tile-source.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { writeJpeg2000 } from '../../../support/writers/jpeg2000-writer.js';
import { grayTags, writeTiff, type TagValue } from '../../../support/writers/tiff-writer.js';

const side = 32;

async function open(bytes: Uint8Array): Promise<TileSource> {
  return tiffSource.open(memoryInput(bytes));
}

async function samplesOf(tags: Record<number, TagValue>, chunks: Uint8Array[], bigEndian = false): Promise<number[]> {
  return wholeLevel(await open(writeTiff([{ tags, chunks }], { bigEndian })));
}

const gray = Array.from({ length: side * side }, (_, i) => (i * 7) & 255);
const tiles = grayTags(side, side, 16);
const strips: Record<number, TagValue> = { ...grayTags(side, side, side), 278: { long: [8] } };
delete strips[322];
delete strips[323];
const stripBytes = [0, 1, 2, 3].map((strip) => Buffer.from(gray.slice(strip * 256, strip * 256 + 256)));
const tileBytes = [0, 1, 2, 3].map((tile) =>
  Buffer.from(Array.from({ length: 256 }, (_, i) => gray[((tile >> 1) * 16 + (i >> 4)) * side + (tile & 1) * 16 + (i & 15)]!)),
);
const squeezed = stripBytes.map((strip) => deflateSync(strip));

describe('a tag without a meaning is ignored', () => {
  const rgb = { 258: { short: [8, 8, 8] }, 277: { short: [3] } };
  it.each<[string, Record<number, TagValue>, Uint8Array[]]>([
    ['a predictor without the compressions that have one', { ...strips, 317: { short: [2] } }, stripBytes],
    ['an unknown predictor without compression', { ...tiles, 317: { short: [7] } }, tileBytes],
    ['how LERC is packed, in a file without LERC', { ...tiles, 50674: { long: [4, 9] } }, tileBytes],
    ['a palette that is too short, of a gray image', { ...tiles, 320: { short: [1, 2, 3] } }, tileBytes],
    ['lengths of zero, of uncompressed strips', { ...strips, 279: { long: [0, 0, 0, 0] } }, stripBytes],
    [
      'a length of zero, of one compressed strip',
      { ...strips, 259: { short: [8] }, 279: { long: squeezed.map(({ length }, i) => (i === 1 ? 0 : length)) } },
      squeezed,
    ],
    ['lengths of zero, of all compressed strips', { ...strips, 259: { short: [8] }, 279: { long: [0, 0, 0, 0] } }, squeezed],
    ['lengths of zero, of all tiles', { ...tiles, 325: { long: [0, 0, 0, 0] } }, tileBytes],
  ])('%s', async (_name, tags, chunks) => {
    expect(await samplesOf(tags, chunks)).toEqual(gray);
  });

  it('sample formats of JPEG, which has only one', async () => {
    const picture = sharp(Buffer.from(gray), { raw: { width: side, height: side, channels: 1 } });
    const jpeg = await picture.toColourspace('b-w').jpeg({ quality: 100 }).toBuffer();
    const tags = { ...grayTags(side, side, side), 259: { short: [7] }, 339: { short: [2] } };
    expect(worstDifference(await samplesOf(tags, [jpeg]), gray)).toBeLessThan(20);
  });

  it('tiles are read when the tags for strips list them, and strips when the tags for tiles do', async () => {
    const moved = (file: Buffer, pairs: [number, number][]): Buffer => {
      const at = file.readUInt32LE(4);
      for (let entry = at + 2; entry < at + 2 + file.readUInt16LE(at) * 12; entry += 12) {
        const to = pairs.find(([from]) => from === file.readUInt16LE(entry))?.[1];
        if (to !== undefined) file.writeUInt16LE(to, entry);
      }
      return file;
    };
    const tiled = moved(writeTiff([{ tags: tiles, chunks: tileBytes }]), [
      [324, 273],
      [325, 279],
    ]);
    expect(await wholeLevel(await open(tiled))).toEqual(gray);
    const stripped = moved(writeTiff([{ tags: strips, chunks: stripBytes }]), [
      [273, 324],
      [279, 325],
    ]);
    expect(await wholeLevel(await open(stripped))).toEqual(gray);
  });

  it('old-style JPEG is read up to the end of the file when its length exceeds that', async () => {
    const jpeg = await sharp(Buffer.from(gray), { raw: { width: side, height: side, channels: 1 } })
      .jpeg()
      .toBuffer();
    const tags = { ...strips, 259: { short: [6] }, 513: { long: [0] }, 514: { long: [jpeg.length + 6] } };
    const file = writeTiff([{ tags, chunks: [] }]);
    const entry = file.indexOf(Buffer.from([1, 2, 4, 0, 1, 0, 0, 0]));
    file.writeUInt32LE(file.length, entry + 8);
    const expected = await sharp(jpeg).raw().toColourspace('b-w').toBuffer();
    expect(await wholeLevel(await open(Buffer.concat([file, jpeg])))).toEqual([...expected]);
  });

  it.each([
    ['with its pixels in a strip', (jpeg: Buffer) => jpeg.subarray(0, scanOf(jpeg))],
    ['without a scan', (jpeg: Buffer) => jpeg.subarray(0, jpeg.indexOf(Buffer.from([0xff, 0xda])))],
  ])('old-style JPEG %s is refused when it is opened', async (_what, headerOf) => {
    const jpeg = await sharp(Buffer.from(gray), { raw: { width: side, height: side, channels: 1 } })
      .jpeg()
      .toBuffer();
    const header = headerOf(jpeg);
    const tags = { ...strips, 259: { short: [6] }, 513: { long: [0] }, 514: { long: [header.length] } };
    const file = writeTiff([{ tags, chunks: [jpeg.subarray(scanOf(jpeg))] }]);
    file.writeUInt32LE(file.length, file.indexOf(Buffer.from([1, 2, 4, 0, 1, 0, 0, 0])) + 8);
    await expect(open(Buffer.concat([file, header]))).rejects.toMatchObject({
      code: 'tile-source',
      message: expect.stringContaining('old-style JPEG (compression 6) with its pixels in strips, as Wang Imaging writes it'),
    });
  });

  /** Position of the compressed pixels of a JPEG. */
  function scanOf(jpeg: Buffer): number {
    const header = jpeg.indexOf(Buffer.from([0xff, 0xda]));
    return header + 2 + jpeg.readUInt16BE(header + 2);
  }

  /** YCbCr, and the RGB to which libtiff converts it. */
  it.each<[string, Record<number, TagValue>, number[], number[]]>([
    ['by the defaults', {}, [113, 64, 138], [127, 128, 0]],
    [
      'with the coefficients of the file',
      {
        529: {
          rational: [
            [2126, 10_000],
            [7152, 10_000],
            [722, 10_000],
          ],
        },
      },
      [100, 128, 178],
      [179, 77, 100],
    ],
    [
      'with the reference of the file',
      {
        532: {
          rational: [
            [16, 1],
            [235, 1],
            [128, 1],
            [240, 1],
            [128, 1],
            [240, 1],
          ],
        },
      },
      [126, 128, 128],
      [128, 128, 128],
    ],
  ])('YCbCr without subsampling becomes RGB %s, together and apart', async (_name, more, stored, expected) => {
    const tags = { ...tiles, ...rgb, 262: { short: [6] }, 530: { short: [1, 1] }, ...more };
    const together = Array.from({ length: 4 }, () => Buffer.from(Array.from({ length: 256 * 3 }, (_, i) => stored[i % 3]!)));
    const apart = stored.flatMap((sample) => Array.from({ length: 4 }, () => Buffer.alloc(256, sample)));
    for (const pixels of [await samplesOf(tags, together), await samplesOf({ ...tags, 284: { short: [2] } }, apart)]) {
      expect(worstDifference(pixels.slice(0, 3), expected)).toBeLessThanOrEqual(1);
    }
  });

  it('compression 33004 that is tagged RGB is RGB, unless libvips has written it', async () => {
    const data = Buffer.from(Array.from({ length: 64 * 64 }, () => [100, 100, 0]).flat());
    // This tile has the form of those that libvips writes without loss: five decompositions.
    const tile = await writeJpeg2000({ data, width: 64, height: 64, components: 3 });
    const tags = { ...grayTags(64, 64, 64), ...rgb, 259: { short: [33_004] } };
    const [stored, converted] = [
      [100, 100, 0],
      [0, 201, 50],
    ];
    const cases: [Record<number, TagValue>, number[]][] = [
      [{ 262: { short: [2] }, 305: { ascii: 'tifffile.py' } }, stored],
      [{ 262: { short: [2] } }, converted],
      [{ 262: { short: [6] }, 305: { ascii: 'tifffile.py' } }, converted],
    ];
    for (const [more, expected] of cases) {
      expect((await samplesOf({ ...tags, ...more }, [tile])).slice(0, 3)).toEqual(expected);
    }
  });
});

describe('reads samples of any depth:', () => {
  const pack = (samples: readonly number[], bits: number): Buffer => {
    const digits = samples.map((sample) => (sample >>> 0).toString(2).padStart(32, '0').slice(-bits)).join('');
    return Buffer.from(digits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
  };
  const depths = [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15, 17, 20, 24, 31];
  it.each(depths)('%i bits, unsigned and signed, with their white', async (bits) => {
    const stored = Array.from({ length: 256 }, (_, i) => (i * 7919 * 65_537) % 2 ** bits);
    stored.splice(0, 2, 0, 2 ** bits - 1);
    for (const format of [1, 2]) {
      const half = format === 2 ? 2 ** (bits - 1) : 0;
      const samples = stored.map((sample) => (format === 2 && sample >= half ? sample - 2 * half : sample));
      const most = format === 2 ? Math.max(1, half - 1) : 2 ** bits - 1;
      const full = format === 2 ? 127 : 255;
      const expected = bits > 8 ? samples : samples.map((sample) => Math.max(-128, Math.round((sample * full) / most)));
      const tags = { ...grayTags(16, 16, 16), 258: { short: [bits] }, 339: { short: [format] } };
      const source = await open(writeTiff([{ tags, chunks: [pack(stored, bits)] }], { bigEndian: true }));
      const type = `${format === 2 ? 'int' : 'uint'}${bits < 8 ? 8 : bits < 16 ? 16 : 32}`;
      expect(source.metadata).toMatchObject({ dtype: type, bandCount: 1 });
      expect(source.metadata.white).toBe(bits > 8 ? most : undefined);
      expect(await wholeLevel(source)).toEqual(expected.map((value) => value + 0));
    }
  });

  it('24 bits in the byte order of the file', async () => {
    const tags = { ...grayTags(16, 16, 16), 258: { short: [24] } };
    const samples = Array.from({ length: 256 }, (_, i) => i * 65_535);
    for (const bigEndian of [false, true]) {
      const bytes = Buffer.alloc(768);
      for (const [i, sample] of samples.entries())
        if (bigEndian) bytes.writeUIntBE(sample, i * 3, 3);
        else bytes.writeUIntLE(sample, i * 3, 3);
      expect(await samplesOf(tags, [bytes], bigEndian)).toEqual(samples);
    }
  });

  it('palettes and CMYK', async () => {
    const map = Array.from({ length: 3 * 2 ** 5 }, (_, i) => i * 600);
    const indexes = Array.from({ length: 256 }, (_, i) => i % 32);
    const palette = { ...grayTags(16, 16, 16), 258: { short: [5] }, 262: { short: [3] }, 320: { short: map } };
    const shown = await samplesOf(palette, [pack(indexes, 5)]);
    expect(shown.slice(21, 24)).toEqual([7, 39, 71].map((index) => (index * 600) >> 8));
    const cmyk = { ...grayTags(16, 16, 16), 262: { short: [5] }, 277: { short: [4] } };
    const inked = (bits: number): Promise<number[]> => {
      const inks = [0, 1, 0.5, 0].map((part) => Math.round(part * (2 ** bits - 1)));
      const samples = Array.from({ length: 1024 }, (_, i) => inks[i % 4]!);
      return samplesOf({ ...cmyk, 258: { short: Array<number>(4).fill(bits) } }, [pack(samples, bits)]);
    };
    const [five, eight, twelve] = [await inked(5), await inked(8), await inked(12)];
    expect(worstDifference(five, eight)).toBeLessThan(6);
    expect(worstDifference(twelve, eight)).toBeLessThan(3);
  });
});
