import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { ThreadLimitError } from '../../../../src/core/concurrency/thread-pool.js';
import { CorruptTileError, LargeImageError, TileSourceError } from '../../../../src/errors.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { TileSourceRegistry } from '../../../../src/tilesource/registry/registry.js';
import { tileError } from '../../../../src/tilesource/render/corrupt-tiles.js';
import type { EncodedPicture, StreamedPicture } from '../../../../src/tilesource/requests.js';
import { multiSource } from '../../../../src/tilesource/sources/multi/multi-source.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import type { TileSource } from '../../../../src/tilesource/tile-source.js';
import { memoryFolder } from '../../../support/images/folder-input.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';
import { grayTags, writeTiff, type TagValue } from '../../../support/writers/tiff-writer.js';

const temporaryDirectory = mkdtempSync(join(tmpdir(), 'corrupt-parts-'));
afterAll(() => rmSync(temporaryDirectory, { recursive: true }));

const side = 256;
const corruptBytes = Buffer.from('no deflate stream');

/** A gray TIFF of 256 × 256 pixels in 16 tiles or 16 strips, of which one is corrupt. */
function tiffWith(corruptAt: number, { isTiled = true, orientation = 1 } = {}): Buffer {
  const { 322: width, 323: length, ...tags } = grayTags(side, side, 64);
  const chunk = deflateSync(Buffer.alloc(isTiled ? 64 * 64 : side * 16, 100));
  const chunks = Array.from({ length: 16 }, (_, index) => (index === corruptAt ? corruptBytes : chunk));
  const shape: Record<number, TagValue> = isTiled ? { 322: width!, 323: length! } : { 278: { short: [16] } };
  return writeTiff([{ tags: { ...tags, ...shape, 259: { short: [8] }, 274: { short: [orientation] } }, chunks }]);
}

const openStrips = (corruptAt: number, options: { maxSmallImageSize: number; orientation?: number }): Promise<TileSource> =>
  tiffSource.open(memoryInput(tiffWith(corruptAt, { isTiled: false, orientation: options.orientation ?? 1 })), {
    temporaryDirectory,
    ...options,
  });

/** The rectangle that has the stripes of a corrupt part. */
async function holeIn(picture: { bytes: Uint8Array }) {
  const { data, info } = await sharp(picture.bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const hole = { left: info.width, top: info.height, right: 0, bottom: 0 };
  for (let at = 0; at < data.length; at += info.channels) {
    if (data[at] !== 64 && data[at] !== 192) continue;
    const [x, y] = [(at / info.channels) % info.width, Math.floor(at / info.channels / info.width)];
    hole.left = Math.min(hole.left, x);
    hole.top = Math.min(hole.top, y);
    hole.right = Math.max(hole.right, x + 1);
    hole.bottom = Math.max(hole.bottom, y + 1);
  }
  return hole;
}

async function bytesOf(picture: EncodedPicture | StreamedPicture): Promise<Uint8Array> {
  if (picture.kind === 'bytes') return picture.bytes;
  const parts: Buffer[] = [];
  for await (const part of picture.stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const style = { bands: [{ band: 1, min: 0, max: 255, palette: ['#000', '#fff'] }] };

describe('a corrupt strip', () => {
  it.each([
    ['the first', 0, 1, { left: 0, top: 0, right: 256, bottom: 16 }],
    ['one in the middle', 5, 1, { left: 0, top: 80, right: 256, bottom: 96 }],
    ['one of a rotated image', 5, 3, { left: 0, top: 160, right: 256, bottom: 176 }],
    ['one of an image rotated by 90°', 5, 6, { left: 160, top: 0, right: 176, bottom: 256 }],
  ] as const)('is a hole in the picture, with small tiles and with large ones: %s', async (_, corruptAt, orientation, hole) => {
    for (const maxSmallImageSize of [64, 4096]) {
      const source = await openStrips(corruptAt, { maxSmallImageSize, orientation });
      const image = openLargeImage(source);
      for (let time = 0; time < 2; time += 1) {
        const picture = (await image.region({ encoding: 'PNG' })) as EncodedPicture;
        expect([await holeIn(picture), picture.corruptTiles]).toEqual([hole, 1]);
        const small = (await image.thumbnail({ width: 64, height: 64, encoding: 'PNG' })) as EncodedPicture;
        expect(small.corruptTiles).toBe(1);
        expect(await holeIn(small)).toEqual(Object.fromEntries(Object.entries(hole).map(([edge, value]) => [edge, value / 4])));
      }
      expect((await image.bands({}))['1']).toMatchObject({ min: 100, max: 100 });
      await expect(image.region({ encoding: 'TILED' })).rejects.toMatchObject({ code: 'corrupt-tile' });
      const { corruptTiles } = await image.internalMetadata();
      expect(corruptTiles).toContainEqual(expect.objectContaining({ x: 0, y: 0, frame: 0 }));
      await source.close();
    }
  });
});

describe('a corrupt tile in a part of a combined image', () => {
  const registry = new TileSourceRegistry().register(tiffSource, multiSource);
  const open = async (sources: object[]) => {
    const files = {
      'multi.yaml': Buffer.from(JSON.stringify({ tileWidth: 64, tileHeight: 64, sources })),
      'a.tif': tiffWith(6),
      'b.tif': tiffWith(99),
    };
    return multiSource.open(memoryFolder(files, registry).input('multi.yaml'));
  };

  it('is a hole in its place', async () => {
    const source = await open([
      { path: 'b.tif', position: { x: 0, y: 0 }, z: 0 },
      { path: 'a.tif', position: { x: 256, y: 0 }, z: 0 },
    ]);
    const image = openLargeImage(source);
    const picture = (await image.region({ encoding: 'PNG' })) as EncodedPicture;
    expect([await holeIn(picture), picture.corruptTiles]).toEqual([{ left: 384, top: 64, right: 448, bottom: 128 }, 1]);
    const coarsest = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG' });
    expect([await holeIn(coarsest), coarsest.corruptTiles]).toEqual([{ left: 48, top: 8, right: 56, bottom: 16 }, 1]);
    await expect(image.tile({ level: 3, x: 6, y: 1, encoding: 'PNG' })).rejects.toMatchObject({ code: 'corrupt-tile' });
    expect((await image.tile({ level: 3, x: 5, y: 1, encoding: 'PNG' })).corruptTiles).toBeUndefined();
    const { corruptTiles } = await image.internalMetadata();
    expect(corruptTiles).toMatchObject([{ reason: expect.stringContaining('a.tif') as string }]);
    await source.close();
  });

  it('is a hole where its part is rotated', async () => {
    const source = await open([{ path: 'a.tif', position: { x: 256, y: 0, s11: 0, s12: -1, s21: 1, s22: 0 } }]);
    const image = openLargeImage(source);
    const picture = (await image.region({ encoding: 'PNG' })) as EncodedPicture;
    expect(picture.corruptTiles).toBe(1);
    expect(await holeIn(picture)).toEqual({ left: 128, top: 128, right: 192, bottom: 192 });
    await source.close();
  });
});

it('a corrupt tile is a hole in the map, even in the tile of the whole world', async () => {
  const world = 20_037_508.342789244;
  const transform = [-world, (2 * world) / 256, 0, world, 0, -(2 * world) / 256] as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const { source } = rasterSource(
    paint({ width: side, height: side, bands: 1 }, () => 100),
    { tileWidth: 64, tileHeight: 64, geo: { transform, projection: 'epsg:3857', proj4: 'EPSG:3857' } },
  );
  const readTile = source.readTile.bind(source);
  source.readTile = async (address, options) => {
    if (address.x === 2 && address.y === 1) throw new TileSourceError('Corrupt TIFF: no.');
    return readTile(address, options);
  };
  const map = await openLargeImage(source).tile({ level: 0, x: 0, y: 0, projection: 'EPSG:3857', encoding: 'PNG' });
  expect([await holeIn(map), map.corruptTiles]).toEqual([{ left: 128, top: 64, right: 192, bottom: 128 }, 1]);
});

describe('encoding=TILED', () => {
  const broken = () => tiffSource.open(memoryInput(tiffWith(6)));

  it('shows holes in a picture with a style, and counts them', async () => {
    const source = await broken();
    const streamed = await openLargeImage(source).region({ encoding: 'TILED', style });
    const pyramid = await tiffSource.open(memoryInput(Buffer.from(await bytesOf(streamed))));
    const copy = (await openLargeImage(pyramid).region({ encoding: 'PNG' })) as EncodedPicture;
    expect([await holeIn(copy), streamed.corruptTiles]).toEqual([{ left: 128, top: 64, right: 192, bottom: 128 }, 1]);
    await pyramid.close();
    await source.close();
  });

  it('refuses samples instead of showing a hole in them, even those of several frames', async () => {
    const frames = [0, 1].map(() => paint({ width: side, height: side, bands: 1 }, () => 100));
    const { source } = rasterSource(frames);
    const readTile = source.readTile.bind(source);
    source.readTile = async (address, options) => {
      if (address.x === 1 && address.y === 1 && address.frame === 1) throw new TileSourceError('Corrupt TIFF: no.');
      return readTile(address, options);
    };
    const image = openLargeImage(source);
    const corrupt = { code: 'corrupt-tile', tile: { level: 2, x: 1, y: 1, frame: 1 } };
    await expect(image.tileFrames({ encoding: 'TILED' })).rejects.toMatchObject(corrupt);
    await expect(image.region({ encoding: 'TILED', frame: 1 })).rejects.toMatchObject(corrupt);
    const styled = await image.tileFrames({ encoding: 'TILED', style });
    expect(styled.corruptTiles).toBe(1);
    await bytesOf(styled);
  });
});

it('blames the server, not the tile, when decoding takes too long', () => {
  const address = { level: 0, x: 0, y: 0, frame: 0 };
  const late = new TileSourceError('Decoding takes longer than 30 s.', {
    cause: new ThreadLimitError('No.', 'time', { cause: null }),
  });
  const wrapped = new TileSourceError('The source a.tif cannot be read.', { cause: late });
  for (const error of [late, wrapped]) {
    const reported = tileError(error, address);
    expect(reported).not.toBeInstanceOf(CorruptTileError);
    expect(reported).toBeInstanceOf(LargeImageError);
    expect(reported).toMatchObject({ code: 'unavailable' });
  }
});
