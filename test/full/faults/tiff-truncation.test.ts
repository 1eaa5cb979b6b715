import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fileInput } from '../../../src/tilesource/byte-reader.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { sampleFile } from '../../support/images/data.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { slicesOf } from '../../support/run/slices.js';
import {
  grayTags,
  writeTiff,
  type TagValue,
  type WriteOptions,
  type WrittenDirectory,
} from '../../support/writers/tiff-writer.js';

async function truncationOf(bytes: Uint8Array): Promise<unknown> {
  const source = await tiffSource.open(memoryInput(bytes));
  try {
    return (await source.internalMetadata?.())?.truncated;
  } finally {
    await source.close();
  }
}

/** An image of 64 by 64 pixels in tiles, or a reduced version of it. */
function tiles(side: number, tags: Record<number, TagValue> = {}): WrittenDirectory {
  const chunks = Array.from({ length: (side / 32) ** 2 }, () => Buffer.alloc(1024, 9));
  return { tags: { ...grayTags(side, side, 32), ...tags }, chunks };
}

/** Four rows of 64 pixels in strips of three. */
function strips(tags: Record<number, TagValue>): WrittenDirectory {
  const { 322: _width, 323: _height, ...plain } = grayTags(64, 4, 32);
  return { tags: { ...plain, 278: { short: [3] }, ...tags }, chunks: [Buffer.alloc(192), Buffer.alloc(64)] };
}

const reduced = { 254: { long: [1] } };

describe('a truncated TIFF whose directories are whole', () => {
  const far = 1e6;
  it.each<[string, WrittenDirectory[], RegExp]>([
    ['a tile of the full size', [tiles(64, { 324: { long: [8, 8, 8, far] } }), tiles(32, reduced)], /tile 3 of directory 0 /],
    [
      'only the end of a tile',
      [tiles(64, { 325: { long: [1024, 1024, far, 1024] } }), tiles(32, reduced)],
      /tile 2 of directory 0 /,
    ],
    [
      'the only tile, which is in its entry',
      [tiles(64), tiles(32, { ...reduced, 324: { long: [far] } })],
      /tile 0 of directory 1 /,
    ],
    [
      'a directory below',
      [{ ...tiles(64), sub: [tiles(32, { 324: { long: [far] } })] }],
      /tile 0 of directory 0 below directory 0 /,
    ],
    ['a strip', [strips({ 273: { long: [8, far] } })], /strip 1 of directory 0 /],
    [
      'the end of the first strip',
      [strips({ 273: { long: [8, 8] }, 279: { long: [far, 64] }, 259: { short: [8] } })],
      /strip 0 /,
    ],
    ['a strip without lengths', [strips({ 273: { long: [8, far] }, 279: { long: [] } })], /strip 1 /],
  ])('is reported when it has lost %s', async (_name, directories, expected) => {
    for (const options of [{}, { big: true }, { bigEndian: true }] satisfies WriteOptions[]) {
      expect(await truncationOf(writeTiff(directories, options))).toMatch(expected);
    }
  });

  it.each<[string, WrittenDirectory]>([
    ['tiles that were never written', { ...tiles(64), chunks: [null, Buffer.alloc(1024), null, null] }],
    ['tiles of no length somewhere', tiles(64, { 324: { long: [8, 8, 8, far] }, 325: { long: [1024, 1024, 1024, 0] } })],
    ['tiles at 0 with a length', tiles(64, { 324: { long: [8, 8, 0, 8] }, 325: { long: [1024, 1024, far, 1024] } })],
    ['a last strip that claims to be complete', strips({ 279: { long: [192, 500] } })],
    ['strips of old JPEG', strips({ 259: { short: [6] }, 273: { long: [far, far] } })],
  ])('is not reported for %s', async (name, directory) => {
    const file = writeTiff([tiles(64), ...(name.includes('old JPEG') ? [directory] : [directory, tiles(32, reduced)])]);
    expect(await truncationOf(file)).toBeUndefined();
  });

  it('is found in a table of millions of tiles without blocking the event loop', async () => {
    const side = 32 * 1100;
    const table = Array.from({ length: 1100 ** 2 }, () => 8);
    const large = (offsets: number[]) => ({
      ...tiles(64),
      tags: { ...grayTags(side, side, 32), 324: { long8: offsets }, 325: { long: table } },
      chunks: [Buffer.alloc(1024)],
    });
    const file = writeTiff([large(table.with(-5, 1e9))], { big: true });
    const source = await tiffSource.open(memoryInput(file));
    let truncated: unknown;
    const slices = await slicesOf(async () => {
      ({ truncated } = (await source.internalMetadata?.()) ?? {});
    });
    await source.close();
    expect(truncated).toContain('tile 1209995 of directory 0 ');
    // At least one slice for each hundred thousand tiles.
    expect(slices).toBeGreaterThanOrEqual(12);
  });

  it('is searched for from the last directory backward, for at most two seconds of a slow file', async () => {
    const last = { 324: { long: [8, 8, 8, 1e9] } };
    for (const [lost, expected] of [
      [299, /directory 299 /],
      [0, /^undefined$/],
    ] as const) {
      const input = memoryInput(writeTiff(Array.from({ length: 300 }, (_, at) => tiles(64, at === lost ? last : {}))));
      let delayMs = 0;
      let reads = 0;
      const open = async () => {
        const reader = await input.open();
        const read = async (from: number, length: number) => {
          await wait(delayMs);
          reads += 1;
          return reader.read(from, length);
        };
        return { ...reader, read };
      };
      const source = await tiffSource.open({ ...input, open });
      delayMs = 20;
      reads = 0;
      expect(String((await source.internalMetadata?.())?.truncated)).toMatch(expected);
      expect(reads).toBeLessThan(300);
      await source.close();
    }
  });

  const sample = sampleFile('sample.tif');
  it.skipIf(sample === null)('is not reported for the real files', async () => {
    const folder = dirname(sample!);
    const names = readdirSync(folder).filter((name) => /\.(?:tiff?|svs)$/.test(name));
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      const source = await tiffSource.open(fileInput(join(folder, name)));
      expect([name, (await source.internalMetadata?.())?.truncated]).toEqual([name, undefined]);
      await source.close();
    }
  });
});
