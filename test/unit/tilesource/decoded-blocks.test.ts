import { expect, it } from 'vitest';
import { DecodedBlocks } from '../../../src/tilesource/process/decoded-blocks.js';
import { createRaster } from '../../../src/tilesource/raster.js';

const empty = async () => createRaster({ width: 0, height: 1, bands: 1, dtype: 'uint8' });

it('limits the number of blocks when they have no samples', async () => {
  const blocks = new DecodedBlocks(2 ** 20).createFileBlocks();
  const names = Array.from({ length: 2000 }, (_, i) => `${i}`);
  for (const name of names) await blocks.read(name, empty);
  let decoded = 0;
  for (const name of names.toReversed()) {
    await blocks.read(name, () => {
      decoded += 1;
      return empty();
    });
  }
  expect(decoded).toBeGreaterThanOrEqual(2000 - 2 ** 9);
});

it('a closed file releases its blocks, and no others', async () => {
  const decodedBlocks = new DecodedBlocks(2 ** 24);
  const [first, second] = [decodedBlocks.createFileBlocks(), decodedBlocks.createFileBlocks()];
  for (const blocks of [first, second]) await blocks.read('a', empty);
  first.free();
  const decoded: string[] = [];
  const noting = (name: string) => () => {
    decoded.push(name);
    return empty();
  };
  await first.read('a', noting('one'));
  await second.read('a', noting('other'));
  expect(decoded).toEqual(['one']);
});
