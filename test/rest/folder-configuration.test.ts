import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceHost } from '../../src/reference-host/index.js';
import { Client, startHost, type TestHost } from '../support/reference-host.js';

const name = '.config.yaml';

describe('YAML configurations of folders', () => {
  let started: TestHost;
  let admin: Client;
  let user: Client;
  let collection: string;
  let top: string;
  let below: string;

  const put = (client: Client, folder: string, body: string, query: Record<string, string | boolean> = {}) =>
    client.send('PUT', `/folder/${folder}/yaml_config/${name}`, { body, query });
  const get = (client: Client, folder: string, of = name) => client.ok('GET', `/folder/${folder}/yaml_config/${of}`);

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    user = await started.register('user');
    collection = await admin.create('/collection', { name: 'Images', public: true });
    top = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Top', public: true });
    below = await admin.create('/folder', { parentType: 'folder', parentId: top, name: 'Below', public: true });
  });
  afterAll(() => started?.close());

  it('are empty where nobody stored one, but for the item lists', async () => {
    expect(await get(started.anonymous, below)).toEqual({});
    const lists = (await get(started.anonymous, below, '.large_image_config.yaml')) as unknown as {
      itemList: { columns: { title: string }[] };
      itemListDialog: { columns: { title: string }[] };
    };
    expect(lists.itemList.columns.map(({ title }) => title)).toEqual(['Thumbnail', 'Name', 'Updated', 'Size', 'Controls']);
    expect(lists.itemListDialog.columns.map(({ title }) => title)).toEqual(['Thumbnail', 'Name', 'Updated', 'Size']);
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.show_extra', value: '{"images":["label","*"]}' } });
    expect(await get(user, below, '.large_image_config.yaml')).toMatchObject({
      itemList: { columns: [{}, { type: 'image', value: 'label', title: 'Label' }, {}, {}, {}, {}] },
    });
  });

  it('hold below, and are joined where they say so, up to the folder of the setting', async () => {
    const shared = await admin.create('/folder', { parentType: 'user', parentId: admin.id!, name: 'Shared', public: false });
    const beside = await admin.create('/folder', {
      parentType: 'collection',
      parentId: collection,
      name: '.config',
      public: false,
    });
    await put(admin, shared, 'from: shared\nlast: 1\n');
    await put(admin, beside, '__inherit__: true\nfrom: beside\nbeside: {a: 1, b: 2}\n');
    await put(admin, top, '__inherit__: true\nfrom: top\nbeside: {b: 3}\n');
    expect(await get(user, below)).toEqual({ from: 'top', beside: { a: 1, b: 3 } });
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.config_folder', value: shared } });
    expect(await get(user, below)).toEqual({ from: 'top', beside: { a: 1, b: 3 }, last: 1 });
    await put(admin, below, 'own: true\n');
    expect(await get(user, below)).toEqual({ own: true });
    await put(admin, below, '__inherit__: true\nbeside: {__all__: true, c: 4}\n');
    // The marker clears what the next folder says, and goes no further.
    expect(await get(user, below)).toEqual({ from: 'top', beside: { a: 1, b: 2, c: 4 }, last: 1 });
    const items = await admin.ok('GET', '/item', { query: { folderId: below } });
    expect(items).toHaveLength(1);
    expect(await admin.ok('GET', `/item/${String((items[0] as { _id: string })._id)}/files`)).toHaveLength(1);
  });

  it('are read as YAML 1.1', async () => {
    await put(admin, top, 'a: yes\nb: 017\nc: 1:30\nd: 1e3\ne: 2020-01-02\nf: 1.5e+3\ng: "yes"\nh: ~\n');
    const values = { a: true, b: 15, c: 90, d: '1e3', e: '2020-01-02', f: 1500, g: 'yes', h: null };
    expect(await get(user, top)).toEqual(values);
    await put(admin, top, '- 1\n- 2\n');
    expect(await get(user, top)).toEqual([1, 2]);
    await put(admin, top, '- größe: 1\n');
    expect(await get(user, top)).toEqual({ größe: 1 });
  });

  it('are personalised by groups, access and login, in this order', async () => {
    const group = await user.create('/group', { name: 'Readers', public: true });
    expect(group).toMatch(/./);
    await put(
      admin,
      top,
      'who: all\ngroups:\n  Readers: {who: reader, group: 1, access: {user: {level: from group}}}\n  Others: {who: other}\n' +
        'access:\n  user: {who: signed in, level: 1}\n  admin: {who: admin}\nusers:\n  user: {who: user}\n',
    );
    expect(await get(started.anonymous, top)).toEqual({ who: 'all' });
    expect(await get(user, top)).toEqual({ who: 'user', level: 'from group', group: 1 });
    expect(await get(admin, top)).toEqual({ who: 'admin', level: 1 });
  });

  it('take what a reader wants for themself, several at once', async () => {
    await put(admin, top, 'b: 1\nusers:\n  admin: {x: 1}\n');
    await Promise.all([
      put(user, top, 'view: grid\n', { user_context: true }),
      put(user, top, 'size: 3\n', { user_context: true }),
      put(admin, top, 'y: "yes"\n', { user_context: true }),
    ]);
    expect(await get(user, top)).toEqual({ b: 1, view: 'grid', size: 3 });
    expect(await get(admin, top)).toEqual({ b: 1, x: 1, y: 'yes' });
    expect(await get(started.anonymous, top)).toEqual({ b: 1 });
  });

  it('lose nothing of what is stored in two processes at once', async () => {
    const { databaseUri: mongoUri, dataDirectory } = started;
    const second = await createReferenceHost({ mongoUri, dataDirectory, brand: 'girder' });
    try {
      const elsewhere = new Client((await second.listen()).url, user.token, user.id);
      await put(admin, top, 'b: 1\n');
      const numbers = Array.from({ length: 12 }, (_, i) => i);
      const answers = await Promise.all(
        numbers.map((i) => put(i % 2 === 0 ? user : elsewhere, top, `key${i}: ${i}\n`, { user_context: true })),
      );
      expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 200));
      expect(await get(user, top)).toEqual({ b: 1, ...Object.fromEntries(numbers.map((i) => [`key${i}`, i])) });
    } finally {
      await second.close();
    }
    const [item] = await admin.ok('GET', '/item', { query: { folderId: top, name } });
    expect(await admin.ok('GET', `/item/${String((item as { _id: string })._id)}/files`)).toHaveLength(1);
  });

  it('count as written last when a process was killed before it had removed the former one', async () => {
    await put(admin, top, 'a: former\n');
    const [item] = await admin.ok('GET', '/item', { query: { folderId: top, name } });
    const parentId = String((item as { _id: string })._id);
    const text = 'a: newest\n';
    const query = { parentType: 'item', parentId, name, size: text.length, mimeType: 'application/yaml' };
    await admin.ok('POST', '/file', { query, body: text });
    expect(await get(user, top)).toEqual({ a: 'newest' });
  });

  it.each([
    ['broken YAML', 'a: [1\n', 400],
    ['two documents', 'a: 1\n---\nb: 2\n', 400],
    [
      'aliases that unfold',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'.replace(/./g, (c, i: number) => `${c}: &${c} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]\n`)}`,
      400,
    ],
    ['what is no UTF-8', Buffer.from([0x61, 0x3a, 0xff]), 400],
    ['more than 10 MiB', Buffer.alloc(10 * 1024 * 1024 + 1, 0x23), 413],
  ])('refuse %s, and stay as they were', async (_what, body, status) => {
    await put(admin, top, 'kept: 1\n');
    const answer = await admin.send('PUT', `/folder/${top}/yaml_config/${name}`, { body });
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringMatching(/./)]);
    expect(await get(user, top)).toEqual({ kept: 1 });
  });

  it.each(['application/x-www-form-urlencoded', 'multipart/form-data; boundary=b'])('refuse a form: %s', async (type) => {
    await put(admin, top, 'kept: 1\n');
    const body = type.startsWith('multipart') ? '--b--\r\n' : 'a: 1\n';
    const answer = await admin.send('PUT', `/folder/${top}/yaml_config/${name}`, { body, headers: { 'Content-Type': type } });
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('with a Content-Type of its own')]);
    expect(await get(user, top)).toEqual({ kept: 1 });
  });

  it('are refused to who may not', async () => {
    expect((await put(started.anonymous, top, 'a: 1')).status).toBe(401);
    expect((await put(started.anonymous, top, 'a: 1', { user_context: true })).status).toBe(401);
    expect((await put(user, top, 'a: 1')).status).toBe(403);
    expect((await put(user, top, '[1]', { user_context: true })).status).toBe(400);
  });
});
