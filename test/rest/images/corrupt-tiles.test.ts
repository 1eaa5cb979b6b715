import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { grayTags, writeTiff } from '../../support/writers/tiff-writer.js';

const header = 'large-image-corrupt-tiles';

/** 16 tiles of gray, without coarser levels. */
function tiles(broken: number | null, side = 64): Buffer {
  const tile = deflateSync(Buffer.alloc(side * side, 100));
  const chunks = Array.from({ length: 16 }, (_, at) => (at === broken ? Buffer.from('no deflate stream') : tile));
  return writeTiff([{ tags: { ...grayTags(side * 4, side * 4, side), 259: { short: [8] } }, chunks }]);
}

describe('an image with one corrupt tile', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let item: string;
  let good: string;
  const get = (path: string, query: Record<string, string | number> = {}) =>
    admin.send('GET', `/item/${item}/tiles/${path}`, { query });

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Images');
    item = await uploadItem(admin, folder, 'broken.tif', tiles(6));
    good = await uploadItem(admin, folder, 'good.tif', tiles(null));
  });
  afterAll(() => started?.close());

  it.each([
    ['tiles/thumbnail', 'thumbnail', {}],
    ['a region', 'region', { width: 100 }],
    ['the tile of the whole image', 'zxy/0/0/0', {}],
    ['a Deep Zoom tile', 'dzi_files/7/0_0.png', {}],
    ['tile_frames', 'tile_frames', { frameList: '0' }],
    ['a pyramid with a style', 'region', { encoding: 'TILED', style: '{"band":1,"min":0,"max":255,"palette":["#000","#fff"]}' }],
  ])('shows a hole in %s, which no cache keeps', async (_, path, query) => {
    for (let time = 0; time < 2; time += 1) {
      const { status, headers } = await get(path, query);
      expect([status, headers.get(header), headers.get('cache-control'), headers.get('etag')]).toEqual([
        200,
        '1',
        'no-store',
        null,
      ]);
    }
  });

  it('reports no holes when there are none', async () => {
    const { status, headers } = await get('region', { left: 0, right: 128, top: 0, bottom: 64 });
    expect([status, headers.get(header)]).toEqual([200, null]);
    expect(headers.get('etag')).not.toBeNull();
  });

  it('refuses the tile itself, and samples with a hole, and names the tile', async () => {
    const tile = { tile: { level: 2, x: 2, y: 1, frame: 0 } };
    const refused = await get('zxy/2/2/1');
    expect([refused.status, refused.body]).toEqual([404, expect.objectContaining(tile)]);
    const raw = await get('region', { encoding: 'TILED' });
    expect([raw.status, raw.body]).toEqual([422, expect.objectContaining(tile)]);
    const stored = await get('region', { encoding: 'OMETIFF' });
    expect([stored.status, stored.body]).toEqual([422, expect.objectContaining(tile)]);
  });

  it('leaves the hole out of histograms and bands, and lists the tile', async () => {
    const [band] = (await admin.ok('GET', `/item/${item}/tiles/histogram`)) as unknown as { min: number; max: number }[];
    expect(band).toMatchObject({ min: 100, max: 100 });
    expect(await admin.ok('GET', `/item/${item}/tiles/bands`)).toMatchObject({ 1: { min: 100, max: 100 } });
    expect(await admin.ok('GET', `/item/${item}/tiles/internal_metadata`)).toMatchObject({
      corruptTiles: [{ level: 2, x: 2, y: 1, frame: 0 }],
    });
  });

  it('is counted as failed by the job that makes thumbnails, and no file of it is kept', async () => {
    const form = { spec: JSON.stringify([{ width: 90, height: 90 }]) };
    const job = await admin.ok('PUT', '/large_image/thumbnails', { form });
    const ended = await endedJob(admin, String(job._id));
    expect(ended.log.join('')).toMatch(/created 1 thumbnail file/);
    expect(ended.log.join('')).toContain(`Failed on 1 thumbnail file (last failure on item ${item})`);
    expect(await admin.ok('GET', '/large_image/thumbnails', { query: form })).toBe(1);
    const { headers } = await admin.send('GET', `/item/${good}/tiles/thumbnail`, { query: { width: 90, height: 90 } });
    expect(headers.get(header)).toBeNull();
  });

  it('cannot be converted, and the message says why', async () => {
    const { _id } = await admin.ok('POST', `/item/${item}/tiles/convert`);
    const ended = await endedJob(admin, String(_id));
    expect(ended.status).toBe(4);
    expect(ended.log.join('')).toMatch(/x=2, y=1 of level 2/);
  });

  it('draws the hole where the tile is', async () => {
    const { bytes } = await get('region', { encoding: 'PNG' });
    const { data } = await sharp(bytes).removeAlpha().toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
    const at = (x: number, y: number) => data[y * 256 + x];
    expect([at(127, 80), at(192, 80), at(150, 63), at(150, 128)]).toEqual([100, 100, 100, 100]);
    expect([64, 192]).toContain(at(150, 80));
  });
});
