import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LargeImageError } from '../../../src/index.js';
import { startSpecimens } from '../../support/hosts/installed-specimens.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const name = '.config.yaml';

describe('YAML folder configurations', () => {
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

  it('are empty by default, except for item lists', async () => {
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

  it('apply to subfolders, and are merged if they say so, up to the folder that the setting names', async () => {
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
    // The marker clears the values of the next folder, and is not inherited further.
    expect(await get(user, below)).toEqual({ from: 'top', beside: { a: 1, b: 2, c: 4 }, last: 1 });
    const items = await admin.ok('GET', '/item', { query: { folderId: below } });
    expect(items).toHaveLength(1);
    expect(await admin.ok('GET', `/item/${String((items[0] as { _id: string })._id)}/files`)).toHaveLength(1);
  });

  it('are not mistaken for unreadable pictures', async () => {
    const folder = await admin.create('/folder', { parentType: 'folder', parentId: top, name: 'Quiet', public: true });
    await put(admin, folder, 'a: 1\n');
    const query = { parentType: 'folder', parentId: folder, name: 'notes.yaml', size: 5 };
    await admin.ok('POST', '/file', { query, body: Buffer.from('b: 2\n') });
    const items = async () =>
      (await admin.ok('GET', '/item', { query: { folderId: folder } })) as unknown as Record<string, unknown>[];
    const listedItems = await until('the other file was looked at', async () => {
      const listed = await items();
      return listed.some((item) => item.name === 'notes.yaml' && item.largeImageRefused !== undefined) ? listed : null;
    });
    const configuration = listedItems.find((item) => item.name === name)!;
    expect(configuration.largeImageRefused).toBeUndefined();
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

  it('are personalized by groups, access and login, in this order', async () => {
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

  it('store the settings of several readers at once', async () => {
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

  describe('next to items of other kinds', () => {
    const yaml = 'application/yaml';
    /** An item with these files. */
    const itemOf = async (folder: string, itemName: string, files: [name: string, mimeType: string, body: string | Buffer][]) => {
      const item = await admin.create('/item', { folderId: folder, name: itemName });
      for (const [fileName, mimeType, body] of files) {
        const query = { parentType: 'item', parentId: item, name: fileName, size: Buffer.byteLength(body), mimeType };
        await admin.ok('POST', '/file', { query, body });
      }
      return item;
    };
    /** Every file of an item with its bytes. */
    const contents = async (item: string) => {
      const files = (await admin.ok('GET', `/item/${item}/files`)) as unknown as { _id: string; name: string }[];
      return Promise.all(
        files.map(async (file) => [file, (await admin.send('GET', `/file/${file._id}/download`)).bytes.toString('hex')]),
      );
    };

    it.each<[string, string, [string, string, string | Buffer][]]>([
      ['an image', 'slide.svs', [['slide.svs', 'image/tiff', 'II*\0 and so on']]],
      ['an image that is called a configuration', 'a.yaml', [['a.yaml', 'image/tiff', 'II*\0']]],
      ['bytes that are called YAML', 'b.yaml', [['b.yaml', yaml, Buffer.from([0x61, 0x3a, 0xff])]]],
      ['JSON', 'shapes.json', [['shapes.json', 'application/json', '{"a": 1}']]],
      ['a file of another name', 'c.yaml', [['d.yaml', yaml, 'a: 1']]],
      [
        'several files',
        'e.yaml',
        [
          ['e.yaml', yaml, 'a: 1'],
          ['e.yaml', yaml, 'a: 2'],
        ],
      ],
      ['no file', 'f.yaml', []],
      ['more than a configuration may have', 'g.yaml', [['g.yaml', yaml, `a: ${'x'.repeat(10 * 1024 * 1024)}`]]],
    ])('leave an item alone that holds %s', async (_what, itemName, files) => {
      const item = await itemOf(top, itemName, files);
      const before = [await contents(item), await admin.ok('GET', `/item/${item}`)];
      for (const [client, query] of [
        [admin, {}],
        [admin, { user_context: true }],
        [user, { user_context: true }],
      ] as const) {
        const answer = await client.send('PUT', `/folder/${top}/yaml_config/${itemName}`, { body: 'mine: 1\n', query });
        expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('Nothing was changed.')]);
      }
      expect([await contents(item), await admin.ok('GET', `/item/${item}`)]).toEqual(before);
      expect(await admin.ok('GET', '/item', { query: { folderId: top, name: itemName } })).toHaveLength(1);
    });

    it.each([
      ['a list', '[1, 2]\n'],
      ['a lone text', 'hello\n'],
      ['broken YAML', 'a: [1\n'],
      ['users that are not a mapping', 'users: [user]\n'],
      ['a section that is not a mapping', 'users: {user: text}\n'],
    ])('refuse the settings of a user in %s, which anyone with write access can replace', async (place, text) => {
      const itemName = `${place}.yaml`;
      const path = `/folder/${top}/yaml_config/${encodeURIComponent(itemName)}`;
      const item = await itemOf(top, itemName, [[itemName, yaml, text]]);
      const before = await contents(item);
      const answer = await user.send('PUT', path, { body: 'mine: 1\n', query: { user_context: true } });
      expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('Nothing was changed.')]);
      expect(await contents(item)).toEqual(before);
      expect((await admin.send('PUT', path, { body: 'mended: 1\n' })).status).toBe(200);
      expect(await get(user, top, encodeURIComponent(itemName))).toEqual({ mended: 1 });
    });

    it('refuse a name that a folder has, or that items cannot have', async () => {
      await admin.create('/folder', { parentType: 'folder', parentId: top, name: 'taken.yaml', public: true });
      const names = async () =>
        ((await admin.ok('GET', '/item', { query: { folderId: top, limit: 0 } })) as unknown as { name: string }[]).map(
          (each) => each.name,
        );
      const before = await names();
      for (const name of ['taken.yaml', ' blanks.yaml ']) {
        const path = `/folder/${top}/yaml_config/${encodeURIComponent(name)}`;
        expect((await admin.send('PUT', path, { body: 'a: 1\n' })).status).toBe(409);
      }
      expect((await admin.send('PUT', `/folder/${top}/yaml_config/%00`, { body: 'a: 1\n' })).status).toBe(400);
      expect(await names()).toEqual(before);
    });

    it('are written only with a token that allows writing', async () => {
      const tokens = [];
      for (const scope of [['core.data.read'], ['core.data.read', 'core.data.write']]) {
        const key = await user.ok('POST', '/api_key', { query: { name: scope.join(), scope: JSON.stringify(scope) } });
        const answer = await started.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key) } });
        tokens.push((answer.authToken as { token: string }).token);
      }
      const [reading, writing] = tokens.map((token) => new Client(started.url, token, user.id));
      await put(admin, top, 'a: 1\n');
      expect((await put(reading!, top, 'b: 1\n', { user_context: true })).status).toBe(401);
      expect(await get(user, top)).toEqual({ a: 1 });
      expect((await put(writing!, top, 'b: 1\n', { user_context: true })).status).toBe(200);
      expect(await get(user, top)).toEqual({ a: 1, b: 1 });
    });
  });

  it.each([
    ['broken YAML', 'a: [1\n', 400],
    ['two documents', 'a: 1\n---\nb: 2\n', 400],
    [
      'aliases that expand exponentially',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'.replace(/./g, (c, i: number) => `${c}: &${c} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]\n`)}`,
      400,
    ],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0x3a, 0xff]), 400],
    ['more than 10 MiB', Buffer.alloc(10 * 1024 * 1024 + 1, 0x23), 413],
  ])('refuse %s, and stay unchanged', async (_what, body, status) => {
    await put(admin, top, 'kept: 1\n');
    const answer = await admin.send('PUT', `/folder/${top}/yaml_config/${name}`, { body });
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringMatching(/./)]);
    expect(await get(user, top)).toEqual({ kept: 1 });
  });

  it.each(['application/x-www-form-urlencoded', 'multipart/form-data; boundary=b'])('refuse a form: %s', async (type) => {
    await put(admin, top, 'kept: 1\n');
    const body = type.startsWith('multipart') ? '--b--\r\n' : 'a: 1\n';
    const answer = await admin.send('PUT', `/folder/${top}/yaml_config/${name}`, { body, headers: { 'Content-Type': type } });
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('with its Content-Type')]);
    expect(await get(user, top)).toEqual({ kept: 1 });
  });

  it('are refused to callers without permission', async () => {
    expect((await put(started.anonymous, top, 'a: 1')).status).toBe(401);
    expect((await put(started.anonymous, top, 'a: 1', { user_context: true })).status).toBe(401);
    expect((await put(user, top, 'a: 1')).status).toBe(403);
    expect((await put(user, top, '[1]', { user_context: true })).status).toBe(400);
  });
});

describe('a configuration whose file cannot be stored', () => {
  it('leaves no item, and restores the previous state', async () => {
    const refuseStorage = () => Promise.reject(new LargeImageError('storage-full', 'There is no space.'));
    let isFull = false;
    const specimens = await startSpecimens((host, server) => ({
      files: { ...host.files, create: (...file) => (isFull ? refuseStorage() : host.files.create(...file)) },
      // It stores only these fields. The plugin adds the others.
      createItem: async ({ name: title, folderId }) => {
        const specimen = await server.Specimens.create({ title, cabinet: folderId });
        return specimen.toObject() as never;
      },
    }));
    const { server, api } = specimens;
    try {
      await server.Badges.create({ secret: 'curator', person: 'curator' });
      const cabinet = await server.Cabinets.create({ title: 'a cabinet', owner: 'nobody', open: true });
      const path = `${api}/folder/${cabinet.id}/yaml_config/a.yaml`;
      const send = (body: string) => fetch(path, { method: 'PUT', body, headers: { Authorization: 'Bearer curator' } });
      isFull = true;
      expect((await send('a: 1')).status).toBe(507);
      expect(await server.Specimens.countDocuments({})).toBe(0);
      isFull = false;
      expect((await send('a: 1')).status).toBe(200);
      isFull = true;
      expect((await send('a: 2')).status).toBe(507);
      expect(await (await fetch(path)).json()).toEqual({ a: 1 });
      expect(await server.Specimens.collection.find({}).toArray()).toEqual([
        expect.not.objectContaining({ largeImageUnfinished: true }),
      ]);
      expect(await server.Blobs.countDocuments({})).toBe(1);
    } finally {
      await specimens.close();
    }
  });
});
