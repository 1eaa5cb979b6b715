import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { wireFrames } from '../../../../src/tilesource/metadata.js';
import { loadZstdCompressor } from '../../../../src/tilesource/codecs/zstd-library.js';
import { cziSource } from '../../../../src/tilesource/sources/czi/czi-source.js';
import { writeCzi, type WrittenBlock, type WrittenCzi } from '../../../support/writers/czi-writer.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz, random } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { pattern } from '../../../support/images/pattern.js';
import { samplesOf } from '../../../support/images/samples.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

const compress = await loadZstdCompressor();

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: 'uint8' | 'uint16' | 'float32';
  frames: { axes: Record<string, number>; raw: string }[];
}

const fixtures = writeFixtures<Written[]>('czi.py', ['pylibCZIrw', 'numpy']);
const folder = mkdtempSync(join(tmpdir(), 'czi-'));
afterAll(() => {
  fixtures?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const open = (written: WrittenCzi) => cziSource.open(memoryInput(writeCzi(written).file, 'memory.czi'));
const gray = (block: Partial<WrittenBlock> & Pick<WrittenBlock, 'storedWidth' | 'storedHeight' | 'data'>): WrittenBlock => ({
  axes: { C: 0, M: 0 },
  left: 0,
  top: 0,
  pixelType: 0,
  compression: 0,
  ...block,
});

/** The JPEG XR picture with a code stream that claims 5000 by 5000 pixels. Its directory claims as many columns and rows as `declared`, if given. */
function largeJpegXr(declared?: number): Buffer {
  const file = Buffer.from(jpegXr);
  const header = file.indexOf('WMPHOTO');
  const isShort = (file[header + 10]! & 0x80) !== 0;
  for (const side of [0, 1]) {
    if (isShort) file.writeUInt16BE(4999, header + 12 + 2 * side);
    else file.writeUInt32BE(4999, header + 12 + 4 * side);
  }
  if (declared === undefined) return file;
  const directory = file.readUInt32LE(4);
  for (let at = directory + 2; at < directory + 2 + 12 * file.readUInt16LE(directory); at += 12) {
    if (![0xbc_80, 0xbc_81].includes(file.readUInt16LE(at))) continue;
    file.writeUInt16LE(4, at + 2);
    file.writeUInt32LE(declared, at + 8);
  }
  return file;
}

/** A JPEG XR picture of 40 by 24 pixels of 16 bits: `x * 900 + y * 37`. */
const jpegXr = Buffer.from(
  'SUm8ASAAAAAkw91vA07+S7GFPXd2jckLAAAAAAAAAAAIAAG8AQAQAAAACAAAAAK8BAABAAAAAAAAAIC8BAABAAAAKAAAAIG8BAABAAAAGAAAAIK8CwABAAAAAADAQoO8CwABAAAA' +
    'AADAQsC8BAABAAAAhgAAAMG8BAABAAAAWQIAAAAAAABXTVBIT1RPABEAwAIAJwAXAACAIAgAAARv/wABAAABAIWkfI+EzBhfWwBhAAhTA8IwAAAAAAA2F9bowmZMKYBhCA2F9bow' +
    'mZMKYBhCAhhMyQAhAQwmZQBCA2F9bzCZmYUwCCEB4X1uYTMphTAQhAQwmZgCEBDCZmYQgIYTMzCEBDCZmQQgIYTMyCEBsJmTCEBsJmTCEBsJmTCEBsJmTCEBsJmSCEBhTBACGF9b' +
    'QhCmAABgAAAAAAB4TMmF9bzCAwhTA4TMjC+tzCAwhTAsJmYQgNhMzCEB4TMjC+tzCAwhTA4TMjC+txhAQhTAsJmYQgNhMzCEBsJmYQgNhMzCEBsJmYQgPCZkIQHhMyEIDwmZCEB4' +
    'TMhCA8JmQhAYTgLghhamaYVwRBChmAAAAAAAMAB4TMjCAjC+twhTA4TMjCAjC+twhTA4TMhCA8JmQhAeEzIQgPCZkIQHhMyEIDwmZCEB4TMhCA8JmQhAeEzIQgPCZkIQHhMyEIDw' +
    'mZCEB4TMhCA8JmQhAe+Y2ExKYSIIIQcCAAAAAAHiOEzNCA0L63GFMDCZmhAaF9bjCmBhMyMIDhMyMIDhMzQgNC+txhTAwmZoQGhfW4wpgYTMjCA4TMjCA38xsJiUwkQQQg4EAAAA' +
    'AAPSwmZoQGhfW4wpgYTM0IDQvrcYUwMJmRhAcJmRhAcJmaEBoX1uMKYGEzNCA0L63GFMDCZkYQHCZkYQF/MbCgomEyRBCMQAAAAD0sJmaEBoX1uMKYGEzNCA0L63GFMDCZkYQHCZ' +
    'kYQHCZkYQHCZkYQHCZkYQHCZkYQHCZkYQE',
  'base64',
);

const labelCzi = writeCzi({
  blocks: [gray({ storedWidth: 30, storedHeight: 20, pixelType: 3, data: pattern(30, 20, 3) })],
}).file;
const thumbnail = await sharp(pattern(64, 48, 3), { raw: { width: 64, height: 48, channels: 3 } })
  .jpeg()
  .toBuffer();
const slideXml =
  '<Information><Image><ObjectiveSettings><ObjectiveRef Id="Objective:1"/></ObjectiveSettings><Dimensions><Channels>' +
  '<Channel Id="Channel:0" Name="Brightfield"><Color>#FF10A0FF</Color></Channel></Channels></Dimensions></Image>' +
  '<Instrument><Objectives><Objective Id="Objective:0"><NominalMagnification>5</NominalMagnification></Objective>' +
  '<Objective Id="Objective:1"><NominalMagnification>20</NominalMagnification></Objective></Objectives></Instrument></Information>' +
  '<Scaling><Items><Distance Id="X"><Value>2.5E-07</Value></Distance><Distance Id="Y"><Value>5e-7</Value></Distance></Items></Scaling>';

/** Four tiles of full resolution and one reduced by two, at an odd place. */
function pyramidFile(): WrittenCzi {
  const [width, height] = [640, 400];
  const full = pattern(width, height, 1);
  const tile = (left: number, top: number): WrittenBlock => {
    const data = Buffer.alloc(320 * 200);
    for (let y = 0; y < 200; y++) full.copy(data, y * 320, (top + y) * width + left, (top + y) * width + left + 320);
    return gray({ left: left - 33, top: top + 7, storedWidth: 320, storedHeight: 200, data: compress(data, 3), compression: 5 });
  };
  const half = Buffer.alloc(320 * 200, 0).map((_, i) => (i * 7) & 255);
  return {
    blocks: [
      ...[0, 320].flatMap((left) => [0, 200].map((top) => tile(left, top))),
      gray({ left: -33, top: 7, width, height, storedWidth: 320, storedHeight: 200, data: half }),
    ],
    xml: slideXml,
    attachments: [
      { name: 'Label', type: 'CZI', data: labelCzi },
      { name: 'Thumbnail', type: 'JPG', data: thumbnail },
      { name: 'EventList', type: 'CZEVL', data: Buffer.alloc(16) },
    ],
  };
}

const pyramidPath = join(folder, 'pyramid.czi');
writeFileSync(pyramidPath, writeCzi(pyramidFile()).file);
describeTileSource(() => cziSource, pyramidPath, { describe, it });

describe.runIf(fixtures !== null)("CZI files written by ZEISS's library", () => {
  for (const written of fixtures?.manifest ?? []) {
    const path = join(fixtures?.folder ?? '', written.name);
    it(`${written.name} has the pixels that its reader sees, on every frame`, async () => {
      const source = await cziSource.open(fileInput(path));
      const { width, height, bands, dtype, frames } = written;
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      expect(source.metadata.frames?.map(({ axes }) => axes) ?? [{}]).toEqual(frames.map(({ axes }) => axes));
      for (const [frame, { raw }] of frames.entries()) {
        const expected = samplesOf(readFileSync(join(fixtures?.folder ?? '', raw)), dtype);
        const actual = await wholeLevel(source, source.metadata.levels - 1, frame);
        expect(worstDifference(actual, expected), `frame ${frame}`).toBe(0);
      }
      await source.close();
    });
  }

  it('names channels, with their colors, and gives the scale', async () => {
    const source = await cziSource.open(fileInput(join(fixtures?.folder ?? '', 'axes.czi')));
    const { frames, channels, mmX, mmY } = source.metadata;
    expect([mmX, mmY]).toEqual([1.1e-4, 2.2e-4]);
    const wire = wireFrames(frames ?? [], channels);
    expect(wire).toMatchObject({
      channels: ['DAPI', 'FITC'],
      channelmap: { DAPI: 0, FITC: 1 },
      IndexRange: { IndexC: 2, IndexZ: 3, IndexT: 2 },
      IndexStride: { IndexC: 1, IndexZ: 2, IndexT: 6 },
    });
    const last = { Frame: 11, Index: 5, IndexC: 1, IndexZ: 2, IndexT: 1, Channel: 'FITC', ChannelColor: '#00ff10' };
    expect(wire.frames?.at(-1)).toEqual(last);
    const { openslide } = (await source.internalMetadata?.()) ?? {};
    expect(openslide).toMatchObject({
      'openslide.mpp-x': '0.11',
      'zeiss.Scaling.Items.X.Value': '1.1e-07',
      'zeiss.Information.Image.Dimensions.Channels.Channel:0.Name': 'DAPI',
    });
    await source.close();
  });

  if (fixtures !== null) describeTileSource(() => cziSource, join(fixtures.folder, 'gray16-zstd1.czi'), { describe, it });
});

describe('CZI', () => {
  it('draws a level from the reduced layer that the file holds, exactly, and makes none that it lacks', async () => {
    const written = pyramidFile();
    const source = await open(written);
    expect(source.metadata).toMatchObject({ sizeX: 640, sizeY: 400, levels: 2, magnification: 20, mmX: 2.5e-4, mmY: 5e-4 });
    expect(source.populatedLevels).toEqual([0, 1]);
    expect(worstDifference(await wholeLevel(source, 1), pattern(640, 400, 1))).toBe(0);
    expect(worstDifference(await wholeLevel(source, 0), written.blocks[4]!.data)).toBe(0);
    await source.close();
    const plain = await open({ ...written, blocks: written.blocks.slice(0, 4) });
    expect(plain.populatedLevels).toEqual([1]);
    await plain.close();
  });

  it('places a reduced layer to within a twentieth of a pixel, whatever its reduction and offset', async () => {
    // Half black, half white: the edge is at 1350 of 2700 pixels.
    const edge = (scale: number, left: number): WrittenBlock => {
      const [width, height] = [Math.ceil(900 / scale), 4];
      const data = Buffer.alloc(width * height).map((_, i) => {
        const from = left + (i % width) * scale;
        return Math.round(255 * Math.min(1, Math.max(0, (from + scale - 1350) / scale)));
      });
      const size = { width: width * scale, height: height * scale };
      return gray({ left, ...size, storedWidth: width, storedHeight: height, data });
    };
    const base = [0, 901, 1802].map((left) => edge(1, left)).map((block) => ({ ...block, height: 12, storedHeight: 12 }));
    for (const block of base) block.data = Buffer.concat([block.data, block.data, block.data]);
    for (const scale of [3, 2]) {
      const source = await open({ blocks: [...base, ...[0, 901, 1802].map((left) => edge(scale, left))] });
      const { levels } = source.metadata;
      const level = levels - 1 - Math.ceil(Math.log2(scale));
      expect(source.populatedLevels).toContain(level);
      const step = 2 ** (levels - 1 - level);
      const pixels = await wholeLevel(source, level);
      const columns = Math.ceil(source.metadata.sizeX / step);
      // The position of the edge by the average of the row around it.
      const row = pixels.slice(0, columns);
      const first = Math.floor(1350 / step) - 8;
      const dark = row.slice(first, first + 16).reduce((sum, value) => sum + (255 - value) / 255, 0);
      expect(Math.abs(first + dark - 1350 / step), `reduced by ${scale}`).toBeLessThan(0.05);
      await source.close();
    }
  });

  it('decodes JPEG, JPEG XR, and BGR of four samples', async () => {
    const picture = pattern(64, 48, 3);
    const jpeg = await sharp(picture, { raw: { width: 64, height: 48, channels: 3 } })
      .jpeg({ quality: 95, chromaSubsampling: '4:4:4' })
      .toBuffer();
    const color = await open({ blocks: [gray({ storedWidth: 64, storedHeight: 48, pixelType: 3, compression: 1, data: jpeg })] });
    expect(worstDifference(await wholeLevel(color), picture)).toBeLessThan(24);
    await color.close();

    const deep = await open({
      blocks: [gray({ storedWidth: 40, storedHeight: 24, pixelType: 1, compression: 4, data: jpegXr })],
    });
    const expected = Array.from({ length: 40 * 24 }, (_, i) => (i % 40) * 900 + Math.floor(i / 40) * 37);
    expect(worstDifference(await wholeLevel(deep), expected)).toBe(0);
    await deep.close();

    const bgra = Buffer.from([1, 2, 3, 0, 4, 5, 6, 255]);
    const four = await open({ blocks: [gray({ storedWidth: 2, storedHeight: 1, pixelType: 9, data: bgra })] });
    expect(await wholeLevel(four)).toEqual([3, 2, 1, 6, 5, 4]);
    await four.close();
  });

  it('shows gray and color planes of one file alike', async () => {
    const source = await open({
      blocks: [
        gray({ storedWidth: 2, storedHeight: 1, data: Buffer.from([10, 20]) }),
        gray({
          axes: { C: 1, M: 0 },
          storedWidth: 2,
          storedHeight: 1,
          pixelType: 4,
          data: Buffer.from([1, 0, 2, 0, 3, 1, 4, 0, 5, 0, 6, 0]),
        }),
      ],
    });
    expect(source.metadata).toMatchObject({ dtype: 'uint16', bandCount: 3 });
    expect(await wholeLevel(source, 0, 0)).toEqual([10, 10, 10, 20, 20, 20]);
    expect(await wholeLevel(source, 0, 1)).toEqual([259, 2, 1, 6, 5, 4]);
    await source.close();
  });

  it('names scenes as the file does, whatever the order of its numbers', async () => {
    const scenes = [`<Scene Index="7" Name="Right"/>`, `<Scene Index="2" Name="Left"/>`, `<Scene Index="3"/>`].join('');
    const blocks = [7, 2, 3].map((S) =>
      gray({ axes: { C: 0, S, M: 0 }, storedWidth: 2, storedHeight: 1, data: Buffer.from([S, S]) }),
    );
    const dimensions = `<S><Scenes>${scenes}</Scenes></S>`;
    const xml = `<Information><Image><Dimensions>${dimensions}</Dimensions></Image></Information>`;
    const source = await open({ blocks, xml });
    expect(source.metadata.frames).toEqual([
      { axes: { XY: 0 }, position: 'Left' },
      { axes: { XY: 1 } },
      { axes: { XY: 2 }, position: 'Right' },
    ]);
    const { czi } = (await source.internalMetadata?.()) ?? {};
    expect(czi).toMatchObject({ scenes: [{ scene: 2, name: 'Left' }, { scene: 3 }, { scene: 7, name: 'Right' }] });
    await source.close();
  });

  it('has label and thumbnail as associated images', async () => {
    const source = await open(pyramidFile());
    expect(source.associatedImages).toEqual(['label', 'thumbnail']);
    const label = await source.readAssociatedImage?.('label');
    const blueFirst = Uint8Array.from(pattern(30, 20, 3));
    for (let i = 0; i < blueFirst.length; i += 3) [blueFirst[i], blueFirst[i + 2]] = [blueFirst[i + 2]!, blueFirst[i]!];
    expect(worstDifference(label?.raster.data ?? [], blueFirst)).toBe(0);
    expect((await source.readAssociatedImage?.('thumbnail'))?.raster).toMatchObject({ width: 64, height: 48, bands: 3 });
    const { openslide, czi } = (await source.internalMetadata?.()) ?? {};
    expect(openslide).toMatchObject({
      'openslide.objective-power': '20',
      'openslide.mpp-x': '0.25',
      'openslide.vendor': 'zeiss',
    });
    expect(czi).toMatchObject({ version: '1.0', subBlocks: 5, scenes: [{ scene: 0, left: 0, top: 0, width: 640, height: 400 }] });
    await source.close();
  });

  it('reads little of a large file for a tile', async () => {
    const blocks = Array.from({ length: 16 }, (_, i) =>
      gray({ axes: { M: i }, left: 3000 * i, storedWidth: 3000, storedHeight: 3000, data: Buffer.alloc(9_000_000, i) }),
    );
    const input = memoryInput(writeCzi({ blocks }).file, 'large.czi');
    const source = await cziSource.open(input);
    const tile = await source.readTile({ level: source.metadata.levels - 1, x: 30, y: 2, frame: 0 });
    expect(tile.data.every((value) => value === 5)).toBe(true);
    expect(input.bytesRead()).toBeLessThan(16 * 9_000_000 * 0.02);
    await source.close();
  });

  it.each([
    ['pixels of complex numbers', { pixelType: 10 }, 'Gray64ComplexFloat'],
    ['LZW', { compression: 2 }, 'LZW'],
    ['Zstandard that claims more than the sub-block', { compression: 5, data: compress(Buffer.alloc(1000), 1) }, '1000 bytes'],
    ['an unknown header of Zstandard', { compression: 6, data: Buffer.from([9, 1, 1]) }, 'unknown header'],
    ['JPEG XR that is cut short', { compression: 4, data: jpegXr.subarray(0, 700) }, 'not a complete JPEG XR'],
    [
      'JPEG XR whose code stream is larger than its directory says',
      { compression: 4, data: largeJpegXr() },
      'not a complete JPEG XR',
    ],
    [
      'JPEG XR far larger than its sub-block',
      { compression: 4, data: largeJpegXr(5000) },
      '5000 by 5000 pixels, which is too large',
    ],
    ['a sub-block too large to be decoded', { compression: 5, storedWidth: 2 ** 20, storedHeight: 2 ** 20 }, 'too large'],
  ])('refuses %s by name', async (_name, change, message) => {
    const block = { ...gray({ storedWidth: 4, storedHeight: 4, data: Buffer.alloc(16) }), ...change };
    await expectRefused(cziSource, memoryInput(writeCzi({ blocks: [block] }).file, 'memory.czi'), message);
  });

  it.each([
    [
      'more sub-blocks than its bytes hold',
      (file: Buffer, at: number) => file.writeInt32LE(0x7f_ff_ff_ff, at + 32),
      'claims 2147483647',
    ],
    [
      'a sub-block of many dimensions',
      (file: Buffer, at: number) => file.writeInt32LE(1_000_000, at + 32 + 128 + 28),
      'dimensions',
    ],
    ['sub-blocks in other files', (file: Buffer, at: number) => file.writeInt32LE(3, at + 32 + 128 + 14), 'other files'],
  ])('refuses a directory with %s', async (_name, change, message) => {
    const { file } = writeCzi({ blocks: [gray({ storedWidth: 4, storedHeight: 4, data: Buffer.alloc(16) })] });
    change(file, Number(file.readBigInt64LE(32 + 52)));
    await expect(cziSource.open(memoryInput(file, 'bomb.czi'))).rejects.toThrow(message);
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const next = random(5);
    const noise = Buffer.from(Array.from({ length: 40 * 24 * 2 }, () => Math.floor(next() * 256)));
    const block = (compression: number, data: Uint8Array, m: number): WrittenBlock =>
      gray({ axes: { C: m % 2, S: m, M: m }, left: m * 40, storedWidth: 40, storedHeight: 24, pixelType: 1, compression, data });
    const packed = compress(noise, 3);
    const kinds: [string, WrittenCzi][] = [
      ['plain, with attachments', pyramidFile()],
      [
        'Zstandard',
        { blocks: [block(5, packed, 0), block(6, Buffer.concat([Buffer.from([3, 1, 1]), packed]), 1)], xml: slideXml },
      ],
      ['JPEG XR', { blocks: [block(4, jpegXr, 0), block(4, jpegXr, 1)] }],
    ];
    const files = new Map(kinds.map(([kind, written]) => [kind, { ...writeCzi(written), name: 'fuzz.czi' }]));
    const result = await fuzz(cziSource, files, { count: 150 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});
