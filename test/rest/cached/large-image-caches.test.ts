import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import type { CacheReport } from '../../../src/index.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { noRedis, startRedis, type TestRedis } from '../../support/hosts/redis.js';
import { until } from '../../support/run/until.js';
import sharp from 'sharp';

type Reports = Record<'tilesource' | 'tileCache', CacheReport>;

const reportOf = async (client: Client): Promise<Reports> => (await client.ok('GET', '/large_image/cache')) as unknown as Reports;

/** Uploads a picture of several tiles to a new folder. @returns the item */
async function uploadPicture(admin: Client): Promise<string> {
  const collection = await admin.create('/collection', { name: `c${Math.random()}` });
  const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'f' });
  const plain = sharp({ create: { width: 600, height: 500, channels: 3, background: { r: 20, g: 140, b: 90 } } });
  const bytes = await plain.tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg' }).toBuffer();
  const query = { parentType: 'folder', parentId: folder, name: 'a.tif', size: bytes.length };
  return String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/;

describe('caches of one process', () => {
  let started: TestHost;
  let admin: Client;
  let item: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    item = await uploadPicture(admin);
  });
  afterAll(() => started?.close());

  it('fill with tiles and files, and are empty after a clear', async () => {
    for (const x of [0, 1]) await admin.send('GET', `/item/${item}/tiles/zxy/2/${x}/0`);
    const full = await reportOf(admin);
    expect(full.tilesource).toEqual({ maxsize: 64, used: 1 });
    expect(full.tileCache).toMatchObject({ items: 2, used: expect.any(Number), maxsize: expect.any(Number) });
    const cleared = await admin.ok('PUT', '/large_image/cache/clear');
    expect(cleared).toEqual({
      cacheCleared: expect.stringMatching(timePattern),
      before: full,
      after: { tilesource: { ...full.tilesource, used: 0 }, tileCache: { ...full.tileCache, used: 0, items: 0 } },
    });
    expect(await reportOf(admin)).toEqual((cleared as unknown as { after: Reports }).after);
  });

  it('keep styles and encodings apart', async () => {
    await admin.ok('PUT', '/large_image/cache/clear');
    const style = JSON.stringify({ bands: [{ band: 1, palette: ['#000', '#f00'] }] });
    const queries: Record<string, string>[] = [{ encoding: 'JPEG' }, { encoding: 'PNG' }, { encoding: 'PNG', style }];
    const answers = await Promise.all(queries.map((query) => admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`, { query })));
    expect(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size).toBe(3);
    await until('they are kept', async () => (await reportOf(admin)).tileCache.items === 3);
  });

  it('can be cleared while a file has a reader', async () => {
    const reading = admin.send('GET', `/item/${item}/tiles/region`, {
      query: { width: 600, encoding: 'PNG', units: 'base_pixels' },
    });
    expect((await admin.send('PUT', '/large_image/cache/clear')).status).toBe(200);
    expect((await reading).status).toBe(200);
  });

  it('are cleared when the color correction changes, in browsers too', async () => {
    await admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`);
    const set = (value: string) => admin.send('PUT', '/system/setting', { query: { key: 'large_image.icc_correction', value } });
    const changed = await set('false');
    expect(changed.headers.get('clear-site-data')).toBe('"cache"');
    expect((await reportOf(admin)).tileCache.items).toBe(0);
    expect((await set('false')).headers.get('clear-site-data')).toBeNull();
    const query = { key: 'large_image.icc_correction' };
    expect((await admin.send('DELETE', '/system/setting', { query })).headers.get('clear-site-data')).toBe('"cache"');
  });

  it('can be turned off', async () => {
    const off = await startHost({ install: { cacheBackend: 'none', maxOpenSources: 0 } });
    try {
      const owner = await off.register('admin');
      const picture = await uploadPicture(owner);
      for (let i = 0; i < 2; i++) expect((await owner.send('GET', `/item/${picture}/tiles/zxy/0/0/0`)).status).toBe(200);
      // A file is closed when its reader has released it, which may be just after the reply.
      await until('nothing is open', async () => (await reportOf(owner)).tilesource.used === 0);
      expect(await reportOf(owner)).toEqual({
        tilesource: { maxsize: 0, used: 0 },
        tileCache: { maxsize: 0, used: 0, items: 0 },
      });
    } finally {
      await off.close();
    }
  });
});

describe.skipIf(noRedis !== null)(
  `caches of two processes on one Redis${noRedis === null ? '' : ` (skipped: ${noRedis})`}`,
  () => {
    let redis: TestRedis;
    let started: TestHost;
    let second: ReferenceHost;
    let admin: Client;
    let elsewhere: Client;
    let item: string;

    beforeAll(async () => {
      redis = await startRedis();
      const env = { LARGE_IMAGE_CACHE_BACKEND: 'redis', LARGE_IMAGE_CACHE_REDIS_URL: redis.url };
      started = await startHost({ install: { env } });
      admin = await started.register('admin');
      item = await uploadPicture(admin);
      const { databaseUri: mongoUri, dataDirectory } = started;
      second = await createReferenceHost({ mongoUri, dataDirectory, brand: 'girder', install: { env } });
      elsewhere = new Client((await second.listen()).url, admin.token, admin.id);
    });
    afterAll(async () => {
      await second?.close();
      await started?.close();
      await redis?.close();
    });

    const view = (client: Client, path = 'zxy/2/0/0') => client.send('GET', `/item/${item}/tiles/${path}`);

    it('share tiles, and report the open files of both', async () => {
      const tile = await view(admin);
      await until('it is kept', async () => (await reportOf(admin)).tileCache.items === 1);
      const sharedTile = await view(elsewhere);
      expect(sharedTile.bytes.equals(tile.bytes)).toBe(true);
      await view(elsewhere, 'zxy/2/1/0');
      const report = await until('both are seen', async () => {
        const current = await reportOf(elsewhere);
        return current.tileCache.items === 2 && current;
      });
      expect(report.tilesource).toEqual({ maxsize: 128, used: 2, processes: 2 });
      expect(report.tileCache).toMatchObject({ items: 2, available: true });
      expect(await reportOf(admin)).toEqual(report);
    });

    it('are cleared in both processes by a request to either', async () => {
      for (const client of [admin, elsewhere]) for (const x of [0, 1]) await view(client, `zxy/2/${x}/1`);
      const { after } = (await elsewhere.ok('PUT', '/large_image/cache/clear')) as unknown as { after: Reports };
      expect([after.tilesource.used, after.tileCache.used]).toEqual([0, 0]);
      expect((await reportOf(admin)).tilesource).toEqual({ maxsize: 128, used: 0, processes: 2 });
    });

    it('release a file that was removed in the other process', async () => {
      const other = await uploadPicture(admin);
      await elsewhere.ok('GET', `/item/${other}/tiles`);
      const { used } = (await reportOf(admin)).tilesource;
      await admin.ok('DELETE', `/item/${other}/tiles`);
      await until('it is closed', async () => (await reportOf(admin)).tilesource.used < used);
      expect((await elsewhere.send('GET', `/item/${other}/tiles`)).status).toBe(400);
    });

    it('keep serving while Redis stops, hangs and returns under load, and clear afterwards', async () => {
      const statuses = new Map<number, number>();
      let isOver = false;
      const load = [admin, elsewhere].flatMap((client) =>
        Array.from({ length: 4 }, async (_, lane) => {
          for (let i = 0; !isOver; i++) {
            const { status } = await view(client, `zxy/2/${(i + lane) % 3}/${i % 2}`);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        }),
      );
      try {
        await redis.stop();
        const down = await until('the report shows it', async () => {
          const current = await reportOf(admin);
          return current.tileCache.available === false && current;
        });
        expect(down.tileCache.error).toMatch(/./);
        expect(down.tilesource).toMatchObject({ maxsize: 64, processes: 1 });
        expect((await admin.send('PUT', '/large_image/cache/clear')).status).toBe(200);
        await redis.start();
        await until('both are back', async () => {
          const { tilesource, tileCache } = await reportOf(admin);
          return tilesource.processes === 2 && tileCache.available === true && (tileCache.items ?? 0) > 0;
        });
        await redis.stop('hang');
        await until('the report shows it', async () => (await reportOf(elsewhere)).tileCache.available === false);
        redis.wake();
        await until('both are back', async () => {
          const { tilesource, tileCache } = await reportOf(elsewhere);
          return tilesource.processes === 2 && tileCache.available === true;
        });
      } finally {
        redis.wake();
        isOver = true;
        await Promise.all(load);
      }
      expect([...statuses.keys()]).toEqual([200]);
      expect(statuses.get(200)).toBeGreaterThan(load.length);
    });
  },
);
