import { readFileSync, rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { loadWithoutListeners } from '../../../../src/tilesource/codecs/threads/without-listeners.js';
import { limitWasmMemory } from '../../../../src/tilesource/codecs/threads/limited-wasm.js';
import type { TileSourceDefinition } from '../../../../src/tilesource/tile-source.js';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { heifSource } from '../../../../src/tilesource/sources/pictures/heif-source.js';
import { icoSource } from '../../../../src/tilesource/sources/pictures/ico-source.js';
import { jpegXlSource } from '../../../../src/tilesource/sources/pictures/jpegxl-source.js';
import { jpegXrSource } from '../../../../src/tilesource/sources/pictures/jpegxr-source.js';
import { pcxSource } from '../../../../src/tilesource/sources/pictures/pcx-source.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { pattern } from '../../../support/images/pattern.js';
import { writePcx } from '../../../support/writers/pcx-writer.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { samplesOf } from '../../../support/images/samples.js';
import { grayTags, writeTiff, type TagValue } from '../../../support/writers/tiff-writer.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

interface Written {
  name: string;
  source: string;
  raw: string;
  tolerance: number;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
}

const sources: Readonly<Record<string, TileSourceDefinition>> = {
  jpegxl: jpegXlSource,
  jpegxr: jpegXrSource,
  heif: heifSource,
  ico: icoSource,
  pcx: pcxSource,
  tiff: tiffSource,
};

const fixtures = writeFixtures<Written[]>('pictures.py', ['imagecodecs', 'tifffile', 'pillow_heif', 'PIL', 'numpy']);
const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
afterAll(() => {
  fixtures?.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Lossless JPEG XL of 32 by 24 pixels: red `x * 8`, green `y * 10`, blue `(x + y) * 4`. */
const jpegXl = Buffer.from(
  '/wrFQCQIBAEAvAFLKKLcluNguxu7oXCQCgffFRQkJByIRlAAIsbKhdNiZsw4SYUNpOcYFYPCGByBGwEAAUKAAYDENo3pALZe+v//l/4AwGwfAACYr6IcX3VmMaUzAyAZKwSgkoRAxH7ynoEQ6QTStcUzEmU4tQDqONY=',
  'base64',
);
/** The same in lossy HEIC. */
const heic = Buffer.from(
  'AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9jAAAAAERAAAEAAQAAAAABoAABAAAAAAAAAFEA' +
    'AAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/GlwcnAAAADcaXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNw' +
    'AAADAJAAAAMAAAMAHroCQGEAAQApQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqrprm4CGgwIAAAAyAAAADAIRiAAEABkQBwXPBiQAAABNjb2xybmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABA' +
    'AAAAQAAAAChjbGFwAAAAIAAAAAEAAAAYAAAAAf///+AAAAAC////2AAAAAIAAAAQcGl4aQAAAAADCAgIAAAAGGlwbWEAAAAAAAAAAQABBYECAwWEAAAAWW1kYXQAAABNKAGvGSFvZ8DvXldI' +
    '+DNAhe3mBxdKOg1soh3maZfxVxrZcntpSiZVogU0pQygoc96ERvXqz8ZoK/dPsc6Lp38fnTc5pqmEvSxoo+hqGw=',
  'base64',
);
/** LERC of 32 by 24 bytes: `x * 2 + y`. */
const lerc = Buffer.from(
  'TGVyYzIgBAAAAB68PlEYAAAAIAAAAAEAAAAAAwAACAAAAMkAAAABAAAAAAAAAAAA4D8AAAAAAAAAAAAAAAAAQFVAAAAAAABVAAEEAAAAAAEAAAAAAAADAAAAggMaAAAAGP///z////+/////' +
    '3////+/////3////+/////3////+//9/////v////9/////v////9/////v////9/////v//f////7/////f////7/////f////7/////f////7//wD///8AAAAA',
  'base64',
);

/** Lossless JPEG XR of 64 by 16 bytes: 128, 8 more for each 16 pixels to the right, 64 more in the lower half. */
const jpegXr = Buffer.from(
  'SUm8ASAAAAAkw91vA07+S7GFPXd2jckIAAAAAAAAAAAIAAG8AQAQAAAACAAAAAK8BAABAAAAAAAAAIC8BAABAAAAQAAAAIG8BAABAAAAEAAAAIK8CwABAAAAAADAQoO8CwABAAAAAADAQsC8BAAB' +
    'AAAAhgAAAMG8BAABAAAAQwAAAAAAAABXTVBIT1RPABEAwAEAPwAPAIAgCAAABG//AAEAAAEAwA2EJCAaAAAAAAAAABIQAAAAAAAAAABQAAAAAAAANAAAAAAE',
  'base64',
);
const jpegXrValues = Array.from({ length: 16 * 64 }, (_, at) => 128 + Math.floor((at % 64) / 16) * 8 + (at >= 8 * 64 ? 64 : 0));

/** The HEIC file, in which no property belongs to the picture. */
function withoutSize(): Buffer {
  const file = Buffer.from(heic);
  file.writeUInt32BE(0x80, 405);
  return file;
}

/** A picture 1 pixel wide and 65,536 high, in which each row claims to have 65,535 bytes. */
function longRows(): Buffer {
  const file = pcx(70, 40);
  file.writeUInt16LE(0, 8);
  file.writeUInt16LE(65_535, 10);
  file.writeUInt16LE(65_535, 66);
  return file;
}

/** A PCX of 24 bits. */
const pcx = (width: number, height: number) => writePcx({ width, height }, pattern(width * 3, height, 1));

/** A JPEG XR whose directory claims 65,536 by 65,536 pixels. */
function hugeJpegXr(): Buffer {
  const file = Buffer.from(jpegXr);
  for (const tag of [0xbc_80, 0xbc_81]) file.writeUInt32LE(65_536, file.indexOf(Buffer.of(tag & 0xff, tag >> 8, 4, 0)) + 8);
  return file;
}

/** An icon of one picture. */
function ico(picture: Uint8Array, side: number): Buffer {
  const head = Buffer.alloc(22);
  head.set([0, 0, 1, 0, 1, 0, side, side]);
  head.writeUInt16LE(32, 12);
  head.writeUInt32LE(picture.length, 14);
  head.writeUInt32LE(22, 18);
  return Buffer.concat([head, picture]);
}

const icon = ico(
  await sharp({ create: { width: 32, height: 32, channels: 4, background: '#3456' } })
    .png()
    .toBuffer(),
  32,
);

const samples: [TileSourceDefinition, string, Buffer][] = [
  [jpegXlSource, 'sample.jxl', jpegXl],
  [jpegXrSource, 'sample.jxr', jpegXr],
  [heifSource, 'sample.heic', heic],
  [icoSource, 'sample.ico', icon],
  [pcxSource, 'sample.pcx', pcx(70, 40)],
];
for (const [source, name, bytes] of samples) {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  describe(`the source ${source.name}`, () => describeTileSource(() => source, path, { describe, it }));
}

describe.runIf(fixtures !== null)('pictures written by other programs', () => {
  for (const { name, source: reader, raw, tolerance, width, height, bands, dtype } of fixtures?.manifest ?? []) {
    it(`${name} has the pixels that its writer was given`, async () => {
      const source = await sources[reader]!.open(fileInput(join(fixtures!.folder, name)));
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      const expected = samplesOf(readFileSync(join(fixtures!.folder, raw)), dtype);
      expect(worstDifference(await wholeLevel(source), expected)).toBeLessThanOrEqual(tolerance);
      await source.close();
    });
  }
});

describe('pictures that are decoded as a whole', () => {
  const expected = Array.from({ length: 24 * 32 }, (_, at) => [at % 32, Math.floor(at / 32)] as const).flatMap(([x, y]) => [
    x * 8,
    y * 10,
    (x + y) * 4,
  ]);

  it.each([
    [jpegXlSource, jpegXl, 0],
    [heifSource, heic, 90],
  ])('have their pixels: $name', async (definition, bytes, tolerance) => {
    const source = await definition.open(memoryInput(bytes, 'a.bin'));
    expect(source.metadata).toMatchObject({ sizeX: 32, sizeY: 24, bandCount: 3, dtype: 'uint8', levels: 1 });
    expect(worstDifference(await wholeLevel(source), expected)).toBeLessThanOrEqual(tolerance);
    await source.close();
  });

  it('have their pixels: jpegxr', async () => {
    const source = await jpegXrSource.open(memoryInput(jpegXr, 'a.bin'));
    expect(source.metadata).toMatchObject({ sizeX: 64, sizeY: 16, bandCount: 1, dtype: 'uint8', levels: 1 });
    expect(await wholeLevel(source)).toEqual(jpegXrValues);
    await source.close();
  });

  it('are read in TIFF: LERC, JPEG XL, JPEG XR, and whole old-style JPEG', async () => {
    const jpeg = await sharp(pattern(32, 24, 3), { raw: { width: 32, height: 24, channels: 3 } })
      .jpeg({ quality: 95 })
      .toBuffer();
    const tags = (compression: number): Record<number, TagValue> => ({
      ...grayTags(32, 24, 32),
      323: { short: [24] },
      259: { short: [compression] },
    });
    const color = { 258: { short: [8, 8, 8] }, 262: { short: [2] }, 277: { short: [3] } };
    const open = (file: Buffer) => tiffSource.open(memoryInput(file));
    const packed = await open(writeTiff([{ tags: tags(34_887), chunks: [lerc] }]));
    expect(await wholeLevel(packed)).toEqual(Array.from({ length: 24 * 32 }, (_, at) => (at % 32) * 2 + Math.floor(at / 32)));
    const xl = await open(writeTiff([{ tags: { ...tags(50_002), ...color }, chunks: [jpegXl] }]));
    expect(await wholeLevel(xl)).toEqual(expected);
    for (const compression of [34_934, 22_610]) {
      const xrTags = { ...grayTags(64, 16, 64), 323: { short: [16] }, 259: { short: [compression] } };
      const xr = await open(writeTiff([{ tags: xrTags, chunks: [jpegXr] }]));
      expect(await wholeLevel(xr)).toEqual(jpegXrValues);
      await xr.close();
    }
    // The strip of the file holds the picture: its place is known when the file has been written once.
    const { 322: _width, 323: _height, ...strip } = tags(6);
    const old = (place: number[]) =>
      writeTiff([
        {
          tags: {
            ...strip,
            ...color,
            262: { short: [6] },
            278: { short: [24] },
            513: { long: place.slice(0, 1) },
            514: { long: place.slice(1) },
          },
          chunks: [jpeg],
        },
      ]);
    const at = old([0, 0]).indexOf(jpeg);
    const complete = await open(old([at, jpeg.length]));
    expect(await wholeLevel(complete)).toEqual([...(await sharp(jpeg).raw().toBuffer())]);
    await Promise.all([packed.close(), xl.close(), complete.close()]);
    await expect(open(old([0, 0]))).rejects.toThrow('without a whole picture');
  });

  it.each<[string, TileSourceDefinition, Buffer, string]>([
    ['a JPEG XL that ends too early', jpegXlSource, jpegXl.subarray(0, 60), 'JPEG XL'],
    ['a JPEG XR that ends too early', jpegXrSource, jpegXr.subarray(0, 180), 'is not a complete JPEG XR picture'],
    ['a JPEG XR of 4000 megapixels', jpegXrSource, hugeJpegXr(), 'at most 67108864 are supported'],
    ['a HEIC without its data', heifSource, heic.subarray(0, 430), 'HEIF'],
    ['a HEIC whose picture has no size', heifSource, withoutSize(), 'a picture of 0 by 0 pixels'],
    ['an icon whose picture is outside the file', icoSource, icon.subarray(0, 60), 'outside the file'],
    [
      'an icon of 60,000 pictures',
      icoSource,
      Buffer.concat([Buffer.from([0, 0, 1, 0, 0x60, 0xea]), icon]),
      'claims 60000 pictures',
    ],
    ['a PCX of rows that end too early', pcxSource, pcx(70, 40).subarray(0, 3000), 'Truncated PCX'],
    ['a PCX of 4000 megapixels', pcxSource, Buffer.from(pcx(70, 40)).fill(0xff, 8, 12), 'Corrupt PCX'],
    ['a PCX of few pixels in long rows', pcxSource, longRows(), 'rows of 3 times 65535 bytes; at most'],
    ['something else', jpegXlSource, pcx(70, 40), 'not in JPEG XL format'],
  ])('refuse %s', (_name, source, bytes, message) => expectRefused(source, memoryInput(bytes, 'a.bin'), message));

  it('refuse a tile that holds more pixels than its TIFF declares', async () => {
    const tile = (compression: number) => ({ ...grayTags(16, 16, 16), 259: { short: [compression] } });
    await expectRefused(
      tiffSource,
      memoryInput(writeTiff([{ tags: tile(50_002), chunks: [jpegXl] }])),
      '32 by 24 pixels where 16 by 16',
    );
    await expectRefused(
      tiffSource,
      memoryInput(writeTiff([{ tags: tile(34_887), chunks: [lerc] }])),
      '32 by 24 pixels where 16 by 16',
    );
    await expectRefused(
      tiffSource,
      memoryInput(writeTiff([{ tags: tile(34_934), chunks: [jpegXr] }])),
      '64 by 16 pixels where 16 by 16',
    );
  });

  it('are decoded by libraries that leave no listeners, and with them their memory, behind', async () => {
    const count = () => process.listenerCount('uncaughtException') + process.listenerCount('unhandledRejection');
    const before = count();
    const factory = createRequire(import.meta.url)('@cornerstonejs/codec-charls/decodewasmjs') as () => Promise<unknown>;
    await loadWithoutListeners(factory);
    expect(count()).toBe(before);
    const failing = () => {
      process.on('uncaughtException', () => {});
      return Promise.reject(new Error('no library'));
    };
    await expect(loadWithoutListeners(failing)).rejects.toThrow('no library');
    expect(count()).toBe(before);
  });

  it('are decoded in memory that has a limit', () => {
    // A memory of one page, which may grow without limit, named m.
    const [start, end] = [
      [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      [7, 5, 1, 1, 0x6d, 2, 0],
    ] as const;
    const module = Uint8Array.of(...start, 5, 3, 1, 0, 1, ...end);
    // At most 200 pages, which is two bytes.
    expect([...limitWasmMemory(module, 200 * 2 ** 16)]).toEqual([...start, 5, 5, 1, 1, 1, 200, 1, ...end]);
  });

  it('are read even when they are mutated, or refused with clear errors only', async () => {
    const kindsOf = (file: Buffer, length: number) =>
      new Map([['whole', { file, name: 'a.bin', near: [{ offset: 0, length }] }]]);
    for (const [source, file, length] of [
      [jpegXlSource, jpegXl, 24],
      [jpegXrSource, jpegXr, 201],
      [heifSource, heic, 416],
      [icoSource, icon, 40],
      [pcxSource, pcx(70, 40), 70],
    ] as const) {
      expect((await fuzz(source, kindsOf(file, length), { count: 60 })).files).toBeGreaterThan(0);
    }
  });
});
