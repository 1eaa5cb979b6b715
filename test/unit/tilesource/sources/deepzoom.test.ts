import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { deepZoomSource } from '../../../../src/tilesource/sources/deepzoom/deepzoom-source.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { pattern } from '../../../support/images/pattern.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { writeZip } from '../../../support/writers/zip-writer.js';

const folder = mkdtempSync(join(tmpdir(), 'deepzoom-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [width, height] = [700, 450];

/** A Deep Zoom image as libvips writes it. */
async function written(
  name: string,
  bands: 1 | 3 | 4,
  tile: { size: number; overlap: number },
  format: 'jpeg' | 'png',
): Promise<string> {
  const path = join(folder, name);
  const raw = sharp(pattern(width, height, bands), { raw: { width, height, channels: bands } });
  const picture = bands === 1 ? raw.toColourspace('b-w') : raw;
  const encoded = format === 'png' ? picture.png() : picture.jpeg({ quality: 95, chromaSubsampling: '4:4:4' });
  await encoded.tile({ ...tile, layout: 'dz', container: 'zip' }).toFile(path);
  return path;
}

const plain = await written('plain.zip', 3, { size: 256, overlap: 0 }, 'jpeg');
const overlapping = await written('overlap.zip', 4, { size: 200, overlap: 2 }, 'png');
const gray = await written('gray.zip', 1, { size: 254, overlap: 1 }, 'png');
describeTileSource(() => deepZoomSource, plain, { describe, it });
describeTileSource(() => deepZoomSource, overlapping, { describe, it });

const tilePicture = (side: number): Promise<Buffer> =>
  sharp(pattern(side, side, 3), { raw: { width: side, height: side, channels: 3 } })
    .jpeg()
    .toBuffer();
const [smallPicture, hugePicture] = [await tilePicture(32), await tilePicture(2000)];
const description = (attributes: string, size: string): string =>
  `<?xml version="1.0"?><Image xmlns="http://schemas.microsoft.com/deepzoom/2008" ${attributes}><Size ${size}/></Image>`;
const usual = description('TileSize="64" Overlap="0" Format="jpg"', 'Width="100" Height="64"');

describe('Deep Zoom in a ZIP file', () => {
  it.each([
    [overlapping, 4],
    [gray, 1],
  ] as const)('has the pixels that were written, without the overlap (%s)', async (path, bands) => {
    const source = await deepZoomSource.open(fileInput(path));
    expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands });
    expect(source.populatedLevels).toEqual([0, 1, 2]);
    expect(worstDifference(await wholeLevel(source), pattern(width, height, bands))).toBe(0);
    await source.close();
  });

  it('passes whole JPEG tiles on unchanged', async () => {
    const source = await deepZoomSource.open(fileInput(plain));
    const at = { level: source.metadata.levels - 1, x: 1, y: 0, frame: 0 };
    const stored = await source.readStoredTile?.(at);
    expect(stored).toMatchObject({ encoding: 'JPEG', width: 256, height: 256 });
    const decoded = await sharp(stored?.bytes).raw().toBuffer();
    expect(worstDifference(decoded, (await source.readTile(at)).data)).toBe(0);
    expect(await source.readStoredTile?.({ ...at, x: 2 })).toBeNull();
    expect(await source.internalMetadata?.()).toMatchObject({ baselevel: 10, deepzoom: { tileSize: 256, overlap: 0 } });
    await source.close();
  });

  it.each([
    ['one read', 0, 1],
    ['two reads when a longer header than usual precedes it', 1000, 2],
  ])('reads a tile in %s', async (_name, extra, expected) => {
    const picture = await tilePicture(64);
    const input = memoryInput(writeZip({ 'a.dzi': usual, 'a_files/7/0_0.jpg': picture }, { extra }).file, 'a.zip');
    let reads = 0;
    const open = async () => {
      const reader = await input.open();
      const read: typeof reader.read = (...where) => {
        reads += 1;
        return reader.read(...where);
      };
      return { size: reader.size, read, close: () => reader.close() };
    };
    const source = await deepZoomSource.open({ ...input, open });
    reads = 0;
    const { data } = await source.readTile({ level: 1, x: 0, y: 0, frame: 0 });
    expect(reads).toBe(expected);
    expect(worstDifference(data, await sharp(picture).raw().toBuffer())).toBe(0);
    await source.close();
  });

  it('returns the same tiles whether they are read at the same time or one by one', async () => {
    const source = await deepZoomSource.open(fileInput(plain));
    const tiles = [0, 1, 2, 0, 1, 2, 1, 0].map((x) => ({ level: source.metadata.levels - 1, x, y: x % 2, frame: 0 }));
    const together = await Promise.all(tiles.map((tile) => source.readTile(tile)));
    for (const [index, tile] of tiles.entries()) {
      expect(worstDifference(together[index]!.data, (await source.readTile(tile)).data)).toBe(0);
    }
    await source.close();
  });

  it('shows missing tiles as zero', async () => {
    const files = { 'a/b.dzi': usual, 'a/b_files/7/0_0.jpg': await tilePicture(64) };
    const source = await deepZoomSource.open(memoryInput(writeZip(files).file, 'sparse.zip'));
    expect(source.populatedLevels).toEqual([1]);
    const missing = await source.readTile({ level: 1, x: 1, y: 0, frame: 0 });
    expect([missing.width, missing.data.every((value) => value === 0)]).toEqual([36, true]);
    await source.close();
  });

  it.each([
    ['no description', { 'a.txt': '' }, 'no Deep Zoom description'],
    ['an impossible tile size', { 'a.dzi': usual.replace('"64"', '"1e9"') }, 'tile size 1e9'],
    ['an impossible width', { 'a.dzi': usual.replace('Width="100"', 'Width="-3"') }, 'width -3'],
    ['a description with entities', { 'a.dzi': `<!DOCTYPE x [<!ENTITY a "b">]>${usual}` }, 'DOCTYPE'],
    ['no tiles', { 'a.dzi': usual }, 'no tile a_files/7/0_0.jpg'],
    ['tiles of a different size', { 'a.dzi': usual, 'a_files/7/0_0.jpg': smallPicture }, '32 by 32'],
    ['tiles that are bombs', { 'a.dzi': usual, 'a_files/7/0_0.jpg': hugePicture }, 'cannot be decoded'],
  ])('refuses %s', async (_name, files, message) => {
    await expectRefused(deepZoomSource, memoryInput(writeZip(files as Record<string, string>).file, 'bad.zip'), message);
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const files = { 'b.dzi': usual, 'b_files/7/0_0.jpg': await tilePicture(64), 'b_files/6/0_0.jpg': await tilePicture(50) };
    const kinds = new Map([['tiles', { ...writeZip(files, { deflated: ['b.dzi'] }), name: 'fuzz.zip' }]]);
    const result = await fuzz(deepZoomSource, kinds, { count: 300 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});
