import { Types } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FailedReadError, type HostLogger } from '../../../src/index.js';
import { priorities, type TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { HeldSource } from '../../support/images/held-source.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { pattern } from '../../support/images/pattern.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';
import { writeCzi, type WrittenBlock } from '../../support/writers/czi-writer.js';

const block = (axes: Record<string, number>, side: number): WrittenBlock => ({
  axes: { C: 0, ...axes },
  left: 0,
  top: 0,
  storedWidth: side,
  storedHeight: side,
  pixelType: 3,
  compression: 0,
  data: pattern(side, side, 3),
});

const label = writeCzi({ blocks: [block({ M: 0 }, 30)] }).file;
const withLabel = writeCzi({ blocks: [block({ M: 0 }, 300)], attachments: [{ name: 'Label', type: 'CZI', data: label }] }).file;
/** An image with this number of scenes. */
const scenes = (count: number) => writeCzi({ blocks: Array.from({ length: count }, (_, S) => block({ S, M: 0 }, 1)) }).file;

/** An image that opens, and whose tiles cannot be read. */
const failing: TileSourceDefinition = {
  name: 'failing',
  extensions: { default: priorities.manual, failing: priorities.preferred },
  mimeTypes: { default: priorities.manual },
  open: async () => ({
    ...rasterSource(paint({ width: 256, height: 256, bands: 3 }, (x) => x & 255)).source,
    readTile: () => Promise.reject(new FailedReadError('The disk does not answer.')),
  }),
};

describe('OME-Zarr at its limits', () => {
  const heldSource = new HeldSource();
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let folder: string;
  const logged: unknown[] = [];
  const log = (...entry: unknown[]) => void logged.push(entry);
  const logger: HostLogger = { debug: log, info: log, warn: log, error: log };

  beforeAll(async () => {
    started = await startHost({
      logger,
      install: {
        tileSources: [heldSource.definition, failing],
        queues: { chunks: { running: 1, waiting: 3 }, tiles: { running: 1, waiting: 3 } },
      },
    });
    await started.swept();
    admin = await started.register('admin');
    reader = await started.register('reader');
    folder = await newFolder(admin, 'Private');
    const access = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(access), public: false } });
  });
  afterAll(() => started?.close());

  const store = (item: string, key: string, link = '') => `/item/${item}/zarr${link}/a.ome.zarr/${key}`;

  it('refuses stores of more than 500 images with 413', async () => {
    const many = await uploadItem(admin, folder, 'scenes.czi', scenes(501));
    for (const key of ['zarr.json', '0/zarr.json', '0/0/c/0/0/0', 'OME/METADATA.ome.xml']) {
      const answer = await reader.send('GET', store(many, key));
      expect([key, answer.status]).toEqual([key, 413]);
      expect(answer.body.message).toBe('There are 501 images here; a store can have at most 500. Open them one by one.');
    }
    const full = await newFolder(admin, 'Many');
    const item = await uploadItem(admin, full, 'slide.tif', await pyramid());
    const items = started.host.context.models.item.collection;
    const stored = await items.findOne({ _id: new Types.ObjectId(item) });
    await items.insertMany(
      Array.from({ length: 500 }, (_, at) => ({ ...stored, _id: new Types.ObjectId(), name: `copy ${at}` })),
    );
    const answer = await admin.send('GET', `/folder/${full}/zarr/all.ome.zarr/zarr.json`);
    expect([answer.status, answer.body.message]).toEqual([413, expect.stringContaining('a store can have at most 500')]);
  });

  it('answers a read that fails with 503 and Retry-After', async () => {
    const item = await uploadItem(admin, folder, 'a.failing', Buffer.from('x'));
    for (const key of ['zarr.json', '0/zarr.json', '0/c/0/0/0']) {
      const answer = await reader.send('GET', store(item, key));
      expect([key, answer.status]).toEqual([key, 503]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });

  it('limits simultaneous HEAD requests with 503, and still makes tiles for others', async () => {
    heldSource.release();
    const names = ['a', 'b', 'c', 'd'];
    const items = await Promise.all(names.map((name) => uploadItem(admin, folder, `${name}.held`, Buffer.from(name))));
    const other = await uploadItem(admin, folder, 'other.tif', await pyramid());
    // Metadata measures an image once.
    for (const item of items) expect((await reader.send('GET', store(item, 'zarr.json'))).status).toBe(200);
    heldSource.hold();
    const floods = Array.from({ length: 60 }, (_, at) => reader.send('HEAD', store(items[at % 4]!, `0/c/${at % 3}/0/0`)));
    await until('a chunk is made', () => heldSource.readingCount > 0);
    // The waiting requests are not answered yet.
    expect((await Promise.race(floods)).status).toBe(503);
    // Tiles do not wait for chunks.
    expect((await admin.send('GET', `/item/${other}/tiles/zxy/0/0/0`)).status).toBe(200);
    heldSource.release();
    const answers = await Promise.all(floods);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
    for (const { status, headers } of answers) {
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      else expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
    }
    const chunk = await reader.send('GET', store(items[0]!, '0/c/1/0/0'));
    expect([chunk.status, chunk.headers.get('content-length')]).toEqual([200, String(chunk.bytes.length)]);
  });

  it('neither logs nor reads anything for absent keys', async () => {
    const item = await uploadItem(admin, folder, 'c.held', Buffer.from('x'));
    heldSource.release();
    expect((await reader.send('GET', store(item, 'zarr.json'))).status).toBe(200);
    heldSource.hold();
    logged.length = 0;
    for (let round = 0; round < 6; round += 1) {
      const keys = Array.from({ length: 50 }, (_, at) => `${round}/c/${at + 3}/${at}/${round}`);
      const answers = await Promise.all(keys.map((key) => reader.send('GET', store(item, key))));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    }
    expect([logged, heldSource.startedCount]).toEqual([[], 0]);
    heldSource.release();
  });

  it('shows associated images to callers who may see them, and to links that include them', async () => {
    const item = await uploadItem(admin, folder, 'label.czi', withLabel);
    const key = 'associated/label/zarr.json';
    const chunk = 'associated/label/0/c/0/0/0';
    const status = async (client: Client, of: string, link = '') => (await client.send('GET', store(item, of, link))).status;
    const linkOf = async (associated: boolean) =>
      `/t/${String((await reader.ok('POST', `/item/${item}/link`, { json: { associated } })).token)}`;
    const [unticked, ticked] = [await linkOf(false), await linkOf(true)];
    const visibleImages = async () => [
      await status(admin, key),
      await status(reader, key),
      await status(started.anonymous, key, ticked),
      await status(started.anonymous, chunk, ticked),
      await status(started.anonymous, key, unticked),
      await status(started.anonymous, chunk, unticked),
      await status(started.anonymous, 'zarr.json', unticked),
    ];
    expect(await visibleImages()).toEqual([200, 200, 200, 200, 404, 404, 200]);
    expect(await status(started.anonymous, key)).toBe(401);
    await started.host.settings.set('large_image.associated_images', 'WRITE');
    expect(await visibleImages()).toEqual([200, 404, 404, 404, 404, 404, 200]);
    await started.host.settings.set('large_image.associated_images', null);
    const document = await reader.send('GET', store(item, key));
    expect(JSON.stringify(document.body)).toContain('"shape":[3,30,30]');
  });
});
