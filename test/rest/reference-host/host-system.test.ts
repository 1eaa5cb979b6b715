import { Types } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

let server: TestHost;
let admin: Client;
let user: Client;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  user = await server.register('user');
});
afterAll(() => server.close());

describe('system', () => {
  it('reports a version that existing clients accept as recent, and its start time', async () => {
    const version = await server.anonymous.ok('GET', '/system/version');
    expect(version).toMatchObject({ release: expect.stringMatching(/^[3-9]\./), serverStartDate: expect.any(String) });
    expect(Date.parse(String(version.serverStartDate))).toBe(server.host.context.startDate.getTime());
  });

  it('shows plugins, store and configuration to administrators', async () => {
    expect(await admin.ok('GET', '/system/plugins')).toMatchObject({
      loaded: ['large_image'],
      all: { large_image: { version: expect.any(String) } },
    });
    expect(await admin.ok('GET', '/assetstore')).toMatchObject([{ type: 0, current: true }]);
    const configuration = '/system/configuration';
    expect(await admin.ok('GET', configuration)).toMatchObject({ server: { apiRoot: '/api/v1' }, storage: {} });
    expect(await admin.ok('GET', configuration, { query: { section: 'server', key: 'apiRoot' } })).toBe('/api/v1');
    expect(await admin.fails('GET', configuration, { query: { section: 'constructor' } })).toMatchObject({
      status: 400,
      message: 'No such section: constructor.',
    });
    for (const path of ['/system/plugins', '/assetstore', configuration]) {
      expect(await user.fails('GET', path)).toMatchObject({
        status: 403,
        type: 'access',
        message: 'Administrator access required.',
      });
      expect(await server.anonymous.fails('GET', path)).toMatchObject({ status: 401, message: 'Administrator access required.' });
    }
    expect(await server.anonymous.ok('GET', '/system/check')).toMatchObject({ database: 'ok' });
    expect(await server.anonymous.ok('GET', '/system/access_flag')).toHaveProperty('large_image_create_annotations');
    expect(await server.anonymous.ok('GET', '/system/public_settings')).toMatchObject({ 'core.brand_name': 'Girder' });
  });

  it('keeps the settings of the host in the store of the plugin', async () => {
    const key = 'core.cookie_lifetime';
    expect(await admin.ok('GET', '/system/setting', { query: { key } })).toBe(180);
    expect(await admin.ok('PUT', '/system/setting', { query: { key, value: '7' } })).toBe(true);
    expect(await admin.ok('GET', '/system/setting', { query: { key } })).toBe(7);
    expect(await admin.fails('PUT', '/system/setting', { query: { key, value: '-1' } })).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'value',
    });
    await admin.ok('DELETE', '/system/setting', { query: { key } });
    expect(await admin.ok('GET', '/system/setting', { query: { key } })).toBe(180);
  });

  it('describes its routes with those of the plugin', async () => {
    const { paths } = await server.anonymous.ok('GET', '/describe');
    expect(Object.keys(paths as object)).toEqual(
      expect.arrayContaining(['/user/authentication', '/file/chunk', '/folder/{id}/access']),
    );
  });

  it('marks every response with an id', async () => {
    for (const path of ['/system/version', '/item/zzz', '/item/a/b/c/d']) {
      const { headers } = await server.anonymous.send('GET', path);
      expect(headers.get('girder-request-uid')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('CORS', () => {
  const origin = 'https://viewer.example.org';
  const get = (method = 'GET', path = '/system/version', from = origin) =>
    server.anonymous.send(method, path, { headers: { Origin: from } });
  const allow = (value: string) => admin.ok('PUT', '/system/setting', { query: { key: 'core.cors.allow_origin', value } });

  it('is off without a setting', async () => {
    const { headers } = await get();
    expect(headers.get('access-control-allow-origin')).toBe(null);
    expect(headers.get('access-control-allow-credentials')).toBe(null);
  });

  it('answers the origins that match, even on errors', async () => {
    await allow('http://other.org/, https://*.example.org/');
    for (const path of ['/system/version', '/item/zzz', '/item/000000000000000000000000/tiles/zxy/0/0/0']) {
      const { headers } = await get('GET', path);
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('access-control-expose-headers')).toBe('Girder-Total-Count, Content-Disposition');
      expect(headers.get('vary')).toContain('Origin');
    }
    expect((await get('GET', '/system/version', 'https://example.org.evil.com')).headers.get('access-control-allow-origin')).toBe(
      null,
    );
    expect((await get('GET', '/system/version', 'http://other.org')).headers.get('access-control-allow-origin')).toBe(
      'http://other.org',
    );
  });

  it('answers OPTIONS on every path', async () => {
    const { status, headers, bytes } = await get('OPTIONS', '/anything/at/all');
    expect([status, bytes.length]).toEqual([200, 0]);
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, HEAD, DELETE');
    expect(headers.get('access-control-allow-headers')).toContain('Girder-Token');
    await allow('*');
    expect((await get()).headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('parameters', () => {
  it.each([
    ['/folder?text=x&limit=x', 'Invalid value for integer parameter limit: x.'],
    ['/folder?text=x&sortdir=3', 'Invalid value for sortdir: "3". Allowed values: 1, -1.'],
    ['/folder?text=a&text=b', 'Parameter "text" must not be specified multiple times.'],
    ['/resource/search?q=x&types={}', 'Parameter types must be a JSON array.'],
    ['/file/offset', 'Parameter "uploadId" is required.'],
  ])('of GET %s are named when they are refused', async (path, message) => {
    expect(await user.fails('GET', path)).toMatchObject({ status: 400, type: 'rest', message });
  });
});

describe('notifications', () => {
  const notify = (type: string, data: Record<string, unknown> = {}) => server.host.host.notify!({ userId: user.id!, type, data });

  it('are listed for their user since a date', async () => {
    await notify('job_status', { _id: '1', 'a.b': { $gt: 1 } });
    const [first] = await user.ok('GET', '/notification');
    expect(first).toMatchObject({ type: 'job_status', data: { _id: '1', 'a.b': { $gt: 1 } }, userId: user.id });
    const { updated } = first as { updated: string };
    expect(await user.ok('GET', '/notification', { query: { since: updated } })).toEqual([]);
    await notify('progress');
    expect(await user.ok('GET', '/notification', { query: { since: updated } })).toMatchObject([{ type: 'progress' }]);
    expect(await admin.ok('GET', '/notification')).toEqual([]);
  });

  it('arrive as server-sent events, each once', async () => {
    const abort = new AbortController();
    const since = Math.floor(Date.now() / 1000) + 1;
    await until('the second is over', () => Date.now() / 1000 > since);
    const response = await fetch(`${server.url}/api/v1/notification/stream?since=${since}`, {
      headers: { Cookie: `girderToken=${user.token}` },
      signal: abort.signal,
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    // The second directive keeps middlewares from compressing the stream, which would delay events.
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    let text = '';
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of response.body!) text += decoder.decode(bytes as Uint8Array, { stream: true });
    })().catch(() => {});
    for (let i = 0; i < 5; i++) await notify('job_log', { i });
    const messages = () =>
      [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as { data: { i: number }; _girderTime: number });
    await until('all have come', () => messages().length === 5);
    await notify('job_log', { i: 5 });
    await until('the last has come', () => messages().length >= 6);
    expect(messages().map(({ data }) => data.i)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(messages()[0]!._girderTime).toEqual(expect.any(Number));
    abort.abort();
    await reading;
    await until('the stream has ended', () => server.host.context.notificationFeed.ownerCount === 0);
  });

  it('from another process wake only the streams of their user', async () => {
    const { notification } = server.host.context.models;
    const finds = vi.spyOn(notification, 'find');
    // A user without earlier messages.
    const hearer = await server.register('hearer');
    const abort = new AbortController();
    const texts = await Promise.all(
      [hearer, hearer, admin, admin].map(async ({ token }) => {
        const response = await fetch(`${server.url}/api/v1/notification/stream?token=${token}`, { signal: abort.signal });
        const received = { text: '' };
        const read = async () => {
          for await (const bytes of response.body!) received.text += Buffer.from(bytes as Uint8Array).toString();
        };
        read().catch(() => undefined);
        return received;
      }),
    );
    await until('all are open', () => texts.every(({ text }) => text.includes(': open')));
    const owners = () => finds.mock.calls.map(([filter]) => String((filter as { userId?: unknown }).userId));
    const asksFor = (id: string | null | undefined) => owners().filter((owner) => owner === String(id)).length;
    const looks = () => asksFor(undefined);
    try {
      await until('nothing new was found', () => looks() >= 2 && [hearer, admin].every(({ id }) => asksFor(id) === 2));
      finds.mockClear();
      const time = new Date();
      const expires = new Date(time.getTime() + 60_000);
      const message = {
        type: 'progress',
        data: { other: 1 },
        userId: new Types.ObjectId(hearer.id!),
        time,
        updated: time,
        expires,
      };
      await notification.collection.insertOne({ _id: new Types.ObjectId(), tokenId: null, ...message });
      await until('it has come', () => [0, 1].every((index) => texts[index]!.text.includes('"other":1')));
      const queryCount = looks();
      await until('nothing new was found twice more', () => looks() >= queryCount + 2);
      expect(asksFor(admin.id)).toBe(0);
      // The stream queries when it is woken, and once more after it has sent the new messages.
      expect(asksFor(hearer.id)).toBe(4);
    } finally {
      finds.mockRestore();
      abort.abort();
    }
  });

  it('end a stream after silence, and when the host closes', async () => {
    const response = await fetch(`${server.url}/api/v1/notification/stream?timeout=1&token=${user.token}`);
    expect(await response.text()).not.toContain('data:');
    const other = await startHost();
    const client = await other.register('admin');
    const open = await fetch(`${other.url}/api/v1/notification/stream?token=${client.token}`);
    const reading = open.text();
    await other.close();
    expect(await reading).not.toContain('data:');
  });

  it('are refused as a stream when streams are switched off, even for HEAD, and open streams end', async () => {
    expect((await user.send('HEAD', '/notification/stream')).status).toBe(200);
    const open = await fetch(`${server.url}/api/v1/notification/stream?token=${user.token}`);
    const key = 'core.enable_notification_stream';
    await admin.ok('PUT', '/system/setting', { query: { key, value: 'false' } });
    expect(await user.fails('GET', '/notification/stream')).toMatchObject({
      status: 503,
      type: 'rest',
      message: 'The notification stream is not enabled.',
    });
    expect((await user.send('HEAD', '/notification/stream')).status).toBe(503);
    expect(await open.text()).toContain(': open');
  });
});

describe('two hosts in one process', () => {
  it('do not see each other', async () => {
    const second = await startHost({ brand: 'service' });
    try {
      const foreign = await second.register('admin');
      expect(await foreign.ok('GET', '/user/me')).toMatchObject({ admin: true });
      const answer = await fetch(`${server.url}/api/v1/user/me`, { headers: { 'Girder-Token': foreign.token! } });
      expect(await answer.json()).toBe(null);
      await admin.create('/collection', { name: 'Only here', public: true });
      expect(await foreign.ok('GET', '/collection')).toEqual([]);
      const key = 'core.brand_name';
      await foreign.ok('PUT', '/system/setting', { query: { key, value: '"Second"' } });
      expect(await admin.ok('GET', '/system/setting', { query: { key } })).toBe('Girder');
    } finally {
      await second.close();
    }
    expect((await admin.send('GET', '/user/me')).status).toBe(200);
  });
});
