/** Every route, requested with a link to the page of an image: only those that the page needs answer, and only about this image. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathFor, secret, type Things } from '../../support/access/rights-row.js';
import { rightsRows } from '../../support/access/rights-rows.js';
import { elementId } from '../../support/hosts/annotated.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';

const openRoutes = [
  'GET /annotation',
  'GET /annotation/:id',
  'GET /annotation/:id/elements/:elementId',
  'GET /annotation/:id/table',
  'GET /annotation/:id/table/histogram',
  'GET /annotation/:id/table/rows',
  'GET /annotation/:id/table/summary',
  'GET /annotation/:id/tiles',
  'GET /annotation/:id/tiles/mvt/:z/:x/:y',
  'GET /annotation/:id/tiles/zxy/:z/:x/:y',
  'GET /annotation/events',
  'GET /item/:itemId/tiles',
  'GET /item/:itemId/tiles/bands',
  'GET /item/:itemId/tiles/fzxy/:frame/:z/:x/:y',
  'GET /item/:itemId/tiles/histogram',
  'GET /item/:itemId/tiles/images',
  'GET /item/:itemId/tiles/images/:image',
  'GET /item/:itemId/tiles/item',
  'GET /item/:itemId/tiles/pixel',
  'GET /item/:itemId/tiles/region',
  'GET /item/:itemId/tiles/thumbnail',
  'GET /item/:itemId/tiles/zxy/:z/:x/:y',
  'GET /link/view',
  'POST /annotation/:id/table/ids',
];

let server: TestHost;
let temporary: string;
let holder: Client;
let shown: Things;
let other: Things;

async function makeThings(
  admin: Client,
  collection: string,
  rest: Omit<Things, 'item' | 'file' | 'annotation' | 'folder' | 'comment' | 'ownComment'>,
) {
  const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: secret, public: false });
  const image = sharp({ create: { width: 64, height: 64, channels: 3, background: '#808080' } });
  const png = await image.png().toBuffer();
  const query = { parentType: 'folder', parentId: folder, name: `${secret}.png`, size: png.length };
  const file = await admin.ok('POST', '/file', { query, body: png });
  const item = String(file.itemId);
  const json = { name: secret, elements: [{ type: 'point', center: [1, 1, 0], id: elementId(1) }] };
  const { _id } = await admin.ok('POST', '/annotation', { query: { itemId: item }, json });
  const comment = String((await admin.ok('POST', `/item/${item}/comment`, { json: { text: secret } }))._id);
  return { ...rest, folder, item, file: String(file._id), annotation: String(_id), comment, ownComment: comment };
}

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'view-link-table-'));
  server = await startHost({ checksAnswers: true, install: { configFile: join(temporary, 'server.cfg') } });
  const admin = await server.register('admin');
  const collection = await admin.create('/collection', { name: `the ${secret}`, public: false });
  const elsewhere = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'elsewhere' });
  const rest = {
    bare: await admin.create('/item', { folderId: elsewhere, name: 'bare' }),
    collection,
    group: await admin.create('/group', { name: 'group' }),
    job: (await server.host.jobs.create({ title: secret, type: 'test', userId: admin.id })).id,
    upload: await admin.create('/file', { parentType: 'folder', parentId: elsewhere, name: 'a', size: 10 }),
    uploadToDiscard: await admin.create('/file', { parentType: 'folder', parentId: elsewhere, name: 'b', size: 10 }),
    key: await admin.create('/api_key', { name: 'key' }),
    user: (await server.register('target')).id!,
    version: '1',
    list: JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] }),
  };
  shown = await makeThings(admin, collection, rest);
  await admin.ok('PUT', `/folder/${shown.folder}`, { query: { name: `another ${secret}` } });
  other = await makeThings(admin, collection, rest);
  // The link of an administrator, who could do everything.
  const link = await admin.ok('POST', `/item/${shown.item}/link`, { json: { opens: ['view'], associated: true } });
  holder = new Client(server.url, `view-link.${String(link.token)}`, null);
});
afterAll(async () => {
  await server?.close();
  await rm(temporary, { recursive: true, force: true });
});

it('a link to the page of an image opens exactly the routes listed here', () => {
  const declared = server.host.routes.filter(({ forLinks }) => forLinks === true);
  expect(declared.map(({ method, path }) => `${method.toUpperCase()} ${path}`).toSorted()).toEqual(openRoutes);
});

describe.each(Object.entries(rightsRows))('%s', (name, row) => {
  const [route = ''] = name.split(' with ');
  const [method = '', path = ''] = route.split(' ');
  const send = (client: Client, things: Things) => {
    const { query, ...sending } = row.sending(things);
    const isStream = path.endsWith('/events') || path.endsWith('/stream');
    const request = { ...sending, query: { ...(query as Record<string, string>), ...(isStream && { timeout: 1 }) } };
    return client.send(method, pathFor(path, row, things), request);
  };

  if (openRoutes.includes(route) && row.scope === null) {
    it('lets the link read about its image', async () => {
      const { status } = await send(holder, shown);
      expect([401, 403]).not.toContain(status);
    });
  }

  if (openRoutes.includes(route) && row.kind !== null) {
    it('lets the link read nothing about another image', async () => {
      const { status, bytes } = await send(holder, other);
      expect([401, 403]).toContain(status);
      expect(bytes.toString('latin1')).not.toContain(secret);
    });
  }

  if (!openRoutes.includes(route)) {
    it('is closed to the link', async () => {
      const { status, body } = await send(holder, shown);
      const isOwn = status === 401;
      // Routes of the host do not know the token. They treat the caller as anonymous.
      if (!isOwn) expect(status).toBe((await send(server.anonymous, shown)).status);
      expect(JSON.stringify(body ?? null)).not.toContain(`another ${secret}`);
    });
  }
});
