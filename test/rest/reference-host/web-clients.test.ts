import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import WebSocket from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('the API for web clients, beyond images', () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  let folder: string;
  let images: string[];
  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    other = await started.register('other');
    folder = await newFolder(admin, 'Images');
    const access = JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] });
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access, public: true } });
    const bytes = await pyramid(300, 200);
    images = [];
    for (const name of ['b.tif', 'A.tif', 'c.tif']) images.push(await uploadItem(admin, folder, name, bytes));
    await admin.create('/item', { folderId: folder, name: 'no image' });
    for (const id of images) {
      await until('a large image', async () => (await admin.ok('GET', `/item/${id}`)).largeImage !== undefined);
    }
  });
  afterAll(() => started?.close());

  const nameOf = async (id: string, which: string) => (await admin.ok('GET', `/item/${id}/${which}_image`)).name;

  it('steps through the images of a folder by name, and wraps around', async () => {
    const [b, a, c] = images as [string, string, string];
    expect(await Promise.all([a, b, c].map((id) => nameOf(id, 'next')))).toEqual(['b.tif', 'c.tif', 'A.tif']);
    expect(await Promise.all([a, b, c].map((id) => nameOf(id, 'previous')))).toEqual(['c.tif', 'A.tif', 'b.tif']);
    expect(await nameOf(c, 'first')).toBe('A.tif');
    expect(await admin.ok('GET', `/item/${b}/adjacent_images`)).toMatchObject({
      previous: { name: 'A.tif' },
      next: { name: 'c.tif' },
      index: 1,
      count: 3,
    });
    const plain = await admin.create('/item', { folderId: folder, name: 'neither' });
    expect(await admin.fails('GET', `/item/${plain}/next_image`)).toMatchObject({ status: 404, message: 'Id is not an image' });
  });

  it('steps through the images in the order of the folder, or in the order of the request', async () => {
    const [b, a, c] = images as [string, string, string];
    for (const [id, scanned] of [
      [b, 1],
      [a, 2],
      [c, 3],
    ] as const)
      await admin.ok('PUT', `/item/${id}/metadata`, { json: { scanned } });
    const path = `/folder/${folder}/yaml_config/.large_image_config.yaml`;
    await admin.ok('PUT', path, { body: 'itemList: {defaultSort: [{type: metadata, value: scanned, dir: down}, 7]}' });
    expect([await nameOf(b, 'next'), await nameOf(a, 'next')]).toEqual(['A.tif', 'c.tif']);
    const sort = '[["meta.scanned",-1]]';
    expect(await admin.ok('GET', `/item/${b}/previous_image`, { query: { sort } })).toMatchObject({ name: 'A.tif' });
    const query = { find: '"a.tif"' };
    expect(await admin.ok('GET', `/item/${a}/adjacent_images`, { query })).toMatchObject({ index: 0, count: 1 });
    expect(await admin.fails('GET', `/item/${b}/next_image`, { query })).toMatchObject({ status: 404 });
    await admin.ok('PUT', path, { body: 'itemList: {}' });
  });

  it('finds documents by conditions that only compare, among those that the caller can read', async () => {
    const hidden = await newFolder(admin, 'Hidden');
    await admin.ok('PUT', `/folder/${hidden}/access`, { query: { access: '{"users":[],"groups":[]}', public: false } });
    await admin.create('/item', { folderId: hidden, name: 'hidden.tif' });
    const names = async (client: Client, type: string, query: object) =>
      (await client.ok('GET', `/${type}/query`, { query: { query: JSON.stringify(query), sort: 'name' } })).map(
        (document) => (document as { name: string }).name,
      );
    expect(await names(admin, 'item', { name: { $regex: 'tif$' } })).toEqual(['A.tif', 'b.tif', 'c.tif', 'hidden.tif']);
    expect(await names(other, 'item', { name: { $regex: 'tif$' } })).toEqual(['A.tif', 'b.tif', 'c.tif']);
    expect(await names(admin, 'item', { folderId: folder, 'largeImage.fileId': { $exists: true } })).toHaveLength(3);
    expect(await names(other, 'folder', { name: { $in: ['Images', 'Hidden'] } })).toEqual(['Images']);
    expect(await names(admin, 'file', { name: 'b.tif' })).toEqual(['b.tif']);
    expect(await other.fails('GET', '/file/query', { query: { query: '{}' } })).toMatchObject({ status: 403 });
    for (const bad of ['{"$where":"1"}', '{"a":{"$function":{}}}', '{"$expr":{}}']) {
      expect(await admin.fails('GET', '/item/query', { query: { query: bad } })).toMatchObject({ status: 400 });
    }
  });

  it('gives the paths of several documents that the caller can read', async () => {
    const [b] = images as [string];
    const json = { item: [b, 'f'.repeat(24)], folder: [folder] };
    expect(await started.anonymous.ok('POST', '/resource/paths', { json })).toEqual({ item: {}, folder: {} });
    const paths = await admin.ok('POST', '/resource/paths', { json });
    expect(paths).toEqual({
      item: { [b]: expect.stringMatching(/\/Images\/b\.tif$/) as string },
      folder: { [folder]: expect.stringMatching(/\/Images$/) as string },
    });
    const group = 'f'.repeat(24);
    expect(await other.ok('POST', '/resource/paths', { json: { group: [group] } })).toEqual({ group: {} });
    expect(await other.fails('POST', '/resource/paths', { json: { job: [b] } })).toMatchObject({ status: 400 });
  });

  it('answers every call that the table of HistomicsUI lists as answered, and none that only its own server part provides', async () => {
    const page = await readFile('docs/reference-host.md', 'utf8');
    const plain = (method: string, path: string) => `${method.toUpperCase()} ${path.replaceAll(/:\w+/g, ':')}`;
    const [answered, foreign] = ['| Call | Where it is made | Response |', '| Call | Purpose |'].map((head) => {
      const table = page.slice(page.indexOf(head)).split('\n\n')[0]!;
      return table
        .split('\n')
        .slice(2)
        .flatMap((row) => {
          // A call without a method has the method of the previous call.
          let method = '';
          return [...row.split('|')[1]!.matchAll(/`(?:([A-Z]+) )?([^`]+)`/g)].map(([, verb, path]) => {
            method = verb ?? method;
            return plain(method, `/${path!}`);
          });
        });
    }) as [string[], string[]];
    const offered = new Set(started.host.routes.map(({ method, path }) => plain(method, path)));
    expect(answered.length).toBeGreaterThan(70);
    expect(answered.filter((call) => !offered.has(call))).toEqual([]);
    expect(foreign.length).toBeGreaterThan(15);
    expect(foreign.filter((call) => offered.has(call))).toEqual([]);
  });

  it('returns settings, their defaults, and stored values', async () => {
    const key = 'large_image.max_thumbnail_files';
    const list = JSON.stringify([key, 'large_image.auto_set']);
    await admin.ok('PUT', '/system/setting', { query: { key, value: '3' } });
    const get = (query: Record<string, string>) => admin.ok('GET', '/system/setting/default', { query });
    expect(await get({ list })).toEqual({ [key]: 3, 'large_image.auto_set': true });
    expect(await get({ list, default: 'none' })).toEqual({ [key]: 3, 'large_image.auto_set': null });
    expect(await get({ key, default: 'default' })).toBe(10);
    expect(await admin.fails('GET', '/system/setting/default', { query: { key, default: 'x' } })).toMatchObject({ status: 400 });
  });

  it('accepts null for empty settings from settings pages, even for unknown settings', async () => {
    const sent = (entries: object[]) => ({ form: { list: JSON.stringify(entries) } });
    const emptySetting = { key: 'core.contact_email_address', value: null };
    await admin.ok('PUT', '/system/setting', sent([emptySetting, { key: 'core.smtp_host', value: null }]));
    const wrong = sent([emptySetting, { key: 'core.smtp_host', value: 'mail.example.org' }]);
    expect(await admin.fails('PUT', '/system/setting', wrong)).toMatchObject({
      status: 400,
      message: 'Invalid setting key "core.smtp_host".',
    });
    expect(
      await admin.ok('POST', '/api_key', { form: { name: 'a', tokenDuration: '', scope: 'null', targetUserId: admin.id! } }),
    ).toMatchObject({
      name: 'a',
    });
    const forOther = { form: { name: 'b', targetUserId: other.id! } };
    expect(await admin.fails('POST', '/api_key', forOther)).toMatchObject({ status: 403 });
  });

  it('answers the first requests of pages', async () => {
    const { anonymous } = started;
    expect(await anonymous.ok('GET', '/system/plugin_static_files')).toEqual({ css: [], js: [] });
    expect(await anonymous.ok('GET', '/oauth/provider', { query: { redirect: 'x', list: true } })).toEqual([]);
    expect(await anonymous.ok('GET', '/oauth/provider', { query: { redirect: 'x' } })).toEqual({});
    expect(await other.ok('GET', '/user/details')).toEqual({ nUsers: 2 });
    const collections = await other.ok('GET', '/collection');
    expect(await other.ok('GET', '/collection/details')).toEqual({ nCollections: collections.length });
    const value = JSON.stringify({ open: true, users: [other.id], groups: [] });
    await admin.ok('PUT', '/system/setting', { query: { key: 'core.collection_create_policy', value } });
    expect(await admin.ok('GET', '/system/setting/collection_creation_policy/access')).toMatchObject({
      users: [{ id: other.id, level: 0, login: 'other' }],
      groups: [],
    });
    const status = await admin.ok('GET', '/worker/status');
    expect(status).toMatchObject({ running: expect.any(Number) as number, queued: expect.any(Number) as number });
    expect(Object.keys(status.ping as unknown as object).length).toBeGreaterThan(0);
  });

  /** A web socket as Girder's web client opens it, the messages that it received, and the code and reason with which it was closed. */
  function socketOf(query: string, prefix = '') {
    const socket = new WebSocket(`${started.url.replace('http', 'ws')}${prefix}/notifications/me${query}`);
    const messages: { type: string; data: unknown }[] = [];
    socket.on('message', (text) => messages.push(JSON.parse((text as Buffer).toString()) as (typeof messages)[number]));
    const closed = new Promise<[number, string]>((resolve, reject) => {
      socket.once('close', (code, reason) => resolve([code, String(reason)]));
      socket.once('error', reject);
    });
    return { messages, closed };
  }

  it('sends messages by web socket until its token ends', async () => {
    const someone = await started.register('someone');
    const { messages, closed } = socketOf(`?token=${someone.token}`);
    const notifyUser = (data: Record<string, unknown>) =>
      started.host.host.notify!({ userId: someone.id!, type: 'progress', data });
    await until('a message has come', async () => {
      await notifyUser({ current: 1 });
      return messages.length > 0;
    });
    expect(messages[0]).toMatchObject({ type: 'progress', data: { current: 1 } });
    await someone.ok('DELETE', '/user/authentication');
    expect(await closed).toEqual([3000, 'Invalid token']);
  });

  it('closes web sockets without the token of a signed-in user', async () => {
    const { token } = (await started.anonymous.ok('GET', '/token/session')) as unknown as { token: string };
    expect(await socketOf('').closed).toEqual([3000, 'Token is required']);
    expect(await socketOf('?token=none').closed).toEqual([3000, 'Invalid token']);
    expect(await socketOf(`?token=${token}`).closed).toEqual([3000, 'Invalid token']);
  });

  it('accepts at most 50 web sockets per user, and another when one closes', async () => {
    const someone = await started.register('many');
    const query = `?token=${someone.token}`;
    const opened = Array.from({ length: 51 }, () => socketOf(query));
    expect(await Promise.race(opened.map(({ closed }) => closed))).toEqual([1013, 'At most 50 web sockets per user']);
    await someone.ok('DELETE', '/user/authentication');
    const codes = (await Promise.all(opened.map(({ closed }) => closed))).map(([code]) => code);
    expect(codes.filter((code) => code === 3000)).toHaveLength(50);
    const again = await started.anonymous.ok('GET', '/user/authentication', {
      headers: { Authorization: `Basic ${Buffer.from('many:many.password').toString('base64')}` },
    });
    const { messages } = socketOf(`?token=${(again.authToken as { token: string }).token}`);
    await until('a message has come', async () => {
      await started.host.host.notify!({ userId: someone.id!, type: 'progress', data: {} });
      return messages.length > 0;
    });
  });

  it.each(['/images', '/a/b'])('sends messages by web socket when a proxy keeps the prefix %s', async (prefix) => {
    const someone = await started.register(`below${prefix.replaceAll('/', '')}`);
    const { messages } = socketOf(`?token=${someone.token}`, prefix);
    await until('a message has come', async () => {
      await started.host.host.notify!({ userId: someone.id!, type: 'progress', data: {} });
      return messages.length > 0;
    });
  });

  it('streams events below core.server_root', async () => {
    const someone = await started.register('streaming');
    await started.host.settings.set('core.server_root', 'https://host.example/images');
    try {
      const over = new AbortController();
      const answer = await fetch(`${started.url}/images/api/v1/notification/stream?token=${someone.token}`, {
        signal: over.signal,
      });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/event-stream')]);
      over.abort();
    } finally {
      await started.host.settings.set('core.server_root', '');
    }
  });

  it('closes open web sockets with the host, and leaves nobody waiting', async () => {
    const ownHost = await startHost();
    const user = await ownHost.register('user');
    const socket = new WebSocket(`${ownHost.url.replace('http', 'ws')}/notifications/me?token=${user.token}`);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await ownHost.close();
    expect(await closed).toBe(1001);
  });

  it('ignores requests to upgrade to an unknown protocol', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' };
      const upgradeRequest = request(
        `${started.url}/api/v1/resource/paths`,
        { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } },
        (reply) => {
          let text = '';
          reply.on('data', (piece) => (text += String(piece)));
          reply.once('end', () => resolve(text));
        },
      );
      upgradeRequest.once('error', reject);
      upgradeRequest.end(JSON.stringify({ group: Array(2000).fill('f'.repeat(24)) }));
    });
    expect(JSON.parse(answer)).toEqual({ group: {} });
  });
});
