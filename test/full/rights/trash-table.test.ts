/** Every route, requested about things in the trash, answers as if they had never existed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathFor, secret, type Things } from '../../support/access/rights-row.js';
import { rightsRows } from '../../support/access/rights-rows.js';
import { elementId } from '../../support/hosts/annotated.js';
import { startHost, type Answer, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const unknownIds = {
  item: 'a'.repeat(24),
  file: 'b'.repeat(24),
  annotation: 'c'.repeat(24),
  folder: 'd'.repeat(24),
  comment: 'e'.repeat(24),
  ownComment: 'f'.repeat(24),
};
type Hidden = keyof typeof unknownIds;

let server: TestHost;
let temporary: string;
let admin: Client;
let rest: Omit<Things, Hidden>;
let hidden: Record<Hidden, string>;
let dicomPath: string;
let linkToken: string;

/** Requests whose answers are about the trash itself, or about earlier events. */
const exceptions: Readonly<Record<string, string>> = {
  'GET /trash': 'lists the trash',
  'GET /job': 'the owner of a job sees its record, as for removed items',
  'GET /job/all': 'the owner of a job sees its record, as for removed items',
  'GET /notification': 'messages of the past',
  'GET /notification/stream': 'messages of the past',
};

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'trash-table-'));
  server = await startHost({ checksAnswers: true, install: { configFile: join(temporary, 'server.cfg') } });
  admin = await server.register('admin');
  const collection = await admin.create('/collection', { name: secret, public: true });
  const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: secret, public: true });
  const png = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#808080' } })
    .png()
    .toBuffer();
  const query = { parentType: 'folder', parentId: folder, name: `${secret}.png`, size: png.length };
  const file = await admin.ok('POST', '/file', { query, body: png });
  const item = String(file.itemId);
  await admin.ok('PUT', `/item/${item}/metadata`, { json: { PixelSpacing: 0.5, kind: secret } });
  await admin.ok('GET', `/item/${item}/tiles/thumbnail`);
  const json = { name: secret, elements: [{ type: 'point', center: [1, 1, 0], id: elementId(1) }] };
  const { _id: annotation } = await admin.ok('POST', '/annotation', { query: { itemId: item }, json });
  const comment = async () =>
    String((await admin.ok('POST', `/item/${item}/comment`, { json: { text: `${secret} @admin` } }))._id);
  const [first, second] = [await comment(), await comment()];
  hidden = { item, folder, file: String(file._id), annotation: String(annotation), comment: first, ownComment: second };
  const elsewhere = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'elsewhere' });
  rest = {
    bare: await admin.create('/item', { folderId: elsewhere, name: 'bare' }),
    collection,
    group: await admin.create('/group', { name: 'group' }),
    job: (await server.host.jobs.create({ title: secret, type: 'test', userId: admin.id, itemId: item })).id,
    upload: await admin.create('/file', { parentType: 'folder', parentId: elsewhere, name: 'a', size: 10 }),
    uploadToDiscard: await admin.create('/file', { parentType: 'folder', parentId: elsewhere, name: 'a', size: 10 }),
    key: await admin.create('/api_key', { name: 'key' }),
    user: (await server.register('target')).id!,
    version: '1',
    list: JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] }),
  };
  dicomPath = `/dicomweb/studies/${String((await admin.ok('GET', `/item/${item}/dicomweb`)).studyInstanceUID)}`;
  linkToken = String((await admin.ok('POST', `/item/${item}/link`, { json: {} })).token);
});
afterAll(async () => {
  await server?.close();
  await rm(temporary, { recursive: true, force: true });
});

/** A response in which the ids of things that do not exist cannot be told apart. */
function plain({ status, body, bytes }: Answer, ids: Readonly<Record<Hidden, string>>): unknown[] {
  let text = body === undefined ? bytes.toString('latin1') : JSON.stringify(body);
  for (const kind of Object.keys(ids) as Hidden[]) text = text.replaceAll(ids[kind], kind);
  return [status, text];
}

describe.each(['item', 'folder'] as const)('with the %s in the trash', (what) => {
  beforeAll(async () => {
    const resources = JSON.stringify({ [what]: [hidden[what]] });
    await admin.ok('POST', '/resource/trash', { query: { resources } });
  });
  afterAll(async () => {
    const resources = JSON.stringify({ [what]: [hidden[what]] });
    await admin.ok('POST', '/resource/restore', { query: { resources } });
    expect((await admin.send('GET', `/item/${hidden.item}`)).status).toBe(200);
    expect((await admin.send('GET', `/annotation/${hidden.annotation}`)).status).toBe(200);
    expect((await admin.send('GET', `/file/${hidden.file}`)).status).toBe(200);
  });

  const about = ['item', 'file', 'annotation', 'comment', 'ownComment', ...(what === 'folder' ? ['folder'] : [])];
  it.each(Object.entries(rightsRows).filter(([, { kind }]) => kind !== null && about.includes(kind)))(
    '%s finds nothing',
    async (name, row) => {
      const [method, path] = name.split(' with ')[0]!.split(' ') as [string, string];
      const ask = async (ids: Record<Hidden, string>) => {
        const things = { ...rest, ...ids };
        return plain(await admin.send(method, pathFor(path, row, things), row.sending(things)), ids);
      };
      const known = what === 'item' ? { ...unknownIds, folder: hidden.folder } : unknownIds;
      expect(await ask(hidden)).toEqual(await ask(known));
    },
  );

  it.each(Object.entries(rightsRows).filter(([name, { kind }]) => kind === null && name.startsWith('GET ')))(
    '%s does not name it',
    async (name, row) => {
      if (exceptions[name] !== undefined || name.includes('events')) return;
      const things = { ...rest, ...hidden };
      const { status, bytes } = await admin.send('GET', pathFor(name.split(' ')[1]!, row, things), row.sending(things));
      // A refusal repeats the id of the request.
      if (status !== 200) return;
      for (const kind of about as Hidden[]) expect(bytes.toString('latin1')).not.toContain(hidden[kind]);
    },
  );

  it('is unreachable through DICOMweb and links', async () => {
    expect((await admin.send('GET', `${dicomPath}/metadata`)).status).toBe(404);
    expect((await admin.send('GET', '/dicomweb/studies')).bytes.toString()).not.toContain(dicomPath.split('/').at(-1));
    const byLink = `/item/${hidden.item}/zarr/t/${linkToken}/${secret}.ome.zarr/zarr.json`;
    expect([400, 401, 404]).toContain((await server.anonymous.send('GET', byLink)).status);
  });
});

it('a restored item is reachable through DICOMweb again', async () => {
  expect((await admin.send('GET', `${dicomPath}/metadata`)).status).toBe(200);
});

describe('lists and counts', () => {
  /** Routes whose responses change without a request, are about the trash itself, or count what is stored and what of it may be removed. */
  const volatile =
    /^GET \/(trash|annotation\/old|assetstore|notification|job|token|system\/(log|processes|uptime|check|status)|large_image\/(sources|cache))|events|metrics/;
  const rows = Object.entries(rightsRows).filter(([name]) => name.startsWith('GET ') && !volatile.test(name));
  const ask = async () => {
    const answers: Record<string, unknown> = {};
    for (const [name, row] of rows) {
      const things = { ...rest, ...unknownIds };
      const { status, body, bytes, headers } = await admin.send(
        'GET',
        pathFor(name.split(' ')[1]!, row, things),
        row.sending(things),
      );
      // Sizes include items in the trash.
      const text = (body === undefined ? bytes.toString('latin1') : JSON.stringify(body)).replaceAll(/"size":\d+/g, '');
      answers[name] = [status, headers.get('girder-total-count'), text];
    }
    return answers;
  };

  it('are the same whether something is in the trash or removed permanently', async () => {
    const resources = { query: { resources: JSON.stringify({ folder: [hidden.folder] }) } };
    await admin.ok('POST', '/resource/trash', resources);
    const inTrash = await ask();
    // Cached files are only removed for images outside the trash; the others come back with their images.
    for (const path of ['thumbnails', 'associated_images', 'histograms']) {
      expect([path, (await admin.send('DELETE', `/large_image/${path}`)).body]).toEqual([path, 0]);
    }
    await admin.ok('DELETE', '/trash', resources);
    expect(inTrash).toEqual(await ask());
  });
});
