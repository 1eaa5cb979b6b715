import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';
import type { Client, TestHost } from '../../support/hosts/reference-host.js';
import { startStackHost } from '../../support/images/stacks.js';
import type { KnownImage } from '../../support/zarr/served-samples.js';

describe('a region as OME-TIFF', () => {
  let started: TestHost;
  let admin: Client;
  let item: string;
  let plain: string;
  let stack: KnownImage;

  beforeAll(async () => {
    ({ started, admin, item, plain, known: stack } = await startStackHost());
  });
  afterAll(() => started?.close());

  const region = (query: Record<string, string | number>, id = item) =>
    admin.send('GET', `/item/${id}/tiles/region`, { query: { encoding: 'OMETIFF', ...query } });

  it('has the samples of the channels of a frame, which our own source reads again', async () => {
    const box = { left: 10, top: 20, regionWidth: 280, regionHeight: 100 };
    const answer = await region({ ...box, frame: 6 + 2 });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/tiff']);
    const source = await tiffSource.open(memoryInput(answer.bytes, 'again.ome.tif'));
    const image = openLargeImage(source);
    expect(image.metadata()).toMatchObject({ sizeX: 280, sizeY: 100, dtype: 'uint16', IndexRange: { IndexC: 2 } });
    for (const channel of [0, 1]) {
      for (const [x, y] of [
        [0, 0],
        [279, 99],
        [260, 3],
      ] as const) {
        const expected = stack.planes[`1/${channel}/1`]![(y + 20) * stack.width + x + 10];
        expect(await image.pixel({ left: x, top: y, frame: channel })).toMatchObject({ value: [expected] });
      }
    }
    await source.close();
  });

  it('picks samples when it is scaled, and states the size of its pixels', async () => {
    const raster = paint({ width: 64, height: 64, bands: 1, dtype: 'int16' }, (x, y) => x - 1000 * y);
    const { source } = rasterSource(raster, { mmX: 0.001, mmY: 0.002 });
    const picture = await openLargeImage(source).region({ encoding: 'OMETIFF', width: 16 });
    if (picture.kind !== 'stream') throw new Error('not streamed');
    const chunks: Buffer[] = [];
    for await (const chunk of picture.stream) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    expect(bytes.length).toBe(picture.size);
    expect(bytes.toString('latin1')).toContain('SizeX="16" SizeY="16"');
    expect(bytes.toString('latin1')).toContain('PhysicalSizeX="4" PhysicalSizeY="8"');
    const readBack = openLargeImage(await tiffSource.open(memoryInput(bytes, 'again.ome.tif')));
    const { value } = await readBack.pixel({ left: 3, top: 5 });
    expect(raster.data.includes(value![0]!)).toBe(true);
    expect(readBack.metadata()).toMatchObject({ mm_x: 0.004, mm_y: 0.008, dtype: 'int16' });
  });

  it.each([
    ['OMETIFF', 'stack_region_10_20.ome.tif'],
    ['TILED', 'stack_region_10_20.tif'],
    ['TIFF', 'stack_region_10_20.tif'],
    ['PNG', 'stack_region_10_20.png'],
    ['JPEG', 'stack_region_10_20.jpg'],
  ])('is named after its position as %s', async (encoding, name) => {
    const query = { encoding, left: 10, top: 20, regionWidth: 5, regionHeight: 5, contentDisposition: 'attachment' };
    expect((await region(query)).headers.get('content-disposition')).toBe(`attachment; filename=${name}`);
    const answer = await region({ ...query, contentDispositionFilename: 'mine.bin' });
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename=mine.bin');
  });

  it.each<[Record<string, string | number>, string]>([
    [{ style: '{"min":0,"max":9}' }, 'A style changes samples'],
    [{ fill: '#fff', width: 10, height: 10 }, 'fill adds pixels'],
    [{ tiffCompression: 'jpeg' }, "Invalid tiffCompression 'jpeg'"],
    [{ tiffCompression: 'brotli' }, "Invalid tiffCompression 'brotli'"],
    [{ frameList: '0,12' }, 'Frame does not exist'],
    [{ frame: 12 }, 'Frame does not exist'],
    [{ encoding: 'PNG', frameList: '0' }, 'frameList is for encoding=OMETIFF'],
    [{ width: 100_000 }, 'at most 4294967296 are allowed'],
  ])('answers %j with 400', async (query, message) => {
    const { status, body } = await region(query);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it('is empty for a rectangle outside the image, and is not available for tiles and thumbnails', async () => {
    const empty = await region({ left: 1000, regionWidth: 10 });
    expect([empty.status, empty.bytes.length]).toEqual([200, 0]);
    for (const path of ['zxy/0/0/0', 'thumbnail', 'tile_frames']) {
      const { status, body } = await admin.send('GET', `/item/${plain}/tiles/${path}`, { query: { encoding: 'OMETIFF' } });
      expect([path, status, body.message]).toEqual([path, 400, expect.stringContaining('for regions only')]);
    }
  });
});
