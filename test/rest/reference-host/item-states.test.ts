import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

describe('the state of items', () => {
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let writer: Client;
  let folder: string;
  let items: string[];

  const set = (client: Client, item: string[], state?: string) =>
    client.send('PUT', '/resource/state', { query: { resources: JSON.stringify({ item }), ...(state && { state }) } });
  const metaOf = async (item: string) => (await admin.ok('GET', `/item/${item}`)).meta as Record<string, unknown>;
  const idsFor = async (find: string) =>
    ((await admin.ok('GET', '/item', { query: { folderId: folder, find } })) as unknown as { _id: string }[]).map(
      ({ _id }) => _id,
    );

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    reader = await started.register('reader');
    writer = await started.register('writer');
    folder = await newFolder(admin, 'Private');
    const users = [
      { id: admin.id, level: 2 },
      { id: reader.id, level: 0 },
      { id: writer.id, level: 1 },
    ];
    await admin.ok('PUT', `/folder/${folder}/access`, {
      query: { access: JSON.stringify({ users, groups: [] }), public: false },
    });
    items = [];
    for (const name of ['a', 'b', 'c']) items.push(await admin.create('/item', { folderId: folder, name }));
    await admin.ok('PUT', `/item/${items[0]!}/metadata`, { json: { stain: 'HE' } });
  });
  afterAll(() => started?.close());

  it('is set by users with write access, with their login and the time, and filters the folder', async () => {
    const [a, b] = items as [string, string];
    expect((await set(writer, [a, b], 'review')).status).toBe(200);
    const meta = await metaOf(a);
    expect(meta).toMatchObject({ stain: 'HE', reviewState: 'review', reviewStateBy: 'writer' });
    expect(new Date(String(meta.reviewStateAt)).toISOString()).toBe(meta.reviewStateAt);
    expect(await idsFor('reviewState:review')).toEqual([a, b]);
    expect((await set(admin, [b], 'done')).status).toBe(200);
    expect(await metaOf(b)).toMatchObject({ reviewState: 'done', reviewStateBy: 'admin' });
    expect(await idsFor('reviewState:review')).toEqual([a]);
    expect((await set(admin, [a])).status).toBe(200);
    expect(await metaOf(a)).toEqual({ stain: 'HE' });
    expect(await idsFor('reviewState:review')).toEqual([]);
  });

  it('changes nothing for others, for unknown states, or if one of the items is missing', async () => {
    const [a, , c] = items as [string, string, string];
    expect((await set(reader, [c], 'done')).status).toBe(403);
    expect((await set(started.anonymous, [c], 'done')).status).toBe(401);
    expect((await set(admin, [c], 'finished')).status).toBe(400);
    expect((await set(admin, [c, 'f'.repeat(24)], 'done')).status).toBe(400);
    const folders = JSON.stringify({ folder: [folder] });
    expect((await admin.send('PUT', '/resource/state', { query: { resources: folders, state: 'done' } })).status).toBe(400);
    const resources = JSON.stringify({ item: [c] });
    await admin.ok('POST', '/resource/trash', { query: { resources } });
    expect((await set(admin, [a, c], 'done')).status).toBe(400);
    await admin.ok('POST', '/resource/restore', { query: { resources } });
    expect(await metaOf(a)).toEqual({ stain: 'HE' });
    expect(await metaOf(c)).toEqual({});
  });
});
