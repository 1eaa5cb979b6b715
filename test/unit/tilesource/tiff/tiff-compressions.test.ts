import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { writeJpeg2000 } from '../../../support/writers/jpeg2000-writer.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { pattern } from '../../../support/images/pattern.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { grayTags, writeTiff, type TagValue } from '../../../support/writers/tiff-writer.js';

const run = promisify(execFile);
const vipsVersion = await run('vips', ['--version']).then(
  ({ stdout }) => stdout.trim(),
  () => null,
);
if (vipsVersion === null)
  console.warn('skipped: comparison with the vips program, which is not on PATH; hand-made files are tested anyway');

const width = 300;
const height = 200;

/** The samples in a file of raw samples that the vips program saved. */
const readers = {
  Uint8Array: (bytes: Buffer) => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length),
  Uint16Array: (bytes: Buffer) => new Uint16Array(new Uint8Array(bytes).buffer),
  Float32Array: (bytes: Buffer) => new Float32Array(new Uint8Array(bytes).buffer),
};

describe.skipIf(vipsVersion === null)('files written by the vips program have the pixels that it reads', () => {
  let folder: string;
  const vips = (...words: string[]) => run('vips', words);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiff-compressions-'));
    await writeFile(
      join(folder, 'color.ppm'),
      Buffer.concat([Buffer.from(`P6 ${width} ${height} 255\n`), pattern(width, height, 3)]),
    );
    await writeFile(
      join(folder, 'gray.pgm'),
      Buffer.concat([Buffer.from(`P5 ${width} ${height} 255\n`), pattern(width, height, 1)]),
    );
    const file = (name: string) => join(folder, name);
    await vips('linear', file('color.ppm'), file('float.v'), '0.1', '0');
    await vips('linear', file('color.ppm'), file('wide.v'), '257', '3');
    await vips('cast', file('wide.v'), file('deep.v'), 'ushort');
    await vips('colourspace', file('color.ppm'), file('lab.v'), 'lab');
    await vips('relational_const', file('gray.pgm'), file('bilevel.v'), 'more', '128');
    await vips('bandjoin', `${file('color.ppm')} ${file('gray.pgm')} ${file('gray.pgm')}`, file('five.v'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const tiles = ['--tile', '--tile-width', '64', '--tile-height', '64'];
  it.each<[string, string, string[], { bands: number; dtype: string; tolerance?: number; shownAs?: string }]>([
    ['zstd', 'color.ppm', [...tiles, '--compression', 'zstd', '--predictor', 'none'], { bands: 3, dtype: 'uint8' }],
    ['zstd with predictor, pyramid', 'color.ppm', [...tiles, '--compression', 'zstd', '--pyramid'], { bands: 3, dtype: 'uint8' }],
    ['zstd strips', 'gray.pgm', ['--compression', 'zstd'], { bands: 1, dtype: 'uint8' }],
    ['zstd of 16 bits', 'deep.v', [...tiles, '--compression', 'zstd'], { bands: 3, dtype: 'uint16' }],
    ['JPEG 2000', 'color.ppm', [...tiles, '--compression', 'jp2k', '--lossless'], { bands: 3, dtype: 'uint8', tolerance: 3 }],
    [
      'lossy JPEG 2000',
      'color.ppm',
      [...tiles, '--compression', 'jp2k', '--Q', '60'],
      { bands: 3, dtype: 'uint8', tolerance: 3 },
    ],
    [
      'JPEG 2000 of 16 bits',
      'deep.v',
      [...tiles, '--compression', 'jp2k', '--lossless'],
      { bands: 3, dtype: 'uint16', tolerance: 3 },
    ],
    ['gray JPEG 2000', 'gray.pgm', [...tiles, '--compression', 'jp2k', '--Q', '80'], { bands: 1, dtype: 'uint8', tolerance: 1 }],
    ['L*a*b*', 'lab.v', [...tiles, '--compression', 'lzw'], { bands: 3, dtype: 'uint8', shownAs: 'srgb', tolerance: 1 }],
    ['CCITT group 4', 'bilevel.v', ['--compression', 'ccittfax4', '--bitdepth', '1'], { bands: 1, dtype: 'uint8' }],
    [
      'CCITT group 4, tiles',
      'bilevel.v',
      [...tiles, '--compression', 'ccittfax4', '--bitdepth', '1'],
      { bands: 1, dtype: 'uint8' },
    ],
    [
      'CCITT group 4, white is zero',
      'bilevel.v',
      ['--compression', 'ccittfax4', '--bitdepth', '1', '--miniswhite'],
      { bands: 1, dtype: 'uint8' },
    ],
    ['16 bits', 'deep.v', [...tiles, '--compression', 'deflate'], { bands: 3, dtype: 'uint16' }],
    ['float', 'float.v', [...tiles, '--compression', 'lzw', '--predictor', 'none'], { bands: 3, dtype: 'float32' }],
    [
      'float with its predictor',
      'float.v',
      [...tiles, '--compression', 'deflate', '--predictor', 'float'],
      { bands: 3, dtype: 'float32' },
    ],
    ['five bands', 'five.v', [...tiles, '--compression', 'lzw'], { bands: 5, dtype: 'uint8' }],
  ])('%s', async (name, from, options, { bands, dtype, tolerance = 0, shownAs }) => {
    const stem = join(folder, name.replaceAll(/\W/g, '-'));
    await vips('tiffsave', join(folder, from), `${stem}.tif`, ...options);
    const shown = shownAs === undefined ? `${stem}.tif` : `${stem}.v`;
    if (shownAs !== undefined) await vips('colourspace', `${stem}.tif`, shown, shownAs);
    await vips('rawsave', shown, `${stem}.raw`);
    const bytes = await readFile(`${stem}.raw`);
    const expected =
      dtype === 'uint16'
        ? readers.Uint16Array(bytes)
        : dtype === 'float32'
          ? readers.Float32Array(bytes)
          : readers.Uint8Array(bytes);
    const source = await tiffSource.open(fileInput(`${stem}.tif`));
    try {
      expect({ bands: source.metadata.bandCount, dtype: source.metadata.dtype }).toEqual({ bands, dtype });
      expect(worstDifference(await wholeLevel(source), expected)).toBeLessThanOrEqual(tolerance * (dtype === 'uint16' ? 257 : 1));
    } finally {
      await source.close();
    }
  });
});

const side = 32;
const ramp = Buffer.from(Array.from({ length: side * side }, (_, i) => ((i % side) * 5 + Math.floor(i / side)) & 255));
const gray = grayTags(side, side, side);
const rgb: Record<number, TagValue> = { ...gray, 258: { short: [8, 8, 8] }, 262: { short: [2] }, 277: { short: [3] } };
const openBytes = (tags: Record<number, TagValue>, ...chunks: Uint8Array[]) =>
  tiffSource.open(memoryInput(writeTiff([{ tags, chunks }])));

/** A zstd frame (RFC 8878) of one raw block and one that repeats a byte. */
function zstdFrame(bytes: Uint8Array, repeated: { byte: number; count: number }): Buffer {
  const frame = Buffer.alloc(9);
  frame.writeUInt32LE(0xfd2fb528, 0);
  // A single segment whose content size takes 4 bytes.
  frame.writeUInt8(0b1010_0000, 4);
  frame.writeUInt32LE(bytes.length + repeated.count, 5);
  const blockHeader = (size: number, type: number, last: number) => {
    const header = Buffer.alloc(3);
    header.writeUIntLE((size << 3) | (type << 1) | last, 0, 3);
    return header;
  };
  return Buffer.concat([
    frame,
    blockHeader(bytes.length, 0, 0),
    bytes,
    blockHeader(repeated.count, 1, 1),
    Buffer.from([repeated.byte]),
  ]);
}

describe('files written by the tests', () => {
  it('are read with zstd', async () => {
    const half = ramp.subarray(0, ramp.length / 2);
    const frame = zstdFrame(half, { byte: 77, count: ramp.length / 2 });
    const source = await openBytes({ ...gray, 259: { short: [50000] } }, frame);
    expect(await wholeLevel(source)).toEqual([...half, ...new Uint8Array(ramp.length / 2).fill(77)]);
    const cut = await openBytes({ ...gray, 259: { short: [50000] } }, frame.subarray(0, 100));
    await expect(cut.readTile({ level: 0, x: 0, y: 0, frame: 0 })).rejects.toMatchObject({ code: 'tile-source' });
  });

  it('are read with JPEG 2000 as Aperio writes it: RGB under 33005, YCbCr under 33003', async () => {
    const colors = pattern(side, side, 3);
    const stored = await writeJpeg2000({ data: colors, width: side, height: side, components: 3 });
    const plain = await openBytes({ ...rgb, 259: { short: [33005] } }, stored);
    expect(worstDifference(await wholeLevel(plain), colors)).toBe(0);
    const converted = await openBytes({ ...rgb, 259: { short: [33003] } }, stored);
    const expected = Array.from({ length: side * side }, (_, i) => {
      const [y = 0, cb = 0, cr = 0] = colors.subarray(i * 3, i * 3 + 3);
      const clamp = (value: number) => Math.min(255, Math.max(0, Math.round(value)));
      return [
        clamp(y + 1.402 * (cr - 128)),
        clamp(y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128)),
        clamp(y + 1.772 * (cb - 128)),
      ];
    }).flat();
    expect(worstDifference(await wholeLevel(converted), expected)).toBe(0);
    const broken = await openBytes({ ...rgb, 259: { short: [33005] } }, Buffer.from(stored).fill(0x5a, 200));
    const outcome = await broken.readTile({ level: 0, x: 0, y: 0, frame: 0 }).then(
      ({ data }) => data.length,
      (error: { code?: string }) => error.code,
    );
    expect([side * side * 3, 'tile-source']).toContain(outcome);
  });

  it('are read with JPEG 2000 and alpha', async () => {
    const colors = pattern(side, side, 4);
    const tags = { ...rgb, 277: { short: [4] }, 258: { short: [8, 8, 8, 8] }, 338: { short: [2] }, 259: { short: [33005] } };
    const source = await openBytes(tags, await writeJpeg2000({ data: colors, width: side, height: side, components: 4 }));
    expect(source.metadata.bandCount).toBe(4);
    expect(worstDifference(await wholeLevel(source), colors)).toBe(0);
  });

  it.each<[string, Record<number, TagValue>, string]>([
    ['of five samples', { 277: { short: [5] }, 258: { short: [8, 8, 8, 8, 8] } }, '5 samples per pixel is not supported'],
    ['with planes stored apart', { 284: { short: [2] } }, 'planes stored apart'],
    ['of L*a*b*', { 262: { short: [8] } }, 'photometric interpretation 8'],
  ])('are refused at once with JPEG 2000 %s', async (_what, tags, message) => {
    const chunks = [0, 1, 2].map(() => Buffer.alloc(100));
    await expect(openBytes({ ...rgb, 259: { short: [34_712] }, ...tags }, ...chunks)).rejects.toThrow(message);
  });

  it('show L*a*b* of 16 bits as libvips does, and of 8 bits as the same colors', async () => {
    const shallow = pattern(side, side, 3);
    const deep = Int16Array.from(shallow, (value, i) => (i % 3 === 0 ? value * 257 : ((value << 24) >> 24) * 256));
    const lab = (bits: number) => ({ ...rgb, 258: { short: [bits, bits, bits] }, 262: { short: [8] } });
    const file = writeTiff([{ tags: lab(16), chunks: [new Uint8Array(deep.buffer)] }]);
    const expected = await sharp(file).toColourspace('srgb').raw().toBuffer();
    expect(worstDifference(await wholeLevel(await tiffSource.open(memoryInput(file))), expected)).toBeLessThanOrEqual(1);
    expect(worstDifference(await wholeLevel(await openBytes(lab(8), shallow)), expected)).toBeLessThanOrEqual(1);
    // L* 50, a* 20, b* -20 is a violet gray.
    const violet = Buffer.alloc(side * side * 3, Buffer.from([128, 20, 236]));
    expect(worstDifference((await wholeLevel(await openBytes(lab(8), violet))).slice(0, 3), [137, 109, 153])).toBeLessThanOrEqual(
      1,
    );
  });

  it('are read with CCITT group 3, and with group 4 of libvips', async () => {
    // White and black runs of T.4 for rows of 32 pixels: 16 white, 16 black; or 32 white.
    const [eol, half, white] = ['000000000001', '101010' + '0000010111', '00011011'];
    const rows = Array.from({ length: side }, (_, y) => eol + (y % 2 === 0 ? half : white));
    const bits = rows.join('').padEnd(Math.ceil(rows.join('').length / 8) * 8, '0');
    const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
    const oneBit = { 258: { short: [1] }, 262: { short: [0] }, 292: { long: [0] } };
    const strips: Record<number, TagValue> = { ...gray, ...oneBit, 259: { short: [3] }, 278: { long: [side] } };
    delete strips[322];
    delete strips[323];
    const source = await openBytes(strips, bytes);
    const expected = Array.from({ length: side * side }, (_, i) => (Math.floor(i / side) % 2 === 0 && i % side >= 16 ? 0 : 255));
    expect(await wholeLevel(source)).toEqual(expected);

    const picture = sharp(Buffer.from(expected), { raw: { width: side, height: side, channels: 1 } }).toColourspace('b-w');
    const group4 = await picture.tiff({ compression: 'ccittfax4', bitdepth: 1, predictor: 'none' }).toBuffer();
    expect(await wholeLevel(await tiffSource.open(memoryInput(group4)))).toEqual(expected);
  });

  it('are read with floats under their predictor', async () => {
    const samples = Float32Array.from(ramp, (value, i) => value * 0.37 - i);
    const view = new DataView(samples.buffer);
    const bytes = Buffer.alloc(samples.length * 4);
    for (let y = 0; y < side; y += 1) {
      // Each row has all highest bytes, then the next ones, stored as differences of neighbors.
      const row = Buffer.alloc(side * 4);
      for (let x = 0; x < side; x += 1) {
        for (let plane = 0; plane < 4; plane += 1) row[plane * side + x] = view.getUint8((y * side + x) * 4 + 3 - plane);
      }
      for (let i = 0; i < row.length; i += 1) bytes[y * side * 4 + i] = row[i]! - (row[i - 1] ?? 0);
    }
    const float = { 258: { short: [32] }, 339: { short: [3] }, 317: { short: [3] }, 259: { short: [8] } };
    const source = await openBytes({ ...gray, ...float }, deflateSync(bytes));
    expect(source.metadata.dtype).toBe('float32');
    expect(await wholeLevel(source)).toEqual([...samples]);
  });

  it('are read with separate planes, each compressed, of 8 and 16 bits', async () => {
    const planes = [0, 60, 120].map((offset) => Buffer.from(ramp.map((value) => (value + offset) & 255)));
    const expected = Array.from(ramp, (_, i) => planes.map((plane) => plane[i]!)).flat();
    const apart = { ...rgb, 259: { short: [8] }, 284: { short: [2] } };
    const shallow = await openBytes(apart, ...planes.map((plane) => deflateSync(plane)));
    expect(await wholeLevel(shallow)).toEqual(expected);
    const wide = planes.map((plane) => deflateSync(new Uint8Array(Uint16Array.from(plane, (value) => value * 200).buffer)));
    const deep = await openBytes({ ...apart, 258: { short: [16, 16, 16] } }, ...wide);
    expect(deep.metadata.dtype).toBe('uint16');
    expect(await wholeLevel(deep)).toEqual(expected.map((value) => value * 200));
  });
});
