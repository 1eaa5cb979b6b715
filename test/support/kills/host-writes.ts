import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { Client, type Answer } from '../hosts/reference-host.js';

export const minimumChunk = 1024;
/** The subjects of one case: its own collection with a folder. */
export interface Place {
  name: string;
  collection: string;
  folder: string;
  body: Buffer;
  /** Ids of the prepared documents. */
  ids: Record<string, string>;
}

export interface Write {
  steps: readonly string[];
  prepare?: (client: Client, place: Place) => Promise<void>;
  /** The requests during which the process is killed. */
  act: (client: Client, place: Place) => Promise<unknown>;
  /** Requests of a client afterwards, and the check of their results. */
  check: (client: Client, place: Place, step: string) => Promise<void>;
}

const half = 2 * minimumChunk;
export const bodyOf = () => randomBytes(half + 500);
const id = (answer: unknown) => String((answer as { _id: unknown })._id);

async function upload(client: Client, query: Record<string, string | number>, body: Buffer): Promise<Answer['body']> {
  return client.ok('POST', '/file', { query: { size: body.length, ...query }, body });
}

/** Items of a folder with the bytes of their files. */
export async function contents(client: Client, folder: string): Promise<[string, ...Buffer[]][]> {
  const items = await client.ok('GET', '/item', { query: { folderId: folder } });
  return Promise.all(
    items.map(async (item): Promise<[string, ...Buffer[]]> => {
      const files = await client.ok('GET', `/item/${id(item)}/files`);
      const bytes = files.map(async (file) => (await client.send('GET', `/file/${id(file)}/download`)).bytes);
      return [(item as { name: string }).name, ...(await Promise.all(bytes))];
    }),
  );
}

const trashed = (folder: string) => ({ query: { resources: JSON.stringify({ folder: [folder] }) } });

/** Sends the rest of an upload, as clients do after losing their connection. First asks how much has arrived. */
async function resume(client: Client, uploadId: string, body: Buffer): Promise<void> {
  const upload = await client.send('GET', '/file/offset', { query: { uploadId } });
  if (upload.status === 400) return;
  const offset = Number(upload.body.offset);
  const answer =
    offset === body.length
      ? await client.send('POST', '/file/completion', { query: { uploadId } })
      : await client.send('POST', '/file/chunk', { query: { uploadId, offset }, body: body.subarray(offset) });
  expect([answer.status, answer.body.size]).toEqual([200, body.length]);
}

const startUpload = async (client: Client, place: Place, query: Record<string, string | number>) => {
  place.ids.upload = id(await client.ok('POST', '/file', { query: { name: 'f.bin', size: place.body.length, ...query } }));
};
const sendChunks = async (client: Client, { ids, body }: Place) => {
  for (const [offset, end] of [
    [0, half],
    [half, body.length],
  ] as const) {
    await client.ok('POST', '/file/chunk', { query: { uploadId: ids.upload!, offset }, body: body.subarray(offset, end) });
  }
};
const finishing = [
  'upload:registered',
  'upload:moved',
  'file:recorded',
  'upload:published',
  'upload:announced',
  'upload:forgotten',
];
const putItem = async (client: Client, place: Place, name = 'item') => {
  place.ids[name] = id(await client.create('/item', { folderId: place.folder, name }).then((_id) => ({ _id })));
};
const putFile = (client: Client, place: Place, name = 'item') =>
  upload(client, { parentType: 'item', parentId: place.ids[name]!, name: 'f.bin' }, place.body);
const tree = async (client: Client, place: Place) => {
  place.ids.top = await client.create('/folder', { parentId: place.folder, name: 'top' });
  place.ids.inner = await client.create('/folder', { parentId: place.ids.top, name: 'inner' });
  for (const parentId of [place.ids.top, place.ids.inner]) {
    await upload(client, { parentType: 'folder', parentId, name: 'f.bin' }, place.body);
  }
};
const status = async (client: Client, path: string) => (await client.send('GET', path)).status;
/** Checks that a tree is complete. */
const expectWholeTree = async (client: Client, top: string, { body }: Place) => {
  expect(await contents(client, top)).toEqual([['f.bin', body]]);
  const [inner] = await client.ok('GET', '/folder', { query: { parentType: 'folder', parentId: top } });
  expect(await contents(client, id(inner))).toEqual([['f.bin', body]]);
};
const foldersOf = async (client: Client, parentId: string, parentType = 'folder') =>
  (await client.ok('GET', '/folder', { query: { parentType, parentId } })).map((each) => each as { _id: string; name: string });

/** Every write of the reference host, and the steps at which its process is killed. */
export const hostWrites: Record<string, Write> = {
  'an upload into a folder': {
    steps: [
      'upload:written',
      'upload:received',
      'upload:written#2',
      'upload:received#2',
      ...finishing,
      'item:named',
      'item:recorded',
      'item:counted',
    ],
    prepare: (client, place) => startUpload(client, place, { parentType: 'folder', parentId: place.folder }),
    act: sendChunks,
    async check(client, { ids, body, folder }) {
      expect((await contents(client, folder)).filter(([, ...bytes]) => bytes.length === 0)).toEqual([]);
      await resume(client, ids.upload!, body);
      expect(await contents(client, folder)).toEqual([['f.bin', body]]);
      // It is the file that was published before the process was killed, not a second one.
      expect(await status(client, `/file/offset?uploadId=${ids.upload!}`)).toBe(400);
    },
  },
  'an upload into an item': {
    steps: ['file:recorded', 'file:counted'],
    async prepare(client, place) {
      await putItem(client, place);
      await startUpload(client, place, { parentType: 'item', parentId: place.ids.item! });
    },
    act: sendChunks,
    async check(client, { ids, body, folder }) {
      await resume(client, ids.upload!, body);
      expect(await contents(client, folder)).toEqual([['item', body]]);
    },
  },
  'an upload in one request': {
    steps: ['upload:written', 'upload:moved', 'file:recorded', 'item:recorded'],
    act: (client, { folder, body }) => upload(client, { parentType: 'folder', parentId: folder, name: 'f.bin' }, body),
    async check(client, { folder, body }) {
      // No client knows the upload, so what was not published is removed.
      const files = await contents(client, folder);
      expect([[], [['f.bin', body]]]).toContainEqual(files);
      await upload(client, { parentType: 'folder', parentId: folder, name: 'again.bin' }, body);
    },
  },
  'new contents of a file': {
    steps: ['upload:moved', 'upload:replaced', 'bytes:forgotten', 'upload:counted'],
    async prepare(client, place) {
      await putItem(client, place);
      place.ids.file = id(await putFile(client, place));
      place.body = bodyOf();
      const query = { size: place.body.length };
      place.ids.upload = id(await client.ok('PUT', `/file/${place.ids.file}/contents`, { query }));
    },
    act: sendChunks,
    async check(client, { ids, body, folder }) {
      const [[, bytes] = []] = await contents(client, folder);
      expect(bytes).toHaveLength(body.length);
      await resume(client, ids.upload!, body);
      expect(await contents(client, folder)).toEqual([['item', body]]);
    },
  },
  'the removal of a file': {
    steps: ['file-removal:hidden', 'file-removal:counted', 'bytes:released', 'file-removal:cleared'],
    async prepare(client, place) {
      await putItem(client, place);
      place.ids.file = id(await putFile(client, place));
    },
    act: (client, { ids }) => client.ok('DELETE', `/file/${ids.file!}`),
    async check(client, { folder }) {
      expect(await contents(client, folder)).toEqual([['item']]);
    },
  },
  'the removal of an item': {
    steps: ['item-removal:hidden', 'item-removal:emptied'],
    async prepare(client, place) {
      await putItem(client, place);
      await putFile(client, place);
      await putFile(client, place);
    },
    act: (client, { ids }) => client.ok('DELETE', `/item/${ids.item!}`),
    async check(client, place) {
      expect(await contents(client, place.folder)).toEqual([]);
      await putItem(client, place);
      expect(await contents(client, place.folder)).toEqual([['item']]);
    },
  },
  'the removal of a folder': {
    steps: [
      'folder-removal:hidden',
      'item-removals:hidden',
      'item-removal:emptied',
      'folder-removal:items',
      'folder-removal:hidden#2',
    ],
    prepare: tree,
    act: (client, { ids }) => client.ok('DELETE', `/folder/${ids.top!}`),
    async check(client, { ids, folder }) {
      expect([await status(client, `/folder/${ids.top!}`), await status(client, `/folder/${ids.inner!}`)]).toEqual([400, 400]);
      await client.create('/folder', { parentId: folder, name: 'top' });
    },
  },
  'the emptying of a folder': {
    steps: ['item-removals:hidden', 'folder-removal:items'],
    prepare: tree,
    act: (client, { ids }) => client.ok('DELETE', `/folder/${ids.top!}/contents`),
    async check(client, { ids }) {
      expect(await contents(client, ids.top!)).toEqual([]);
      expect(await foldersOf(client, ids.top!)).toEqual([]);
    },
  },
  'the removal of several things': {
    steps: ['removals:noted'],
    async prepare(client, place) {
      await tree(client, place);
      await putItem(client, place);
    },
    act: (client, { ids }) =>
      client.ok('DELETE', '/resource', { query: { resources: JSON.stringify({ item: [ids.item], folder: [ids.top] }) } }),
    async check(client, { ids }) {
      const paths = [`/item/${ids.item!}`, `/folder/${ids.top!}`, `/folder/${ids.inner!}`];
      expect(await Promise.all(paths.map((path) => status(client, path)))).toEqual([400, 400, 400]);
    },
  },
  'putting a folder into the trash': {
    steps: ['trash:hidden', 'trash:below', 'trash:announced', 'trash:counted'],
    prepare: tree,
    act: (client, { ids }) => client.ok('POST', '/resource/trash', trashed(ids.top!)),
    async check(client, place) {
      const { ids, folder } = place;
      expect([await status(client, `/folder/${ids.top!}`), await status(client, `/folder/${ids.inner!}`)]).toEqual([400, 400]);
      await client.create('/folder', { parentId: folder, name: 'top' });
      await client.ok('POST', '/resource/restore', trashed(ids.top!));
      await expectWholeTree(client, ids.top!, place);
    },
  },
  'taking a folder out of the trash': {
    steps: ['restore:claimed', 'restore:named', 'restore:contents', 'restore:placed', 'trash:announced'],
    async prepare(client, place) {
      await tree(client, place);
      await client.ok('POST', '/resource/trash', trashed(place.ids.top!));
    },
    act: (client, { ids }) => client.ok('POST', '/resource/restore', trashed(ids.top!)),
    check: (client, place) => expectWholeTree(client, place.ids.top!, place),
  },
  'emptying the trash': {
    steps: [
      'item-removals:hidden',
      'item-removal:emptied',
      'trash-removal:items',
      'folder-removal:hidden',
      'trash-removal:removed',
    ],
    async prepare(client, place) {
      await tree(client, place);
      await client.ok('POST', '/resource/trash', trashed(place.ids.top!));
    },
    act: (client, { ids }) => client.ok('DELETE', '/trash', trashed(ids.top!)),
    async check(client, { ids }) {
      expect((await client.send('POST', '/resource/restore', trashed(ids.top!))).status).toBe(400);
      expect(await status(client, `/folder/${ids.inner!}`)).toBe(400);
    },
  },
  'the removal of a collection': {
    steps: ['collection-removal:hidden'],
    prepare: tree,
    act: (client, { collection }) => client.ok('DELETE', `/collection/${collection}`),
    async check(client, { ids, collection, folder }) {
      const paths = [`/collection/${collection}`, `/folder/${folder}`, `/folder/${ids.inner!}`];
      expect(await Promise.all(paths.map((path) => status(client, path)))).toEqual([400, 400, 400]);
    },
  },
  'the copy of an item': {
    steps: ['item:recorded', 'file-copy:shared', 'file:recorded', 'item-copy:announced'],
    async prepare(client, place) {
      await putItem(client, place);
      await putFile(client, place);
    },
    act: (client, { ids }) => client.ok('POST', `/item/${ids.item!}/copy`),
    async check(client, { ids, folder, body }) {
      expect(await contents(client, folder)).toEqual([['item', body]]);
      await client.ok('POST', `/item/${ids.item!}/copy`);
      await client.ok('DELETE', `/item/${ids.item!}`);
      expect(await contents(client, folder)).toEqual([['item (1)', body]]);
    },
  },
  'the copy of a folder': {
    steps: ['folder:recorded', 'folder-copy:item', 'folder-copy:item#2'],
    prepare: tree,
    act: (client, { ids, collection }) =>
      client.ok('POST', `/folder/${ids.top!}/copy`, { query: { parentType: 'collection', parentId: collection } }),
    async check(client, place) {
      const { ids, collection } = place;
      expect((await foldersOf(client, collection, 'collection')).map(({ name }) => name)).toEqual(['Root']);
      const query = { parentType: 'collection', parentId: collection };
      await expectWholeTree(client, id(await client.ok('POST', `/folder/${ids.top!}/copy`, { query })), place);
      await expectWholeTree(client, ids.top!, place);
    },
  },
  'a move to another collection': {
    steps: ['folder-change:recorded', 'move:placed', 'move:rooted', 'move:counted'],
    async prepare(client, place) {
      await tree(client, place);
      place.ids.target = await client.create('/collection', { name: `Target of ${place.name}` });
    },
    act: (client, { ids }) => {
      const query = { parentType: 'collection', parentId: ids.target! };
      return client.ok('PUT', `/folder/${ids.top!}`, { query });
    },
    async check(client, place) {
      const { ids, folder } = place;
      await expectWholeTree(client, ids.top!, place);
      expect(await client.ok('GET', `/folder/${ids.inner!}`)).toMatchObject({ baseParentId: ids.target });
      // The name is free in the former place.
      await client.create('/folder', { parentId: folder, name: 'top' });
    },
  },
  'a move of an item': {
    steps: ['item-move:placed', 'item-move:named'],
    async prepare(client, place) {
      await putItem(client, place);
      await putFile(client, place);
      place.ids.target = await client.create('/folder', { parentId: place.folder, name: 'target' });
    },
    act: (client, { ids }) => client.ok('PUT', `/item/${ids.item!}`, { query: { folderId: ids.target! } }),
    async check(client, place) {
      expect(await contents(client, place.ids.target!)).toEqual([['item', place.body]]);
      await putItem(client, place, 'item');
      expect(await contents(client, place.folder)).toEqual([['item']]);
    },
  },
  'the making of a folder': {
    steps: ['folder:named', 'folder:recorded'],
    act: (client, { folder }) => client.create('/folder', { parentId: folder, name: 'made' }),
    async check(client, { folder }, step) {
      const isThere = step === 'folder:recorded';
      expect((await foldersOf(client, folder)).map(({ name }) => name)).toEqual(isThere ? ['made'] : []);
      const query = { parentId: folder, name: 'made' };
      expect((await client.send('POST', '/folder', { query })).status).toBe(isThere ? 400 : 200);
    },
  },
  'permissions of a tree': {
    steps: ['access:set', 'access:spread'],
    prepare: tree,
    act: (client, { folder }) => {
      const query = { access: JSON.stringify({ users: [{ id: client.id, level: 2 }], groups: [] }), public: true, recurse: true };
      return client.ok('PUT', `/folder/${folder}/access`, { query });
    },
    async check(client, { folder, ids }) {
      const anonymous = new Client(client.url, null, null);
      const statuses = [folder, ids.top!, ids.inner!].map((each) => status(anonymous, `/folder/${each}`));
      expect(await Promise.all(statuses)).toEqual([200, 200, 200]);
    },
  },
  'a registration': {
    steps: ['registration:recorded', 'registration:first', 'registration:folder'],
    act: (client, { name }) => client.ok('POST', '/user', { query: userOf(name) }),
    async check(client, { name }) {
      const { login, password } = userOf(name);
      const Authorization = `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
      const { user } = await client.ok('GET', '/user/authentication', { headers: { Authorization, 'Girder-Token': '' } });
      const names = (await foldersOf(client, id(user), 'user')).map((folder) => folder.name);
      expect(names).toEqual(['Private', 'Public']);
    },
  },
  'the configuration of a folder': {
    steps: ['storing:registered', 'storing:moved'],
    act: (client, { folder }) => client.ok('PUT', `/folder/${folder}/yaml_config/.x.yaml`, { body: 'a: 1' }),
    async check(client, { folder }) {
      await client.ok('PUT', `/folder/${folder}/yaml_config/.x.yaml`, { body: 'a: 2' });
      expect(await client.ok('GET', `/folder/${folder}/yaml_config/.x.yaml`)).toEqual({ a: 2 });
    },
  },
};

function userOf(name: string) {
  const login = `u${name.toLowerCase().replace(/[^a-z0-9]/g, '')}`;
  return { login, email: `${login}@example.org`, firstName: 'First', lastName: 'Last', password: `${login}.password` };
}
