import { mkdtemp, rm, writeFile, access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServedFiles } from '../../../src/reference-host/start/content/served-files.js';
import type { FolderDocument } from '../../../src/reference-host/tree/folder.model.js';
import { createItems } from '../../../src/reference-host/tree/items.js';
import { removeExpiredTrash } from '../../../src/reference-host/trash/emptying.js';
import { startHost, type Answer, type Client, type TestHost } from '../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;

const unknown = '0123456789abcdef01234567';

let server: TestHost;
let admin: Client;
let writer: Client;
let stranger: Client;
let collection: string;
let png: Buffer;
let count = 0;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  writer = await server.register('writer');
  stranger = await server.register('stranger');
  collection = await admin.create('/collection', { name: 'Images', public: true });
  png = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#808080' } })
    .png()
    .toBuffer();
});
afterAll(() => server.close());

const namedAs = (resources: Record<string, string[]>) => ({ query: { resources: JSON.stringify(resources) } });
const trash = (resources: Record<string, string[]>, client = admin) => client.ok('POST', '/resource/trash', namedAs(resources));
const restore = async (resources: Record<string, string[]>, client = admin) =>
  (await client.ok('POST', '/resource/restore', namedAs(resources))) as unknown as Json[];
const listed = async (client = admin) => (await client.ok('GET', '/trash')) as unknown as Json[];
const empty = (resources: Record<string, string[]>, client = admin) => client.ok('DELETE', '/trash', namedAs(resources));

async function newFolder(parent: Record<string, string> = { parentType: 'collection', parentId: collection }) {
  const id = await admin.create('/folder', { ...parent, name: `folder ${++count}`, public: true });
  const users = [
    { id: admin.id, level: 2 },
    { id: writer.id, level: 1 },
  ];
  const list = JSON.stringify({ users, groups: [] });
  await admin.ok('PUT', `/folder/${id}/access`, { query: { access: list, public: true } });
  return id;
}

/** An item with an image, metadata, a cached thumbnail and an annotation. */
async function newImage(folderId: string, name = `image ${++count}.png`) {
  const query = { parentType: 'folder', parentId: folderId, name, size: png.length };
  const file = await admin.ok('POST', '/file', { query, body: png });
  const item = String(file.itemId);
  await admin.ok('PUT', `/item/${item}/metadata`, { json: { stain: 'HE' } });
  await admin.ok('GET', `/item/${item}/tiles/thumbnail`);
  const annotation = { name: 'marks', elements: [{ type: 'point', center: [1, 1, 0] }] };
  const { _id } = await admin.ok('POST', '/annotation', { query: { itemId: item }, json: annotation });
  return { item, file: String(file._id), annotation: String(_id), name };
}

const thumbnails = async (item: string) =>
  server.host.context.models.file.countDocuments({ attachedToId: new Types.ObjectId(item) } as never);

/** Checks that requests are answered like requests about a document that never existed. */
async function expectAbsent(paths: readonly string[]) {
  for (const path of paths) {
    const [, id] = /\/([0-9a-f]{24})/.exec(path)!;
    const plain = ({ status, body }: Answer) => [path, status, JSON.stringify(body).replaceAll(id!, unknown)];
    expect(plain(await admin.send('GET', path))).toEqual(plain(await admin.send('GET', path.replace(id!, unknown))));
  }
}

describe('an item in the trash', () => {
  it('seems absent, and is restored with everything', async () => {
    const folder = await newFolder();
    const { item, file, annotation, name } = await newImage(folder);
    const before = await admin.ok('GET', `/item/${item}`);
    const cached = await thumbnails(item);
    expect(cached).toBeGreaterThan(0);
    await trash({ item: [item] }, writer);

    await expectAbsent([`/item/${item}`, `/item/${item}/tiles`, `/item/${item}/tiles/thumbnail`, `/annotation/${annotation}`]);
    await expectAbsent([`/file/${file}`, `/file/${file}/download`]);
    expect(await admin.ok('GET', '/item', { query: { folderId: folder } })).toEqual([]);
    expect(await admin.ok('GET', `/folder/${folder}/details`)).toMatchObject({ nItems: 0 });
    const marks = (await admin.ok('GET', '/annotation', { query: { name: 'marks', limit: 0 } })) as unknown as Json[];
    expect(marks.map(({ itemId }) => itemId)).not.toContain(item);
    const [entry] = await listed(writer);
    expect(entry).toMatchObject({ _id: item, _modelType: 'item', name, items: 1, size: png.length, trashedBy: 'writer' });
    expect(String(entry!.path)).toMatch(/^\/collection\/Images\/folder/);
    expect(await listed(stranger)).toEqual([]);

    expect(await restore({ item: [item] }, writer)).toEqual([
      {
        _id: item,
        _modelType: 'item',
        name,
        parentType: 'folder',
        parentId: folder,
        isRenamed: false,
        isMoved: false,
      },
    ]);
    expect(await admin.ok('GET', `/item/${item}`)).toEqual(before);
    expect(await admin.ok('GET', `/annotation/${annotation}`)).toMatchObject({ annotation: { name: 'marks' } });
    expect(await thumbnails(item)).toBe(cached);
    expect((await admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
    expect(await listed(writer)).toEqual([]);
  });

  it('is put there only by users who may remove it, and only once', async () => {
    const { item } = await newImage(await newFolder());
    expect(await stranger.fails('POST', '/resource/trash', namedAs({ item: [item] }))).toMatchObject({ status: 403 });
    await trash({ item: [item] });
    for (const route of ['/resource/trash', '/resource/restore'] as const) {
      const client = route === '/resource/trash' ? admin : stranger;
      expect((await client.send('POST', route, namedAs({ item: [item] }))).status).toBe(route === '/resource/trash' ? 400 : 403);
    }
    expect((await stranger.send('DELETE', '/trash', namedAs({ item: [item] }))).status).toBe(403);
    await empty({ item: [item] });
    const { item: kept } = await newImage(await newFolder());
    for (const id of [item, kept]) {
      for (const [method, path] of [
        ['POST', '/resource/restore'],
        ['DELETE', '/trash'],
      ] as const) {
        expect(await admin.fails(method, path, namedAs({ item: [id] }))).toMatchObject({
          status: 400,
          code: 'unknown-id',
          message: `There is no item with the id ${id} in the trash.`,
        });
      }
    }
  });

  it('frees its name, and gets another if necessary when it is restored', async () => {
    const folder = await newFolder();
    const { item } = await newImage(folder, 'same.png');
    await trash({ item: [item] });
    const { item: other } = await newImage(folder, 'same.png');
    expect(await admin.ok('GET', `/item/${other}`)).toMatchObject({ name: 'same.png' });
    expect(await restore({ item: [item] })).toMatchObject([{ name: 'same.png (1)', isRenamed: true, isMoved: false }]);
    expect(await admin.ok('GET', `/item/${item}`)).toMatchObject({ name: 'same.png (1)', folderId: folder });
  });

  it.each(['DELETE', 'trash'] as const)('is restored into a folder of the user when its folder is gone by %s', async (how) => {
    const folder = await newFolder();
    const { item, annotation } = await newImage(folder);
    await trash({ item: [item] });
    if (how === 'DELETE') await admin.ok('DELETE', `/folder/${folder}`);
    else await trash({ folder: [folder] });
    const [back] = await restore({ item: [item] });
    expect(back).toMatchObject({ isMoved: true, parentType: 'folder' });
    expect(await admin.ok('GET', `/folder/${String(back!.parentId)}`)).toMatchObject({ name: 'Restored', public: false });
    expect(await admin.ok('GET', `/annotation/${annotation}`)).toMatchObject({ itemId: item });
    const elsewhere = await newFolder();
    await trash({ item: [item] });
    const query = { resources: JSON.stringify({ item: [item] }), parentType: 'folder', parentId: elsewhere };
    expect(await admin.ok('POST', '/resource/restore', { query })).toMatchObject([{ parentId: elsewhere, isMoved: true }]);
  });

  it('is removed permanently when the trash is emptied or its time has passed', async () => {
    const folder = await newFolder();
    const [first, second] = [await newImage(folder), await newImage(folder)];
    await trash({ item: [first.item, second.item] });
    await empty({ item: [first.item] });
    const { context } = server.host;
    expect(await context.models.file.countDocuments({ itemId: new Types.ObjectId(first.item) })).toBe(0);
    expect(await thumbnails(first.item)).toBe(0);
    await removeExpiredTrash(context, new AbortController().signal);
    expect(await thumbnails(second.item)).toBeGreaterThan(0);
    const old = { $set: { 'trashed.entry': new Date(Date.now() - 31 * 24 * 60 * 60 * 1000) } };
    await context.models.item.updateOne({ _id: new Types.ObjectId(second.item) }, old, { withTrashed: true } as never);
    await admin.ok('PUT', '/system/setting', { query: { key: 'core.trash_days', value: '0' } });
    expect(await removeExpiredTrash(context, new AbortController().signal)).toBe(0);
    await admin.ok('DELETE', '/system/setting', { query: { key: 'core.trash_days' } });
    expect(await removeExpiredTrash(context, new AbortController().signal)).toBeGreaterThan(0);
    expect(await thumbnails(second.item)).toBe(0);
    expect((await listed()).map(({ _id }) => _id)).not.toContain(second.item);
  });

  it('keeps a file that is served in place', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'in-place-'));
    try {
      const path = join(directory, 'own.png');
      await writeFile(path, png);
      const folderId = await newFolder();
      const folder = (await server.host.context.models.folder.findById(folderId).lean())!;
      const { item } = await server.host.registerFileInPlace({ path, folder, itemName: 'own.png', creatorId: null });
      await trash({ item: [String(item._id)] });
      await empty({ item: [String(item._id)] });
      await expect(access(path)).resolves.toBeUndefined();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

it('deleted annotations are listed for users who may restore them', async () => {
  const { item, annotation } = await newImage(await newFolder());
  await admin.ok('DELETE', `/annotation/${annotation}`);
  const deleted = (client: Client) => client.ok('GET', '/annotation/deleted', { query: { itemId: item } });
  expect(await deleted(admin)).toMatchObject([{ _id: annotation, _active: false, annotation: { name: 'marks' } }]);
  expect(await deleted(stranger)).toEqual([]);
  await admin.ok('PUT', `/annotation/${annotation}/history/revert`);
  expect(await deleted(admin)).toEqual([]);
});

it('a rescan of served files does not restore items from the trash', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'served-'));
  try {
    await writeFile(join(directory, 'one.png'), png);
    const options = {
      paths: [directory],
      creatorId: null,
      isPublic: false,
      onProgress: () => undefined,
      onLeftOut: () => undefined,
    };
    const served = new ServedFiles(options);
    const scan = () => served.scan(server.host.context, new AbortController().signal);
    expect(await scan()).toMatchObject({ files: 1, added: 1 });
    const { models } = server.host.context;
    const item = (await models.item.findOne({ name: 'one.png' }).lean())!;
    const folderId = item.folderId.toHexString();
    await trash({ folder: [folderId] });
    expect(await scan()).toMatchObject({ files: 1, added: 0, moved: 0 });
    expect(await models.item.countDocuments({ name: 'one.png' })).toBe(0);
    await restore({ folder: [folderId] });
    expect(await admin.ok('GET', '/item', { query: { folderId } })).toMatchObject([{ _id: item._id.toHexString() }]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it('the plugin hides items that only the events of a host report as hidden', async () => {
  const { item, annotation } = await newImage(await newFolder());
  const { events, models } = server.host.context;
  const items = [{ ...(await models.item.findById(item).lean())! }];
  await events.emit('item.hidden', { items });
  expect((await admin.send('GET', `/item/${item}`)).status).toBe(200);
  await expectAbsent([`/item/${item}/tiles`, `/item/${item}/tiles/zxy/0/0/0`, `/annotation/${annotation}`, `/iiif/${item}`]);
  const images = async () => JSON.stringify(await admin.ok('GET', '/annotation/images', { query: { limit: 0 } }));
  expect(await images()).not.toContain(item);
  await events.emit('item.shown', { items });
  expect(await images()).toContain(item);
  expect((await admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
  expect((await admin.send('GET', `/annotation/${annotation}`)).status).toBe(200);
});

describe('a folder in the trash', () => {
  it('takes its contents along, except entries that are already in the trash', async () => {
    const folder = await newFolder();
    const inner = await newFolder({ parentType: 'folder', parentId: folder });
    const [outer, nested, alone] = [await newImage(folder), await newImage(inner), await newImage(inner)];
    expect(await admin.ok('GET', '/resource/extent', namedAs({ folder: [folder] }))).toEqual({
      folders: 1,
      items: 3,
      size: 3 * png.length,
    });
    await trash({ item: [alone.item] });
    await trash({ folder: [folder], item: [outer.item] });
    await expectAbsent([`/folder/${folder}`, `/folder/${inner}`, `/item/${nested.item}`, `/annotation/${nested.annotation}`]);
    const entries = (await listed()).filter(({ _id }) => [folder, outer.item, alone.item].includes(String(_id)));
    expect(entries).toMatchObject([
      { _id: folder, folders: 1, items: 2, size: 2 * png.length },
      { _id: alone.item, items: 1 },
    ]);
    expect(await restore({ folder: [folder] })).toMatchObject([{ _id: folder, isMoved: false, isRenamed: false }]);
    expect(await admin.ok('GET', '/item', { query: { folderId: inner } })).toMatchObject([{ _id: nested.item }]);
    expect(await admin.ok('GET', `/annotation/${nested.annotation}`)).toMatchObject({ itemId: nested.item });
    expect(await admin.ok('GET', `/item/${outer.item}`)).toMatchObject({ folderId: folder });
    expect(await restore({ item: [alone.item] })).toMatchObject([{ parentId: inner }]);
  });

  it('is removed with its contents, but not with what was put into the trash before', async () => {
    const folder = await newFolder();
    const [image, alone] = [await newImage(folder), await newImage(folder)];
    await trash({ item: [alone.item] });
    await trash({ folder: [folder] });
    await empty({ folder: [folder] });
    const { models } = server.host.context;
    expect(await models.file.countDocuments({ itemId: new Types.ObjectId(image.item) })).toBe(0);
    expect(await restore({ item: [alone.item] })).toMatchObject([{ isMoved: true }]);
  });

  it('still counts for the size of its collection', async () => {
    const ownCollection = await admin.create('/collection', { name: `own ${++count}`, public: true });
    const folder = await newFolder({ parentType: 'collection', parentId: ownCollection });
    await newImage(folder);
    const sizeOf = async () => (await admin.ok('GET', `/collection/${ownCollection}`)).size;
    const size = await sizeOf();
    await trash({ folder: [folder] });
    expect(await sizeOf()).toBe(size);
    await empty({ folder: [folder] });
    expect(await sizeOf()).toBe(0);
  });

  it('moves to another collection with its size', async () => {
    const [from, to] = [await admin.create('/collection', { name: 'from' }), await admin.create('/collection', { name: 'to' })];
    const folder = await newFolder({ parentType: 'collection', parentId: from });
    const { item } = await newImage(folder);
    await trash({ folder: [folder] });
    const query = { resources: JSON.stringify({ folder: [folder] }), parentType: 'collection', parentId: to };
    await admin.ok('POST', '/resource/restore', { query });
    expect(await admin.ok('GET', `/collection/${from}`)).toMatchObject({ size: 0 });
    expect(await admin.ok('GET', `/collection/${to}`)).toMatchObject({ size: png.length });
    expect(await admin.ok('GET', `/item/${item}`)).toMatchObject({ baseParentId: to });
  });

  it('is either restored or removed when two people do both at once', async () => {
    const folder = await newFolder();
    const { item } = await newImage(folder);
    await trash({ folder: [folder] });
    const answers = await Promise.all([
      admin.send('POST', '/resource/restore', namedAs({ folder: [folder] })),
      admin.send('DELETE', '/trash', namedAs({ folder: [folder] })),
      admin.send('POST', '/resource/restore', namedAs({ folder: [folder] })),
    ]);
    const restored = [answers[0]!, answers[2]!].filter(({ status }) => status === 200).length;
    const isThere = (await admin.send('GET', `/item/${item}`)).status === 200;
    expect(restored).toBe(isThere ? 1 : 0);
    expect((await admin.send('GET', `/folder/${folder}`)).status).toBe(isThere ? 200 : 400);
  });
});

it('emptying the trash removes only what the caller may remove', async () => {
  const folder = await newFolder();
  const { item } = await newImage(folder);
  await trash({ item: [item] });
  await stranger.ok('DELETE', '/trash');
  expect((await listed()).map(({ _id }) => _id)).toContain(item);
  await admin.ok('DELETE', '/trash');
  expect(await listed()).toEqual([]);
});

it('the trash of a user is removed with the user', async () => {
  const leaver = await server.register('leaver');
  const [folder] = await leaver.ok('GET', '/folder', { query: { parentType: 'user', parentId: leaver.id! } });
  const { item } = await newImage(String((folder as unknown as Json)._id));
  await trash({ item: [item] }, leaver);
  await admin.ok('DELETE', `/user/${leaver.id!}`);
  expect((await listed()).map(({ _id }) => _id)).not.toContain(item);
});

it('the trash survives a full sweep', async () => {
  const { item } = await newImage(await newFolder());
  const cached = await thumbnails(item);
  await trash({ item: [item] });
  await admin.ok('DELETE', '/annotation/old', { query: { age: 7, versions: 0 } });
  const { sweep } = await import('../../../src/reference-host/upkeep/sweep.js');
  await sweep(server.host.context, { uploadLifetimeMs: 1e9, signal: new AbortController().signal });
  await restore({ item: [item] });
  expect(await thumbnails(item)).toBe(cached);
  expect(await admin.ok('GET', '/annotation', { query: { itemId: item } })).toHaveLength(1);
});

describe('searches', () => {
  const search = async (word: string) => {
    const named = async (path: string, query: Record<string, string>) => {
      const list = (await admin.ok('GET', path, { query })) as unknown as { name: string }[];
      return list.map(({ name }) => name);
    };
    const resources = await admin.ok('GET', '/resource/search', {
      query: { q: word, mode: 'text', types: JSON.stringify(['item', 'folder']) },
    });
    return {
      items: await named('/item', { find: word }),
      folders: await named('/folder', { find: word }),
      resources: (Object.values(resources) as { name: string }[][]).flat().map(({ name }) => name),
    };
  };

  it.each(['item', 'folder'] as const)('find the %s only outside of the trash, and by its new name afterwards', async (type) => {
    const parent = { parentType: 'collection', parentId: collection };
    const folder = await admin.create('/folder', { ...parent, name: `quokka ${type}`, public: true });
    const item = await admin.create('/item', { folderId: folder, name: `wombat ${type}.png` });
    const [word, id] = type === 'item' ? ['wombat', item] : ['quokka', folder];
    const before = await search(word);
    expect(before.resources).toHaveLength(1);
    await trash({ [type]: [id] });
    expect(await search('wombat')).toEqual({ items: [], folders: [], resources: [] });
    if (type === 'folder') expect(await search(word)).toEqual({ items: [], folders: [], resources: [] });
    // Another entry takes its name before it is restored.
    const other =
      type === 'item'
        ? await admin.create('/item', { folderId: folder, name: `wombat ${type}.png` })
        : await admin.create('/folder', { ...parent, name: `quokka ${type}` });
    const [{ name }] = (await restore({ [type]: [id] })) as [{ name: string }];
    await admin.ok('DELETE', `/${type}/${other}`);
    const after = await search(`${word} name:1`);
    expect([...after.items, ...after.folders]).toEqual([name]);
    await admin.ok('DELETE', `/folder/${folder}`);
  });
});

describe('putting a folder with many items into the trash', () => {
  const many = 400;
  /** Number of commands to the database while something is done. */
  const commandsOf = async (work: () => Promise<unknown>) => {
    const { mongoose } = server.host.host;
    let commands = 0;
    // Each creator of a removed annotation is told.
    mongoose.set('debug', (name: string) => void (commands += name === 'notification' ? 0 : 1));
    try {
      await work();
    } finally {
      mongoose.set('debug', false);
    }
    return commands;
  };
  /** Makes a folder with items that have no files. */
  const fill = async (items: number) => {
    const { context } = server.host;
    const id = await newFolder();
    const folder = (await context.models.folder.findById(id).lean<FolderDocument>())!;
    for (let from = 0; from < items; from += 100) {
      const some = Array.from({ length: Math.min(100, items - from) }, (_, i) => ({ name: `item ${from + i}`, creatorId: null }));
      await createItems(context, folder, some);
    }
    return id;
  };

  it('uses commands for many items at once, as listing and restoring do', async () => {
    const [small, large] = [await fill(20), await fill(many)];
    for (const [action, work] of [
      ['trash', (id: string) => trash({ folder: [id] })],
      ['list', async () => expect((await listed()).length).toBeGreaterThan(0)],
      ['restore', (id: string) => restore({ folder: [id] })],
    ] as const) {
      const few = await commandsOf(() => work(small));
      const commands = await commandsOf(() => work(large));
      expect(commands - few, action).toBeLessThan(many / 5);
    }
  });

  it('needs few commands also when its items are named one by one', async () => {
    const idsIn = async (folder: string) => {
      const items = (await admin.ok('GET', '/item', { query: { folderId: folder, limit: 0 } })) as unknown as Json[];
      return items.map(({ _id }) => String(_id));
    };
    const [few, several] = [await idsIn(await fill(5)), await idsIn(await fill(60))];
    const commands = await commandsOf(() => trash({ item: few }));
    expect((await commandsOf(() => trash({ item: several }))) - commands).toBeLessThan(30);
    const entry = (await listed()).find(({ _id }) => _id === several[0]);
    expect(entry).toMatchObject({ items: 1, folders: 0, size: 0, isComplete: true });
    await empty({ item: [...few, ...several] });
    expect((await listed()).map(({ _id }) => _id)).not.toContain(several[0]);
  });

  it('needs no more commands to be emptied than a folder with few items, and shows the remaining entries until it is empty', async () => {
    const { context } = server.host;
    const filled = async (images: number) => {
      const folder = await newFolder();
      const createdImages = [];
      for (let n = 0; n < images; n += 1) createdImages.push(await newImage(folder));
      await trash({ folder: [folder] });
      return { folder, images: createdImages };
    };
    const [small, large] = [await filled(3), await filled(18)];
    const commands = await commandsOf(() => empty({ folder: [small.folder] }));
    let entry: Json | undefined;
    const off = context.events.on('items.removed', async ({ items }) => {
      if (items.length === 18) [entry] = (await listed()).filter(({ _id }) => _id === large.folder);
    });
    const forLarge = await commandsOf(() => empty({ folder: [large.folder] }));
    off();
    // This test itself reads the list while the trash is emptied, which takes a few commands.
    expect(forLarge - commands).toBeLessThan(15);
    expect(entry).toMatchObject({ isRemoving: true, items: 18 });
    expect((await listed()).map(({ _id }) => _id)).not.toContain(large.folder);
    const items = large.images.map(({ item }) => new Types.ObjectId(item));
    expect(
      await context.models.file.countDocuments({ $or: [{ itemId: { $in: items } }, { attachedToId: { $in: items } }] }),
    ).toBe(0);
    for (const { annotation } of large.images) {
      expect((await admin.send('GET', `/annotation/${annotation}`)).status).not.toBe(200);
      expect(await admin.ok('GET', `/annotation/${annotation}/history`)).toHaveLength(1);
    }
  });
});
