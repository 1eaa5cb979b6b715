import { afterEach, describe, expect, it } from 'vitest';
import type { TileSource } from '../../../../src/tilesource/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { sampleFile } from '../../../support/images/data.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { grayTags, writeTiff, type TagValue, type WrittenDirectory } from '../../../support/writers/tiff-writer.js';

const opened: TileSource[] = [];
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close();
});

async function open(bytes: Uint8Array): Promise<TileSource> {
  const source = await tiffSource.open(memoryInput(bytes));
  opened.push(source);
  return source;
}

function plane(size: number, fill: number, tags: Record<number, TagValue> = {}): WrittenDirectory {
  const tiles = Math.ceil(size / 32) ** 2;
  return {
    tags: { ...grayTags(size, size, 32), ...tags },
    chunks: Array.from({ length: tiles }, () => Buffer.alloc(1024, fill)),
  };
}

function ome(pixels: string, children: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1"><Image ID="Image:0"><Pixels ID="Pixels:0" ${pixels}>${children}</Pixels></Image></OME>`;
}

async function firstSample(source: TileSource, level: number, frame: number): Promise<number | undefined> {
  return (await source.readTile({ level, x: 0, y: 0, frame })).data[0];
}

describe('OME-TIFF', () => {
  const sizes =
    'SizeX="64" SizeY="64" SizeC="2" SizeZ="3" SizeT="1" Type="uint8" PhysicalSizeX="250" PhysicalSizeXUnit="nm" PhysicalSizeY="0.5"';
  const channels = '<Channel Name="DAPI"/><Channel Name="FITC"/>';
  const six = (description: string): Buffer =>
    writeTiff([1, 2, 3, 4, 5, 6].map((fill, index) => plane(64, fill, index === 0 ? { 270: { ascii: description } } : {})));

  it.each([
    ['XYCZT', { C: 1, Z: 0, T: 0 }],
    ['XYZCT', { C: 0, Z: 1, T: 0 }],
  ])('orders its frames by DimensionOrder %s', async (order, second) => {
    const source = await open(six(ome(`DimensionOrder="${order}" ${sizes}`, `${channels}<TiffData/>`)));
    expect(source.metadata.frames?.length).toBe(6);
    expect(source.metadata.frames?.[1]?.axes).toEqual(second);
    expect(source.metadata.channels).toEqual(['DAPI', 'FITC']);
    expect([source.metadata.mmX, source.metadata.mmY]).toEqual([0.000_25, 0.0005]);
    expect(await firstSample(source, 1, 5)).toBe(6);
  });

  it('finds planes where TiffData says they are, and leaves missing ones empty', async () => {
    const blocks =
      '<TiffData IFD="5" FirstC="0" FirstZ="0" PlaneCount="1"/><TiffData IFD="0" FirstC="1" FirstZ="1" PlaneCount="1"/>';
    const source = await open(six(ome(`DimensionOrder="XYCZT" ${sizes}`, channels + blocks)));
    const samples = await Promise.all([0, 1, 2, 3].map((frame) => firstSample(source, 1, frame)));
    expect(samples).toEqual([6, 0, 0, 1]);
  });

  it('takes the reduced levels of every frame from its SubIFDs', async () => {
    const text = ome('DimensionOrder="XYCZT" SizeX="128" SizeY="128" SizeC="2" SizeZ="1" SizeT="1" Type="uint8"', '<TiffData/>');
    const frames = [10, 20].map((fill, index) => ({
      ...plane(128, fill, index === 0 ? { 270: { ascii: text } } : {}),
      sub: [plane(64, fill + 1), plane(32, fill + 2)],
    }));
    for (const options of [{}, { bigEndian: true }, { big: true }]) {
      const source = await open(writeTiff(frames, options));
      expect(source.populatedLevels).toEqual([0, 1, 2]);
      expect(await Promise.all([0, 1, 2].map((level) => firstSample(source, level, 1)))).toEqual([22, 21, 20]);
    }
  });

  const bomb = `<!DOCTYPE o [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>${ome(sizes, '&b;').slice(38)}`;
  const inFile = (file: string, uuid: string, plane: number): string =>
    `<TiffData IFD="${plane}" FirstC="${plane % 2}" FirstZ="${plane >> 1}"><UUID FileName="${file}">urn:uuid:${uuid}</UUID></TiffData>`;
  const order = `DimensionOrder="XYCZT" ${sizes}`;
  it.each<[string, string, number, RegExp]>([
    [
      'is in a companion',
      `<OME UUID="1"><BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:9"/></OME>`,
      6,
      /set\.companion\.ome/,
    ],
    ['places all planes in another file', ome(order, channels + inFile('b.tif', '2', 0)), 6, /other files: b\.tif/],
    [
      'places some planes in another file',
      ome(order, channels + inFile('a.tif', '1', 0) + inFile('b.tif', '2', 1)),
      5,
      /not read: b\.tif/,
    ],
    [
      'describes images of other sizes',
      ome(order, '<TiffData/>').replace(
        '</OME>',
        `${['A', 'label'].map((name) => `<Image Name="${name}"><Pixels SizeX="9" SizeY="9" SizeC="1"><TiffData IFD="5"/></Pixels></Image>`).join('')}</OME>`,
      ),
      6,
      /other sizes are not read: A\.$/,
    ],
    ['names pages that are not there', ome(order.replace('SizeZ="3"', 'SizeZ="5"'), '<TiffData/>'), 6, /describes 4 planes/],
    ['has only pages that are not there', ome(order, '<TiffData IFD="99" PlaneCount="6"/>'), 6, /names no directory/],
    ['has no channels', ome(order.replace('SizeC="2"', 'SizeC="0"'), '<TiffData/>'), 6, /describes 0 planes/],
    ['has a different size', ome(order.replace('SizeX="64"', 'SizeX="65"'), '<TiffData/>'), 6, /65 by 64 pixels/],
    ['has more planes than make sense', ome(order.replace('SizeZ="3"', 'SizeZ="3000000"'), ''), 6, /planes; 1 to 100000/],
    ['has an order that does not exist', ome('DimensionOrder="YX" SizeX="64" SizeY="64"', ''), 6, /DimensionOrder="YX"/],
    ['holds no image', '<OME></OME>', 6, /describes no image/],
    ['has entities that expand', bomb, 6, /DOCTYPE/],
    ['is cut off', `${ome(order, '').slice(0, 200)}>`, 6, /./],
  ])('shows the pages that are there, with a note, when the OME-XML %s', async (_name, text, frames, note) => {
    const source = await open(six(text));
    expect(source.metadata.frames?.length).toBe(frames);
    expect(await firstSample(source, 1, 0)).toBe(1);
    const { notes } = (await source.internalMetadata?.()) ?? {};
    expect(notes).toEqual([expect.stringMatching(note)]);
  });

  it('takes white from SignificantBits', async () => {
    const wide = { 258: { short: [16] }, 270: { ascii: ome('SizeX="32" SizeY="32" SignificantBits="12"', '<TiffData/>') } };
    const file = writeTiff([{ tags: { ...grayTags(32, 32, 32), ...wide }, chunks: [Buffer.alloc(2048)] }]);
    expect((await open(file)).metadata).toMatchObject({ dtype: 'uint16', white: 4095 });
  });

  it('is described as existing clients expect', async () => {
    const path = sampleFile('multi-channel-z-series.ome.tif');
    if (path === null) return;
    const source = await tiffSource.open(fileInput(path));
    opened.push(source);
    const { sizeX, sizeY, tileWidth, tileHeight, levels, dtype, bandCount, frames } = source.metadata;
    expect({ sizeX, sizeY, tileWidth, tileHeight, levels, dtype, bandCount }).toEqual({
      sizeX: 439,
      sizeY: 167,
      tileWidth: 439,
      tileHeight: 256,
      levels: 1,
      dtype: 'int8',
      bandCount: 1,
    });
    expect(frames?.length).toBe(15);
    expect(frames?.[14]).toMatchObject({ axes: { C: 2, Z: 4, T: 0 }, extra: { IFD: '14', PlaneCount: '1' } });
  });
});

describe('TIFF of other writers', () => {
  it('reads magnification, pixel size and associated images of SVS', async () => {
    const path = sampleFile('CMU-1-Small-Region.svs');
    if (path === null) return;
    const source = await tiffSource.open(fileInput(path));
    opened.push(source);
    expect(source.metadata).toMatchObject({
      sizeX: 2220,
      sizeY: 2967,
      tileWidth: 240,
      levels: 5,
      magnification: 20,
      mmX: 0.000_499,
    });
    expect(source.associatedImages).toEqual(['label', 'macro', 'thumbnail']);
    const label = await source.readAssociatedImage?.('label');
    expect([label?.raster.width, label?.raster.height, label?.raster.bands]).toEqual([387, 463, 3]);
    expect(await source.internalMetadata?.()).toMatchObject({ aperio_version: 'Aperio Image Library v11.2.1' });
  });

  it("reads the frames and channels that Girder's converter writes", async () => {
    const describe0 = JSON.stringify({
      large_image_converter: {},
      channels: ['a', 'b'],
      frame: { Frame: 0, Index: 0, IndexC: 0, Channel: 'a' },
      metadata: { magnification: 40 },
    });
    const describe1 = JSON.stringify({ frame: { Frame: 1, Index: 0, IndexC: 1, Channel: 'b', Exposure: 3 } });
    const source = await open(
      writeTiff([plane(64, 1, { 270: { ascii: describe0 } }), plane(64, 2, { 270: { ascii: describe1 } })]),
    );
    expect(source.metadata).toMatchObject({ magnification: 40, channels: ['a', 'b'] });
    expect(source.metadata.frames?.[1]).toEqual({ axes: { C: 1 }, channel: 'b', extra: { Exposure: 3 } });
  });

  it('skips levels between two stored ones, and ratios that are not a power of two', async () => {
    const source = await open(
      writeTiff([plane(256, 1), plane(85, 9, { 254: { long: [1] } }), plane(64, 3, { 254: { long: [1] } })]),
    );
    expect(source.metadata.levels).toBe(4);
    expect(source.populatedLevels).toEqual([1, 3]);
    expect(await firstSample(source, 1, 0)).toBe(3);
  });

  it('trusts microscope resolutions, not those of screens, and none without a unit', async () => {
    const resolution = (perUnit: number, unit: number): Record<number, TagValue> => ({
      282: { rational: [[perUnit, 1]] },
      283: { rational: [[perUnit, 1]] },
      296: { short: [unit] },
    });
    const sizes = await Promise.all(
      [resolution(40_000, 3), resolution(50_800, 2), resolution(72, 2), resolution(40_000, 1)].map(
        async (tags) => (await open(writeTiff([plane(64, 1, tags)]))).metadata.mmX,
      ),
    );
    expect(sizes).toEqual([0.000_25, 0.0005, null, null]);
  });
});

describe('bad files are refused with a reason', () => {
  const gray = (tags: Record<number, TagValue>): Buffer => writeTiff([plane(64, 1, tags)]);
  it.each([
    ['a loop of directories', writeTiff([plane(64, 1), plane(64, 2)], { loopTo: 0 }), /loop/],
    ['a loop onto itself', writeTiff([plane(64, 1)], { loopTo: 0 }), /loop/],
    ['width 0', gray({ 256: { long: [0] } }), /size is 0 by 64/],
    ['width 2^31', gray({ 256: { long: [2 ** 31] } }), /size is 2147483648/],
    ['tiles of no width', gray({ 322: { short: [0] } }), /tiles or strips are 0 by 32/],
    ['fewer tiles than the size asks for', gray({ 256: { long: [640] } }), /requires 40 tiles/],
    [
      'a tile larger than memory',
      gray({ 256: { long: [60_000] }, 257: { long: [60_000] }, 322: { long: [60_000] }, 323: { long: [60_000] } }),
      /one tile of 60000 by 60000/,
    ],
    ['old JPEG', gray({ 259: { short: [6] } }), /old-style JPEG/],
    ['an unknown compression', gray({ 259: { short: [999] } }), /compression 999/],
    ['samples of different depth', gray({ 258: { short: [8, 16] }, 277: { short: [2] } }), /differ in depth/],
    ['an offset past 2^53', gray({ 256: { long8: [2 ** 60] } }), /past any file/],
    ['no TIFF', Buffer.from('hello world, this is text'), /neither II nor MM/],
    ['an empty file', Buffer.alloc(0), /neither II nor MM/],
    ['a first directory outside the file', Buffer.from('49492a00ffffff7f', 'hex'), /Truncated or corrupt/],
  ])('%s', async (_name, file, message) => {
    const input = memoryInput(file);
    await expect(tiffSource.open(input)).rejects.toMatchObject({ code: 'tile-source', message: expect.stringMatching(message) });
    expect(input.openReaderCount()).toBe(0);
    expect(input.strayReads).toEqual([]);
  });

  it('tile data outside the file only when that tile is read', async () => {
    const source = await open(gray({ 324: { long: [8, 8, 8, 0x7f_ff_ff_ff] } }));
    await source.readTile({ level: 1, x: 0, y: 0, frame: 0 });
    await expect(source.readTile({ level: 1, x: 1, y: 1, frame: 0 })).rejects.toThrow(
      /tile or strip 3 should be at byte 2147483647/,
    );
  });
});
