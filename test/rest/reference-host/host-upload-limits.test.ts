/** How much one user may upload, however many requests are sent at once. */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let folder: string;

beforeAll(async () => {
  server = await startHost({ settings: { 'core.upload_minimum_chunk_size': 0 } });
  admin = await server.register('admin');
  const collection = await admin.create('/collection', { name: 'Coll' });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
});
afterAll(() => server?.close());
afterEach(async () => {
  for (const key of ['core.user_quota', 'core.user_maximum_uploads', 'core.upload_maximum_size']) {
    await server.host.settings.set(key, 0);
  }
  await admin.ok('DELETE', `/folder/${folder}/contents`);
});

const set = (key: string, value: number) => server.host.settings.set(key, value);
const query = (size: number, name = 'f.bin') => ({ parentType: 'folder', parentId: folder, name, size });
const start = (size: number) => admin.send('POST', '/file', { query: query(size) });
const uploadWhole = (size: number) => admin.send('POST', '/file', { query: query(size), body: randomBytes(size) });
const countRecords = async () => {
  const { models } = server.host.context;
  return [await models.upload.countDocuments(), await models.blob.countDocuments(), await models.item.countDocuments()];
};

describe('an upload', () => {
  it('is refused with 413 and the limit when it is announced too large, and leaves nothing', async () => {
    await set('core.upload_maximum_size', 1000);
    for (const answer of [await start(1001), await uploadWhole(1001)]) {
      expect([answer.status, answer.body.message]).toEqual([
        413,
        'A file may have at most 1000 bytes (core.upload_maximum_size), not 1001 bytes.',
      ]);
    }
    expect(await countRecords()).toEqual([0, 0, 0]);
    expect((await uploadWhole(1000)).status).toBe(200);
  });

  it('is refused with 429 while too many others are unfinished, also when all are started at once', async () => {
    await set('core.user_maximum_uploads', 3);
    const answers = await Promise.all(Array.from({ length: 8 }, () => start(10)));
    const started = answers.filter(({ status }) => status === 200);
    expect(started).toHaveLength(3);
    const refused = answers.find(({ status }) => status !== 200)!;
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 60]);
    expect(refused.body.message).toContain('core.user_maximum_uploads');
    await admin.ok('DELETE', `/file/upload/${String(started[0]!.body._id)}`);
    expect((await start(10)).status).toBe(200);
  });

  it('is refused with 507 beyond the quota, exactly, also when many come at once; removal gives it back', async () => {
    await set('core.user_quota', 5000);
    const answers = await Promise.all(Array.from({ length: 9 }, (_, i) => (i % 2 === 0 ? uploadWhole(1000) : start(1000))));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array<number>(5).fill(200),
      507,
      507,
      507,
      507,
    ]);
    const refused = await uploadWhole(1);
    expect([refused.status, refused.body.message]).toEqual([
      507,
      'The files of this user may have at most 5000 bytes (core.user_quota). They have 5000 bytes, so there is no space for 1 more bytes.',
    ]);
    const other = await server.register('other');
    const home = await other.ok('GET', '/folder', { query: { parentType: 'user', parentId: other.id! } });
    const ownQuery = { ...query(5000), parentId: String((home[0] as { _id: string })._id) };
    expect((await other.send('POST', '/file', { query: ownQuery, body: randomBytes(5000) })).status).toBe(200);
    const created = answers.filter(({ status }) => status === 200).map(({ body }) => body);
    const file = created.find(({ _modelType }) => _modelType === 'file')!;
    await admin.ok('DELETE', `/item/${String(file.itemId)}`);
    expect((await uploadWhole(1000)).status).toBe(200);
    expect((await uploadWhole(1)).status).toBe(507);
  });

  it('counts new contents in addition to old ones until these are replaced, and does not count copies', async () => {
    await set('core.user_quota', 1500);
    const file = (await uploadWhole(1000)).body;
    expect((await admin.send('PUT', `/file/${String(file._id)}/contents`, { query: { size: 501 } })).status).toBe(507);
    const replaced = await admin.send('PUT', `/file/${String(file._id)}/contents`, {
      query: { size: 500 },
      body: randomBytes(500),
    });
    expect(replaced.status).toBe(200);
    await admin.ok('POST', `/item/${String(file.itemId)}/copy`);
    expect((await uploadWhole(1000)).status).toBe(200);
    expect((await uploadWhole(1)).status).toBe(507);
  });

  it('is refused with 507 before it begins when the disk has no space for it', async () => {
    const answer = await start(Number.MAX_SAFE_INTEGER);
    expect([answer.status, answer.body.message]).toEqual([507, 'There is no space left on the disk of the server.']);
  });
});
