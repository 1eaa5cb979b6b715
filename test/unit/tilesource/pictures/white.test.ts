import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { convertSamples, findSampleMapping } from '../../../../src/tilesource/convert/samples.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import { createByteConverter } from '../../../../src/tilesource/render/pixels.js';
import { whiteOfBits, type SampleType } from '../../../../src/tilesource/raster.js';
import { cziSource } from '../../../../src/tilesource/sources/czi/czi-source.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';
import { writeCzi } from '../../../support/writers/czi-writer.js';

const depths: [SampleType, number][] = [
  ['uint8', 5],
  ['uint8', 7],
  ['int8', 6],
  ...[9, 10, 11, 12, 13, 14, 15].flatMap((bits): [SampleType, number][] => [
    ['uint16', bits],
    ['int16', bits],
  ]),
  ['uint32', 20],
  ['int32', 31],
];

describe('samples that use only some bits of their type', () => {
  it.each(depths)('of %s with %i bits are shown from black to white, in tiles and regions', async (dtype, bits) => {
    const { white = 0 } = whiteOfBits(dtype, bits);
    const black = dtype.startsWith('int') ? -white - 1 : 0;
    const middle = Math.floor((white + black + 1) / 2);
    const samples = [black, white, middle];
    const raster = paint({ width: 3, height: 1, bands: 1, dtype }, (x) => samples[x]!);
    const image = openLargeImage(rasterSource(raster, { white, tileWidth: 3, tileHeight: 1 }).source);
    const tile = await image.tile({ level: 0, x: 0, y: 0, encoding: 'PNG' });
    const region = await image.region({ encoding: 'PNG' });
    for (const picture of [tile, region]) {
      if (picture.kind !== 'bytes') throw new Error('no bytes');
      const { data } = await sharp(picture.bytes).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
      expect([...data]).toEqual([0, 255, bits < 8 ? Math.round(((middle - black) * 255) / (white - black)) : 128]);
    }
    expect(await image.pixel({ left: 1, top: 0 })).toEqual({ value: [white], l: 255 });
    const full = JSON.stringify({ min: 0, max: 'full' });
    expect(await image.pixel({ left: 1, top: 0, style: full })).toMatchObject({ l: 255 });
  });

  it.each(depths)('of %s with %i bits show the same in a converted copy', async (dtype, bits) => {
    const { white = 0 } = whiteOfBits(dtype, bits);
    const black = dtype.startsWith('int') ? -white - 1 : 0;
    const step = Math.max(1, Math.floor((white - black) / 4099));
    const width = Math.floor((white - black) / step) + 1;
    const raster = paint({ width, height: 1, bands: 1, dtype }, (x) => black + x * step);
    const mapping = await findSampleMapping(rasterSource(raster, { white }).source, [0]);
    const copy = convertSamples(raster, mapping);
    const [shown, copied] = [createByteConverter(dtype, white), createByteConverter(mapping.dtype)];
    const differing = [...copy.data].filter((sample, x) => copied(sample) !== shown(raster.data[x]!));
    // Fewer than eight bits that become eight, and fractions, are rounded instead of cut off.
    expect(differing.length).toBeLessThanOrEqual(mapping.dtype === 'uint8' ? width : bits > 16 ? width / 100 : 0);
    expect(differing.every((sample) => Number.isInteger(sample))).toBe(true);
    expect([
      copied(copy.data[0]!),
      copied(
        convertSamples(
          paint({ width: 1, height: 1, bands: 1, dtype }, () => white),
          mapping,
        ).data[0]!,
      ),
    ]).toEqual([0, 255]);
  });
});

describe('white', () => {
  it.each([
    [
      'of a channel',
      '<Dimensions><Channels><Channel Id="Channel:0"><ComponentBitCount>12</ComponentBitCount></Channel></Channels></Dimensions>',
      4095,
    ],
    ['of the image', '<ComponentBitCount>10</ComponentBitCount>', 1023],
    ['of all bits where the file says nothing', '', 65_535],
    ['of all bits where it says 16', '<ComponentBitCount>16</ComponentBitCount>', 65_535],
  ])('follows the number of bits that a CZI states, %s', async (_, image, white) => {
    const data = Buffer.alloc(8);
    [0, white, Math.ceil(white / 2), 0].forEach((sample, at) => data.writeUInt16LE(sample, at * 2));
    const block = { axes: { C: 0 }, left: 0, top: 0, storedWidth: 4, storedHeight: 1, pixelType: 1, compression: 0, data };
    const { file } = writeCzi({ blocks: [block], xml: `<Information><Image>${image}</Image></Information>` });
    const source = await cziSource.open(memoryInput(file, 'a.czi'));
    const region = await openLargeImage(source).region({ encoding: 'PNG' });
    if (region.kind !== 'bytes') throw new Error('no bytes');
    const shown = await sharp(region.bytes).toColourspace('b-w').raw().toBuffer();
    expect([...shown]).toEqual([0, 255, 128, 0]);
    await source.close();
  });

  it('of associated images follows their number of bits', async () => {
    const samples = paint({ width: 3, height: 1, bands: 1, dtype: 'uint16' }, (x) => [0, 1023, 512][x]!);
    const { source } = rasterSource(samples, { tileWidth: 3, tileHeight: 1 });
    const associated = { ...source, readAssociatedImage: async () => ({ raster: samples, white: 1023 }) };
    const shown = await openLargeImage(associated).associatedImage('label', { encoding: 'PNG' });
    expect([...(await sharp(shown!.bytes).toColourspace('b-w').raw().toBuffer())]).toEqual([0, 255, 128]);
  });
});
