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
    ['the disk, as a source tells it', new TileSourceError('The bytes could not be read.', { cause: systemError })],
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
