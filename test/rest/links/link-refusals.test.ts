import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostLogger } from '../../../src/index.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('the token of a link', () => {
  let started: TestHost;
  let admin: Client;
  let item: string;
  let token: string;
  const logged: unknown[] = [];
  const log = (...entry: unknown[]) => void logged.push(entry);
  const logger: HostLogger = { debug: log, info: log, warn: log, error: log };

  const store = (key: string, sent = token) => `/item/${item}/zarr/t/${sent}/slide.ome.zarr/${key}`;
  const get = (key: string, sent?: string, headers: Record<string, string> = {}) =>
    started.anonymous.send('GET', store(key, sent), { headers });

  beforeAll(async () => {
    started = await startHost({ logger });
    admin = await started.register('admin');
    const folder = await newFolder(admin, 'Private');
    item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    token = String((await admin.ok('POST', `/item/${item}/link`)).token);
  });
  afterAll(() => started?.close());

  it('opens no other route', async () => {
    const [file] = (await admin.ok('GET', `/item/${item}/files`)) as unknown as { _id: string }[];
    const paths = [
      `/item/${item}`,
      `/item/${item}/tiles`,
      `/item/${item}/tiles/images/label`,
      `/item/${item}/download`,
      `/file/${file!._id}/download`,
      `/item/${item}/link`,
      `/item/${item}/zarr/slide.ome.zarr/zarr.json`,
    ];
    const places: Record<string, string>[] = [
      { 'Girder-Token': token },
      { Authorization: `Bearer ${token}` },
      { Cookie: `girderToken=${token}` },
    ];
    for (const path of paths) {
      for (const headers of places) expect((await started.anonymous.send('GET', path, { headers })).status, path).toBe(401);
      expect((await started.anonymous.send('GET', path, { query: { token } })).status, path).toBe(401);
    }
    expect((await started.anonymous.send('POST', `/item/${item}/tiles/convert`, { query: { token } })).status).toBe(401);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect([400, 404, 405]).toContain((await started.anonymous.send(method, store('zarr.json'))).status);
    }
  });

  it('never appears in the log', async () => {
    logged.length = 0;
    await get('zarr.json');
    await get('0/c/0/0/0');
    await get('absent');
    await get('zarr.json', `${token}x`);
    await started.anonymous.send('GET', `/item/${'0'.repeat(24)}/zarr/t/${token}/slide.ome.zarr/zarr.json`);
    expect(JSON.stringify(logged)).not.toContain(token);
  });

  it('lets pages of every origin read, without cookies, whatever the host allows', async () => {
    const origin = { Origin: 'https://viewer.example' };
    for (const allowed of ['', 'https://other.example', 'https://viewer.example', '*']) {
      await started.host.settings.set('core.cors.allow_origin', allowed);
      for (const answer of [
        await get('zarr.json', token, origin),
        await get('absent', token, origin),
        await get('zarr.json', 'wrong', origin),
      ]) {
        expect(answer.headers.get('access-control-allow-origin'), allowed).toBe('*');
        expect(answer.headers.has('access-control-allow-credentials'), allowed).toBe(false);
        const exposed = answer.headers.get('access-control-expose-headers')?.toLowerCase().split(', ') ?? [];
        expect(exposed).toEqual(
          expect.arrayContaining(['content-range', 'content-length', 'etag', 'accept-ranges', 'retry-after']),
        );
      }
      for (const path of [store('0/c/0/0/0'), `/item/${item}/zarr/slide.ome.zarr/0/c/0/0/0`]) {
        const request = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'authorization, range' };
        const preflight = await started.anonymous.send('OPTIONS', path, { headers: { ...origin, ...request } });
        expect(preflight.status).toBe(200);
        const headers = preflight.headers.get('access-control-allow-headers')?.toLowerCase().split(/, */) ?? [];
        expect(headers, `${allowed} ${path}`).toEqual(expect.arrayContaining(['authorization', 'range']));
        expect(preflight.headers.get('access-control-allow-methods')).toMatch(/GET.*HEAD/);
      }
    }
    await started.host.settings.set('core.cors.allow_origin', null);
  });

  it('is refused for every key when it has expired', async () => {
    const link = await admin.ok('POST', `/item/${item}/link`);
    expect((await get('zarr.json', String(link.token))).status).toBe(200);
    const { base, db } = started.host.context.models.item;
    const _id = new base.Types.ObjectId(String(link._id));
    await db.collection('large_image_link').updateOne({ _id }, { $set: { expires: new Date(Date.now() - 1) } });
    await until('the link has ended', async () => (await get('zarr.json', String(link.token))).status === 401);
    for (const key of ['zarr.json', '0/c/0/0/0', 'absent']) expect((await get(key, String(link.token))).status).toBe(401);
  });

  it('cannot be guessed: an address that tries many has to wait, while tokens that were valid before still work', async () => {
    expect((await get('zarr.json')).status).toBe(200);
    const statuses: number[] = [];
    while (statuses.length < 2000 && statuses.at(-1) !== 429) {
      statuses.push((await get('zarr.json', `wrong${statuses.length}`)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    const refused = await get('zarr.json', 'another');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await get('zarr.json')).status).toBe(200);
  });
});

it('a host that cannot identify the creator later makes no links', async () => {
  const started = await startHost();
  try {
    const admin = await started.register('admin');
    const folder = await newFolder(admin, 'Private');
    const item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    const before = String((await admin.ok('POST', `/item/${item}/link`)).token);
    Reflect.deleteProperty(started.host.host.auth, 'user');
    for (const path of [`/item/${item}/link`, `/folder/${folder}/link`]) {
      expect(await admin.fails('POST', path)).toMatchObject({ status: 501, message: expect.stringContaining('auth.user') });
    }
    expect((await started.anonymous.send('GET', `/item/${item}/zarr/t/${before}/a.ome.zarr/zarr.json`)).status).toBe(401);
  } finally {
    await started.close();
  }
});
