import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import {
  BusyError,
  CorruptTileError,
  FailedReadError,
  LargeImageError,
  MissingPartsError,
  TileSourceError,
} from '../../../../src/errors.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import type { Raster } from '../../../../src/tilesource/raster.js';
import type { EncodedPicture, LargeImage } from '../../../../src/tilesource/requests.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

/** An image of four tiles of which one cannot be read. */
function imageWith(failure: Error) {
  const { source } = rasterSource(paint({ width: 128, height: 128, bands: 1 }, () => 200));
  const readTile = source.readTile.bind(source);
  source.readTile = async (address, options) => {
    if (address.x === 1 && address.y === 0) throw failure;
    return readTile(address, options);
  };
  return openLargeImage(source);
}

const systemError = Object.assign(new Error('EIO: i/o error, read'), { errno: -5, code: 'EIO', syscall: 'read' });
const zlibError = Object.assign(new Error('incorrect header check'), { errno: -3, code: 'Z_DATA_ERROR' });

describe('a tile that cannot be read', () => {
  it.each([
    ['bytes that cannot be decoded', new TileSourceError('Corrupt TIFF: no.')],
    ['a failure of a library', new TileSourceError('Decoding failed.', { cause: zlibError })],
  ])('is named when the reason is %s', async (_, failure) => {
    const error: unknown = await imageWith(failure)
      .tile({ level: 1, x: 1, y: 0, encoding: 'PNG' })
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(CorruptTileError);
    expect(error).toMatchObject({
      code: 'corrupt-tile',
      tile: { level: 1, x: 1, y: 0, frame: 0 },
      message: `The tile x=1, y=0 of level 1 is corrupt: ${failure.message}`,
      details: { tile: { level: 1, x: 1, y: 0, frame: 0 } },
    });
  });

  it.each([
    ['the disk', systemError],
    ['the disk, as reported by a source', new TileSourceError('The bytes could not be read.', { cause: systemError })],
    [
      'a file that cannot be opened',
      new TileSourceError('The source cannot be read.', { cause: new FailedReadError('No file.') }),
    ],
    ['a bucket', new LargeImageError('unavailable', 'The store cannot be reached.')],
    ['a full queue', new TileSourceError('No.', { cause: new BusyError('Busy.', 1) })],
    ['a part that is missing', new MissingPartsError('Parts are missing.', ['a'])],
  ])('is not called corrupt when the reason is %s', async (_, failure) => {
    const reading = imageWith(failure).tile({ level: 1, x: 1, y: 0, encoding: 'PNG' });
    await expect(reading).rejects.toBe(failure);
  });
});

/** An image of sixteen tiles, all of one gray, of which one is corrupt. */
function brokenImage(shape: { bands: number; dtype: Raster['dtype']; value: number }) {
  const { source } = rasterSource(paint({ width: 256, height: 256, ...shape }, () => shape.value));
  const readTile = source.readTile.bind(source);
  source.readTile = async (address, options) => {
    if (address.x === 1 && address.y === 2) throw new TileSourceError('Corrupt TIFF: no.');
    return readTile(address, options);
  };
  return openLargeImage(source);
}

const shapes = [
  { bands: 1, dtype: 'uint8', value: 100, gray: 100 },
  { bands: 3, dtype: 'uint8', value: 100, gray: 100 },
  { bands: 4, dtype: 'uint16', value: 25_600, gray: 100 },
  { bands: 5, dtype: 'float32', value: 100, gray: 100 },
] as const;

const style = JSON.stringify({ bands: [{ band: 1, min: 0, max: 'full', palette: ['#000', '#f00'] }] });

describe('a picture of several tiles of which one is corrupt', () => {
  for (const { gray, ...shape } of shapes) {
    it.each<[string, (image: LargeImage) => Promise<unknown>, number]>([
      ['tile', (image) => image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG' }), 1],
      ['tile of a level in between', (image) => image.tile({ level: 1, x: 0, y: 1, encoding: 'PNG' }), 1],
      ['thumbnail', (image) => image.thumbnail({ width: 100, height: 100, encoding: 'PNG' }), 1],
      ['region', (image) => image.region({ encoding: 'PNG' }), 1],
      ['region with a style', (image) => image.region({ encoding: 'PNG', style, width: 90 }), 1],
      ['region of good tiles', (image) => image.region({ encoding: 'PNG', bottom: 128 }), 0],
      ['Deep Zoom tile', (image) => image.dziTile({ level: 7, name: '0_0.png' }), 1],
      [
        'IIIF picture',
        (image) =>
          image.iiifPicture(image.iiifPlan({ region: 'full', size: '77,', rotation: '90', file: 'gray.png' }, 0), { frame: 0 }),
        1,
      ],
    ])(`of ${shape.bands} bands of ${shape.dtype} has a hole: %s`, async (_, make, holes) => {
      const image = brokenImage(shape);
      // The second time, parts of it may come from the cache.
      for (let time = 0; time < 2; time += 1) {
        const picture = (await make(image)) as EncodedPicture;
        expect(picture.corruptTiles ?? 0).toBe(holes);
        const { data, info } = await sharp(picture.bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        const first = data.filter((_sample, at) => at % info.channels === 0);
        const hatched = first.filter((sample) => sample === 64 || sample === 192).length;
        if (holes === 0) expect(hatched).toBe(0);
        else expect(hatched / first.length).toBeGreaterThan(1 / 18);
        // The hole is one of sixteen tiles, or one of four. Pixels at its border may be mixed.
        expect(hatched / first.length).toBeLessThan(0.3);
      }
      if (holes > 0) {
        expect(await image.internalMetadata()).toMatchObject({
          corruptTiles: [{ level: 2, x: 1, y: 2, frame: 0, reason: 'Corrupt TIFF: no.' }],
        });
      }
      expect(await image.pixel({ left: 5, top: 5 })).toMatchObject(shape.bands < 3 ? { l: gray } : { r: gray });
    });

    it(`leaves the hole out of statistics of ${shape.bands} bands of ${shape.dtype}`, async () => {
      const image = brokenImage(shape);
      const bands = await image.bands({});
      expect(bands['1']).toMatchObject({ min: shape.value, max: shape.value, mean: shape.value });
      for (const resample of [false, 1]) {
        const [first] = await image.histogram({ width: 128, height: 128, resample });
        expect(first).toMatchObject({ min: shape.value, max: shape.value });
      }
    });
  }

  it('is refused when it would show only the hole, or when it consists of samples', async () => {
    const image = brokenImage({ bands: 1, dtype: 'uint16', value: 7 });
    const corrupt = { code: 'corrupt-tile', tile: { level: 2, x: 1, y: 2, frame: 0 } };
    await expect(image.tile({ level: 2, x: 1, y: 2, encoding: 'PNG' })).rejects.toMatchObject(corrupt);
    await expect(image.region({ left: 70, right: 100, top: 130, bottom: 180, encoding: 'PNG' })).rejects.toMatchObject(corrupt);
    await expect(image.region({ encoding: 'TILED' })).rejects.toMatchObject(corrupt);
    await expect(brokenImage({ bands: 3, dtype: 'uint8', value: 7 }).region({ encoding: 'TILED' })).rejects.toMatchObject(
      corrupt,
    );
  });
});
