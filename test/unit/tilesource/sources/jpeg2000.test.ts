import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { TileSourceError } from '../../../../src/errors.js';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import type { SourceInput } from '../../../../src/tilesource/tile-source.js';
import { jpeg2000Source } from '../../../../src/tilesource/sources/jpeg2000/jpeg2000-source.js';
import type { SampleType } from '../../../../src/tilesource/raster.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { joinTiles, jp2Of, marker, writeJpeg2000 } from '../../../support/writers/jpeg2000-writer.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { pattern } from '../../../support/images/pattern.js';
import { samplesOf } from '../../../support/images/samples.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: SampleType;
  raw: string;
}

const fixtures = writeFixtures<Written[]>('jpeg2000.py', ['glymur', 'numpy']);
afterAll(() => fixtures?.remove());
const pathOf = (name: string): string => join(fixtures?.folder ?? '', name);
const bytesOf = (name: string): Buffer => readFileSync(pathOf(name));

/** Counts the bytes that are read of a file. */
function counting(input: SourceInput): { input: SourceInput; read: () => number } {
  let read = 0;
  const open: SourceInput['open'] = async () => {
    const reader = await input.open();
    const counted: typeof reader.read = async (...call) => {
      const bytes = await reader.read(...call);
      read += bytes.length;
      return bytes;
    };
    return { size: reader.size, read: counted, close: () => reader.close() };
  };
  return { input: { ...input, open }, read: () => read };
}

describe.runIf(fixtures !== null)('JPEG 2000 files written by OpenJPEG', () => {
  for (const { name, width, height, bands, dtype, raw } of fixtures?.manifest ?? []) {
    it(`${name} has the pixels that its reader sees`, async () => {
      const source = await jpeg2000Source.open(fileInput(pathOf(name)));
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      const expected = samplesOf(readFileSync(pathOf(raw)), dtype);
      expect(worstDifference(await wholeLevel(source), expected)).toBe(0);
      await source.close();
    });
  }

  it.each([
    ['ramp-tiled.j2k', 0.5],
    ['ramp-untiled.j2k', 0.95],
  ])('places reduced levels of %s correctly', async (name, share) => {
    const source = await jpeg2000Source.open(fileInput(pathOf(name)));
    const { sizeX, sizeY, levels } = source.metadata;
    const full = samplesOf(readFileSync(pathOf(`${name}.raw`)), 'uint16');
    expect(source.populatedLevels.length).toBeGreaterThan(1);
    for (const level of source.populatedLevels.slice(0, -1)) {
      const scale = 2 ** (levels - 1 - level);
      const [columns, rows] = [Math.ceil(sizeX / scale), Math.ceil(sizeY / scale)];
      const pixels = await wholeLevel(source, level);
      const errors: number[] = [];
      // Each pixel is compared with the average of its block. Nothing is known beyond the borders of tiles, so some differ.
      for (let y = 2; y < rows - 3; y++) {
        for (let x = 2; x < columns - 3; x++) {
          let sum = 0;
          for (let j = 0; j < scale; j++) for (let i = 0; i < scale; i++) sum += full[(y * scale + j) * sizeX + x * scale + i]!;
          errors.push(pixels[y * columns + x]! - sum / scale ** 2);
        }
      }
      // The ramp rises by 40 for each pixel of full resolution, so this is a twentieth of a pixel of the level.
      const sorted = errors.toSorted((a, b) => Math.abs(a) - Math.abs(b));
      expect(Math.abs(sorted[Math.floor(sorted.length * share)]!), `reduced by ${scale}`).toBeLessThan(40 * scale * 0.05);
    }
    await source.close();
  });

  it('has the scale, the color profile and the metadata of the file', async () => {
    const source = await jpeg2000Source.open(fileInput(pathOf('tiled.jp2')));
    expect(source.metadata).toMatchObject({ mmX: 0.5, mmY: 0.25, tileWidth: 256, tileHeight: 256 });
    expect(await source.internalMetadata?.()).toMatchObject({
      jpeg2000: { brand: 'jp2', tiles: { width: 256, height: 256, columns: 4, rows: 3 }, decompositions: 5 },
    });
    await source.close();
  });

  it('reads and decodes the requested tiles, and little else of the file', async () => {
    for (const name of ['large.jp2', 'large-tlm.jp2']) {
      const { input, read } = counting(fileInput(pathOf(name)));
      const source = await jpeg2000Source.open(input);
      await source.readTile({ level: source.metadata.levels - 1, x: 8, y: 4, frame: 0 });
      expect(read(), name).toBeLessThan(bytesOf(name).length * 0.02);
      await source.close();
    }
  });

  it('refuses undecodable formats by name', async () => {
    const refusal = async (file: Uint8Array): Promise<string> => {
      const opening = jpeg2000Source.open(memoryInput(file, 'refused.j2k'));
      await expect(opening).rejects.toThrow(TileSourceError);
      return opening.then(
        () => '',
        (error: Error) => error.message,
      );
    };
    const changed = (change: (file: Buffer, siz: number) => void): Buffer => {
      const file = Buffer.from(bytesOf('untiled.j2k'));
      change(file, marker(file, 0xff_51));
      return file;
    };
    const sizes = (width: number, height: number) => (file: Buffer, siz: number) => {
      for (const at of [6, 22]) file.writeUInt32BE(width, siz + at);
      for (const at of [10, 26]) file.writeUInt32BE(height, siz + at);
    };
    expect(await refusal(bytesOf('bands.jp2'))).toContain('5 components');
    expect(await refusal(changed(sizes(60_000, 60_000)))).toContain('tiles of 60000 by 60000 pixels');
    expect(await refusal(changed((file, siz) => file.fill('0000000100000001', siz + 22, siz + 30, 'hex')))).toContain(
      '900 by 700 tiles',
    );
    expect(await refusal(changed((file, siz) => file.writeUInt16BE(9999, siz + 38)))).toContain('9999 components');
    expect(await refusal(changed((file, siz) => file.writeUInt8(31, siz + 40)))).toContain('32 bits');
    expect(await refusal(bytesOf('tiled.jp2').subarray(0, 60))).toContain('no code stream');
  });

  if (fixtures !== null) {
    for (const name of ['tiled.jp2', 'offset.j2k', 'untiled.j2k']) {
      describeTileSource(() => jpeg2000Source, join(fixtures.folder, name), { describe, it });
    }
  }
});

describe('JPEG 2000 files written by the tests', () => {
  const side = 256;
  const tileOf = (mask: number, components: number, { ratio = 0, width = side } = {}) =>
    writeJpeg2000(
      { data: pattern(width, width, components).map((value) => value ^ mask), width, height: width, components },
      ratio,
    );

  it('have the pixels of their tiles, and the colors of their palette', async () => {
    const tiles = [0, 85].map((mask) => ({ mask, tile: tileOf(mask, 3) }));
    const source = await jpeg2000Source.open(
      memoryInput(jp2Of(joinTiles(await Promise.all(tiles.map(({ tile }) => tile)), side)), 'tiled.jp2'),
    );
    expect(source.metadata).toMatchObject({ sizeX: 2 * side, sizeY: side, tileWidth: side, bandCount: 3 });
    const pixels = await wholeLevel(source);
    for (const [number, { mask }] of tiles.entries()) {
      const row = pattern(side, side, 3)
        .slice(0, side * 3)
        .map((value) => value ^ mask);
      expect(pixels.slice(number * side * 3, (number + 1) * side * 3)).toEqual([...row]);
    }
    await source.close();
    const indexed = await jpeg2000Source.open(memoryInput(await indexedFile(), 'palette.jp2'));
    expect((await wholeLevel(indexed)).slice(0, 3)).toEqual([...paletteOf(pattern(side, side, 1)[0]!)]);
    await indexed.close();
  });

  it.each([1, 2, 4, 7, 8])('scale colors of %i bits in a palette to a byte', async (bits) => {
    const white = 2 ** bits - 1;
    const file = await indexedFile(64, bits, (index) => [index & white, white - (index & white), white]);
    const indexed = await jpeg2000Source.open(memoryInput(file, 'palette.jp2'));
    const expected = [...pattern(64, 64, 1)].flatMap((index) =>
      [index & white, white - (index & white), white].map((value) => Math.round((value * 255) / white)),
    );
    expect(await wholeLevel(indexed)).toEqual(expected);
    await indexed.close();
  });

  const paletteOf = (index: number) => [index, 255 - index, (index * 37) % 256];

  /** A gray code stream whose boxes say that its samples are indexes. */
  async function indexedFile(width = side, bits = 8, colorOf = paletteOf): Promise<Buffer> {
    const colors = Array.from({ length: 256 }, (_, index) => colorOf(index)).flat();
    const mapping = [0, 1, 2].flatMap((column) => [0, 0, 1, column]);
    return jp2Of(await tileOf(0, 1, { width }), [
      { type: 'pclr', content: Buffer.from([1, 0, 3, bits - 1, bits - 1, bits - 1, ...colors]) },
      { type: 'cmap', content: Buffer.from(mapping) },
    ]);
  }

  it('are read even when they are mutated, or refused with clear errors only', async () => {
    // The picture is small, because most of the time is spent on pixels, and few mutations concern them.
    const width = 64;
    const tiled = joinTiles(await Promise.all([0, 85, 170].map((mask) => tileOf(mask, 3, { width }))), width);
    const ownFiles: [string, Buffer][] = [
      ['tiled.j2k', tiled],
      ['tiled.jp2', jp2Of(tiled)],
      ['palette.jp2', await indexedFile(width)],
      ['lossy.j2k', await tileOf(0, 3, { width, ratio: 20 })],
    ];
    const byOthers = fixtures === null ? [] : ['fuzz-tiled.jp2', 'fuzz-palette.jp2', 'fuzz-lossy.j2k'];
    const files = new Map(
      [...ownFiles, ...byOthers.map((name): [string, Buffer] => [name, bytesOf(name)])].map(([name, file]) => {
        const start = marker(file, 0xff_4f);
        const near = [
          { offset: 0, length: Math.max(1, start) },
          { offset: start, length: Math.min(file.length - start, 160) },
          { offset: marker(file, 0xff_90), length: 64 },
        ];
        return [name, { file, name, near, bigEndian: true }];
      }),
    );
    const result = await fuzz(jpeg2000Source, files, { count: 60 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});
