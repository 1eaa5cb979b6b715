import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FolderDocument } from '../../../src/reference-host/tree/folder.model.js';
import { updateFolder } from '../../../src/reference-host/tree/folders.js';
import { updateItem } from '../../../src/reference-host/tree/items.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let user: Client;
let collection: string;
let root: string;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  user = await server.register('user');
  collection = await admin.create('/collection', { name: 'Coll', public: true });
  root = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
});
afterAll(() => server.close());

let counter = 0;
const newFolder = (parentId = root) => admin.create('/folder', { parentId, name: `folder ${counter++}` });
const names = (list: unknown[]) => list.map((entry) => (entry as { name: string }).name);

it('the API is found behind extra slashes of an address', async () => {
  const status = async (path: string) => (await fetch(`${server.url}${path}`)).status;
  expect(await status(`//api/v1/collection/${collection}`)).toBe(200);
  expect(await status(`///api//v1//collection//${collection}?a=1`)).toBe(200);
  for (const path of ['//api/v10/collection', '//api', '/apiv1//collection']) expect(await status(path)).toBe(404);
  expect(await status('//elsewhere')).toBe(404);
});

describe('collections', () => {
  it('have the documented shape', async () => {
    const body = await admin.ok('GET', `/collection/${collection}`);
    expect(Object.keys(body).sort()).toEqual(
      ['_accessLevel', '_id', '_modelType', 'created', 'description', 'meta', 'name', 'public', 'size', 'updated'].sort(),
    );
    expect(body).toMatchObject({ description: null, _accessLevel: 2, _modelType: 'collection', meta: {}, public: true });
  });

  it('have unique names', async () => {
    const nameInUse = { status: 400, type: 'validation', field: 'name', message: 'A collection with that name already exists.' };
    expect(await admin.fails('POST', '/collection', { query: { name: ' Coll ' } })).toMatchObject(nameInUse);
    const empty = { status: 400, field: 'name', message: 'Collection name must not be empty.' };
    expect(await admin.fails('POST', '/collection', { query: { name: ' ' } })).toMatchObject(empty);
    const answers = await Promise.all([1, 2, 3, 4].map(() => admin.send('POST', '/collection', { query: { name: 'Race' } })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
  });

  it('are created by administrators, or by users whom the policy names', async () => {
    const denied = { status: 403, type: 'access', message: 'You are not authorized to create collections.' };
    expect(await user.fails('POST', '/collection', { query: { name: 'Mine' } })).toMatchObject(denied);
    const value = JSON.stringify({ users: [user.id] });
    await admin.ok('PUT', '/system/setting', { query: { key: 'core.collection_create_policy', value } });
    expect(await user.ok('POST', '/collection', { query: { name: 'Mine' } })).toMatchObject({
      name: 'Mine',
      public: false,
      _accessLevel: 2,
    });
  });

  it('are listed as far as they are readable, with a count', async () => {
    const hidden = await admin.create('/collection', { name: 'Hidden' });
    const { body, headers } = await server.anonymous.send('GET', '/collection');
    expect(names(body)).toEqual(['Coll']);
    expect(headers.get('girder-total-count')).toBe('1');
    expect(await server.anonymous.fails('GET', `/collection/${hidden}`)).toMatchObject({
      status: 401,
      type: 'access',
      message: `Read access denied for collection ${hidden} (user None).`,
    });
  });

  it('are removed with everything in them', async () => {
    const doomed = await admin.create('/collection', { name: 'Doomed' });
    const folder = await admin.create('/folder', { parentType: 'collection', parentId: doomed, name: 'F' });
    const item = await admin.create('/item', { folderId: folder, name: 'I' });
    expect(await admin.ok('DELETE', `/collection/${doomed}`)).toEqual({ message: 'Deleted collection Doomed.' });
    expect(await admin.fails('GET', `/item/${item}`)).toMatchObject({ message: `Invalid item id (${item}).` });
    expect(await admin.fails('GET', `/collection/${doomed}`)).toMatchObject({ message: `Invalid collection id (${doomed}).` });
  });
});

describe('folders', () => {
  it('have the documented shape', async () => {
    const body = await admin.ok('GET', `/folder/${root}`);
    expect(Object.keys(body).sort()).toEqual(
      [
        '_accessLevel',
        '_id',
        '_modelType',
        'baseParentId',
        'baseParentType',
        'created',
        'creatorId',
        'description',
        'meta',
        'name',
        'parentCollection',
        'parentId',
        'public',
        'size',
        'updated',
      ].sort(),
    );
    expect(body).toMatchObject({
      parentCollection: 'collection',
      baseParentType: 'collection',
      baseParentId: collection,
      public: true,
    });
    expect(body.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/);
  });

  it('cannot have the name of an item or folder next to them', async () => {
    const parentId = await newFolder();
    await admin.create('/item', { folderId: parentId, name: 'taken' });
    await admin.create('/folder', { parentId, name: 'also' });
    const fails = (name: string) => admin.fails('POST', '/folder', { query: { parentId, name } });
    const shape = { status: 400, type: 'validation', field: 'name' };
    expect(await fails('taken')).toMatchObject({ ...shape, message: 'An item with that name already exists here.' });
    expect(await fails('also')).toMatchObject({ ...shape, message: 'A folder with that name already exists here.' });
    expect(await fails('  ')).toMatchObject({ ...shape, message: 'Folder name must not be empty.' });
    const reused = await admin.ok('POST', '/folder', { query: { parentId, name: 'also', reuseExisting: true } });
    expect(reused.name).toBe('also');
    const other = await admin.create('/folder', { parentId, name: 'other' });
    expect(await admin.fails('PUT', `/folder/${other}`, { query: { name: 'also' } })).toMatchObject(shape);
    expect(await admin.ok('PUT', `/folder/${other}`, { query: { name: 'Other' } })).toMatchObject({ name: 'Other' });
  });

  it('are created once when many requests name the same one', async () => {
    const parentId = await newFolder();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => admin.send('POST', '/folder', { query: { parentId, name: 'race' } })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await admin.ok('GET', `/folder/${parentId}/details`)).toEqual({ nItems: 0, nFolders: 1 });
  });

  it('are listed below their parents, and refused as an invalid search mode without one', async () => {
    const parentId = await newFolder();
    for (const name of ['b', 'A', 'c']) await admin.create('/folder', { parentId, name });
    const query = { parentType: 'folder', parentId };
    const { body, headers } = await admin.send('GET', '/folder', { query: { ...query, limit: 2 } });
    expect(names(body)).toEqual(['A', 'b']);
    expect(headers.get('girder-total-count')).toBe('3');
    expect(names(await admin.ok('GET', '/folder', { query: { ...query, limit: 0, sortdir: -1 } }))).toEqual(['c', 'b', 'A']);
    expect(names(await admin.ok('GET', '/folder', { query: { ...query, offset: 2 } }))).toEqual(['c']);
    expect(names(await admin.ok('GET', '/folder', { query: { ...query, name: 'b' } }))).toEqual(['b']);
    const invalid = { status: 400, type: 'rest', message: 'Invalid search mode.' };
    expect(await admin.fails('GET', '/folder')).toMatchObject(invalid);
    expect(await admin.fails('GET', '/folder', { query: { parentType: 'folder', parentId: '0'.repeat(24) } })).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'id',
      message: `No such folder: ${'0'.repeat(24)}`,
    });
  });

  it('move with everything in them, but not below themselves', async () => {
    const [from, to] = [await newFolder(), await newFolder()];
    const inner = await newFolder(from);
    const item = await admin.create('/item', { folderId: inner, name: 'deep' });
    const refusal = { status: 400, type: 'validation', message: 'You may not move a folder underneath itself.' };
    for (const parentId of [from, inner]) {
      expect(await admin.fails('PUT', `/folder/${from}`, { query: { parentType: 'folder', parentId } })).toMatchObject(refusal);
    }
    const moved = await admin.ok('PUT', `/folder/${from}`, { query: { parentType: 'user', parentId: user.id! } });
    expect(moved).toMatchObject({ parentCollection: 'user', parentId: user.id, baseParentType: 'user', baseParentId: user.id });
    expect(await admin.ok('GET', `/item/${item}`)).toMatchObject({ baseParentType: 'user', baseParentId: user.id });
    expect(await admin.ok('GET', `/folder/${inner}`)).toMatchObject({ baseParentType: 'user' });
    await admin.ok('PUT', `/folder/${from}`, { query: { parentType: 'folder', parentId: to } });
    const chain = await admin.ok('GET', `/item/${item}/rootpath`);
    expect(chain.map((entry) => (entry as { type: string }).type)).toEqual([
      'collection',
      'folder',
      'folder',
      'folder',
      'folder',
    ]);
    expect((chain.at(-1) as { object: { _id: string } }).object._id).toBe(inner);
    expect(await admin.ok('GET', `/folder/${inner}/rootpath`)).toHaveLength(4);
  });

  it('never form a circle, even when two move below each other at once', async () => {
    for (let round = 0; round < 5; round++) {
      const [a, b] = [await newFolder(), await newFolder()];
      const move = (id: string, parentId: string) =>
        admin.send('PUT', `/folder/${id}`, { query: { parentType: 'folder', parentId } });
      await Promise.all([move(a, b), move(b, a)]);
      const chains = await Promise.all([a, b].map((id) => admin.ok('GET', `/folder/${id}/rootpath`)));
      for (const chain of chains) expect(chain[0]).toMatchObject({ type: 'collection' });
    }
  });

  it('are copied with everything in them, also into themselves', async () => {
    const source = await newFolder();
    const inner = await admin.create('/folder', { parentId: source, name: 'inner' });
    await admin.create('/item', { folderId: inner, name: 'item', metadata: '{"a":1}' });
    const copy = await admin.ok('POST', `/folder/${source}/copy`, {
      query: { parentType: 'folder', parentId: inner, name: 'copy' },
    });
    const copied = await admin.ok('GET', '/resource/lookup', {
      query: {
        path: `/collection/Coll/Root/${(await admin.ok('GET', `/folder/${source}`)).name as unknown as string}/inner/copy/inner/item`,
      },
    });
    expect(copied).toMatchObject({ name: 'item', meta: { a: 1 } });
    expect(await admin.ok('GET', `/folder/${String(copy._id)}/details`)).toEqual({ nItems: 0, nFolders: 1 });
    const again = await admin.ok('POST', `/folder/${source}/copy`, {});
    expect(again.name).toMatch(/ \(1\)$/);
  });

  it('are emptied and removed', async () => {
    const folder = await newFolder();
    const inner = await newFolder(folder);
    await admin.create('/item', { folderId: inner, name: 'i' });
    const { name } = await admin.ok('GET', `/folder/${folder}`);
    expect(await admin.ok('DELETE', `/folder/${folder}/contents`)).toEqual({ message: `Cleaned folder ${String(name)}.` });
    expect(await admin.ok('GET', `/folder/${folder}/details`)).toEqual({ nItems: 0, nFolders: 0 });
    expect(await admin.ok('DELETE', `/folder/${folder}`)).toEqual({ message: `Deleted folder ${String(name)}.` });
    expect(await admin.fails('GET', `/folder/${folder}`)).toMatchObject({
      status: 400,
      type: 'rest',
      message: `Invalid folder id (${folder}).`,
    });
    expect(await server.host.context.models.nameClaim.countDocuments({ _id: { $regex: `^${folder}/` } })).toBe(0);
  });
});

describe.each([
  ['folder', 'parentId'],
  ['item', 'folderId'],
] as const)('names of %ss', (type, parentField) => {
  const databaseFailure = () => Promise.reject(new Error('The database is away.')) as never;
  const create = (parentId: string) => admin.send('POST', `/${type}`, { query: { [parentField]: parentId, name: 'x' } });
  const count = async (parentId: string) =>
    names(await admin.ok('GET', `/${type}`, { query: { parentType: 'folder', [parentField]: parentId, name: 'x' } })).length;
  afterEach(() => vi.restoreAllMocks());

  it('stay taken if the database fails after a document was stored', async () => {
    const parentId = await newFolder();
    vi.spyOn(server.host.context.models.folder, 'exists').mockImplementationOnce(databaseFailure);
    expect((await create(parentId)).status).toBe(500);
    await create(parentId);
    expect(await count(parentId)).toBe(1);
  });

  it('are free again if the database fails before a document is stored', async () => {
    const parentId = await newFolder();
    const { collection: documents } = server.host.context.models[type];
    vi.spyOn(documents, type === 'item' ? 'insertMany' : 'insertOne').mockImplementationOnce(databaseFailure);
    expect((await create(parentId)).status).toBe(500);
    expect((await create(parentId)).body.name).toBe('x');
  });

  it('stay taken when two requests give a document the same new name', async () => {
    const { context } = server.host;
    const parentId = await newFolder();
    const id = await admin.create(`/${type}`, { [parentField]: parentId, name: 'former' });
    const asRead = (await context.models[type as 'item'].findById(id).lean())!;
    const rename = () =>
      type === 'item'
        ? updateItem(context, asRead, { name: 'x' })
        : updateFolder(context, asRead as unknown as FolderDocument, { name: 'x' });
    await rename();
    await rename().catch((error: Error) => expect(error.message).toContain('renamed or moved'));
    await create(parentId);
    expect(await count(parentId)).toBe(1);
  });
});

describe('items', () => {
  it('have the documented shape', async () => {
    const body = await admin.ok('POST', '/item', {
      query: { folderId: root, name: ' shape ', description: 'd', metadata: '{"k":{"$n":1},"z":null}' },
    });
    expect(Object.keys(body).sort()).toEqual(
      [
        '_id',
        '_modelType',
        'baseParentId',
        'baseParentType',
        'created',
        'creatorId',
        'description',
        'folderId',
        'meta',
        'name',
        'size',
        'updated',
      ].sort(),
    );
    expect(body).toMatchObject({ name: 'shape', size: 0, meta: { k: { $n: 1 } }, _modelType: 'item', folderId: root });
    expect(body.meta).not.toHaveProperty('z');
  });

  it('get a number after their name when it is taken', async () => {
    const folderId = await newFolder();
    const create = async (query = {}) => (await admin.ok('POST', '/item', { query: { folderId, name: 'x', ...query } })).name;
    expect([await create(), await create(), await create()]).toEqual(['x', 'x (1)', 'x (2)']);
    expect(await create({ reuseExisting: true })).toBe('x');
    await admin.create('/folder', { parentId: folderId, name: 'x (3)' });
    expect(await create()).toBe('x (4)');
    const other = await admin.create('/item', { folderId, name: 'y' });
    expect(await admin.ok('PUT', `/item/${other}`, { query: { name: 'x' } })).toMatchObject({ name: 'x (5)' });
    expect(await admin.fails('POST', '/item', { query: { folderId, name: '  ' } })).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'name',
      message: 'Item name must not be empty.',
    });
    expect(await admin.fails('POST', '/item', { query: { folderId, name: 'é'.repeat(1025) } })).toMatchObject({
      status: 400,
      message: 'Item name must have at most 1024 characters.',
    });
  });

  it('get different names when many of the same name are created at once', async () => {
    const folderId = await newFolder();
    const created = await Promise.all(
      Array.from({ length: 10 }, () => admin.ok('POST', '/item', { query: { folderId, name: 'race' } })),
    );
    expect(new Set(created.map(({ name }) => name)).size).toBe(10);
  });

  it('take back a name that has become free', async () => {
    const folderId = await newFolder();
    const first = await admin.create('/item', { folderId, name: 'n' });
    await admin.ok('PUT', `/item/${first}`, { query: { name: 'm' } });
    expect(await admin.ok('POST', '/item', { query: { folderId, name: 'n' } })).toMatchObject({ name: 'n' });
    await admin.ok('DELETE', `/item/${first}`).then((body) => expect(body).toEqual({ message: 'Deleted item m.' }));
    expect(await admin.ok('POST', '/item', { query: { folderId, name: 'm' } })).toMatchObject({ name: 'm' });
  });

  it('move between folders', async () => {
    const [from, to] = [await newFolder(), await newFolder()];
    const item = await admin.create('/item', { folderId: from, name: 'i' });
    expect(await admin.ok('PUT', `/item/${item}`, { query: { folderId: to } })).toMatchObject({ folderId: to, name: 'i' });
    expect(await admin.ok('GET', '/item', { query: { folderId: from } })).toEqual([]);
    expect(await admin.ok('POST', '/item', { query: { folderId: from, name: 'i' } })).toMatchObject({ name: 'i' });
  });

  it('are listed in a folder, found by words, and counted up to their position', async () => {
    const folderId = await newFolder();
    for (const name of ['Zebra-slide.svs', 'alpha.tif', 'Beta']) await admin.create('/item', { folderId, name });
    const list = await admin.ok('GET', '/item', { query: { folderId } });
    expect(names(list)).toEqual(['alpha.tif', 'Beta', 'Zebra-slide.svs']);
    expect(names(await admin.ok('GET', '/item', { query: { folderId, text: 'zebra SVS' } }))).toEqual(['Zebra-slide.svs']);
    expect(names(await server.anonymous.ok('GET', '/item', { query: { text: 'zebra' } }))).toEqual(['Zebra-slide.svs']);
    expect(names(await admin.ok('GET', '/item', { query: { folderId, name: 'Beta' } }))).toEqual(['Beta']);
    const last = (list.at(-1) as { _id: string })._id;
    expect(await admin.ok('GET', `/item/${last}/position`, { query: { folderId } })).toBe(2);
    expect(await admin.fails('GET', '/item')).toMatchObject({ status: 400, type: 'rest', message: 'Invalid search mode.' });
  });
});

describe('metadata', () => {
  it.each(['item', 'folder', 'collection'])('of a %s is merged, and removed by null', async (type) => {
    const id =
      type === 'collection'
        ? collection
        : type === 'folder'
          ? await newFolder()
          : await admin.create('/item', { folderId: root, name: 'meta' });
    const path = `/${type}/${id}/metadata`;
    const nested = { $gt: '', 'a.b': [{ $where: '1' }], empty: {} };
    expect((await admin.ok('PUT', path, { json: { a: 1, b: 'two', nested } })).meta).toEqual({ a: 1, b: 'two', nested });
    expect((await admin.ok('PUT', path, { json: { a: null, c: [1, null] } })).meta).toEqual({ b: 'two', c: [1, null], nested });
    expect((await admin.ok('PUT', path, { json: { d: null }, query: { allowNull: true } })).meta).toMatchObject({ d: null });
    expect((await admin.ok('DELETE', path, { json: ['b', 'c', 'd'] })).meta).toEqual({ nested });
    expect((await admin.ok('GET', `/${type}/${id}`)).meta).toEqual({ nested });
  });

  it.each([
    [{ '': 1 }, 'Key names must not be empty.'],
    [{ 'a.b': 1 }, 'Invalid key a.b: keys must not contain the "." character.'],
    [{ $a: 1 }, 'Invalid key $a: keys must not start with the "$" character.'],
  ])('refuses %j', async (json, message) => {
    const id = await admin.create('/item', { folderId: root, name: 'keys' });
    expect(await admin.fails('PUT', `/item/${id}/metadata`, { json })).toMatchObject({
      status: 400,
      type: 'validation',
      message,
    });
    const query = { folderId: root, name: 'keys', metadata: JSON.stringify(json) };
    expect(await admin.fails('POST', '/item', { query })).toMatchObject({ status: 400, type: 'validation', message });
  });

  it.each([
    [undefined, 'JSON parameter metadata must be passed in request body.'],
    ['{', 'Invalid JSON passed in request body.'],
    ['[1]', 'Parameter metadata must be a JSON object.'],
    ['{"a":NaN}', 'Error: "NaN" is not valid JSON.'],
  ])('refuses the body %j', async (body, message) => {
    const sending = body === undefined ? {} : { body, headers: { 'Content-Type': 'application/json' } };
    expect(await admin.fails('PUT', `/folder/${root}/metadata`, sending)).toMatchObject({ status: 400, type: 'rest', message });
  });

  it('is refused when it is nested deeper than the database can hold', async () => {
    const body = `{"a":${'['.repeat(150)}${']'.repeat(150)}}`;
    const headers = { 'Content-Type': 'application/json' };
    expect(await admin.fails('PUT', `/folder/${root}/metadata`, { body, headers })).toMatchObject({
      status: 400,
      type: 'validation',
    });
  });
});

describe('ids', () => {
  it('are answered differently when malformed, unknown, or unknown as a reference', async () => {
    expect(await admin.fails('GET', '/item/zzz')).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'id',
      message: 'Invalid ObjectId: zzz',
    });
    const id = '0'.repeat(24);
    expect(await admin.fails('GET', `/item/${id}`)).toMatchObject({
      status: 400,
      type: 'rest',
      message: `Invalid item id (${id}).`,
    });
    expect(await admin.fails('POST', '/item', { query: { folderId: id, name: 'x' } })).toMatchObject({
      message: `No such folder: ${id}`,
    });
  });
});

describe('a path that no route matches', () => {
  it('gets an error below the API and a page elsewhere', async () => {
    for (const path of ['/item/a/b/c/d', '//item//a/b/c//d/']) {
      expect(await admin.fails('GET', path)).toMatchObject({
        status: 400,
        type: 'rest',
        message: 'No matching route for "GET a/b/c/d"',
      });
    }
    const unknown = { status: 404, type: 'rest', message: 'No matching route for "GET nothing/%ff"' };
    expect(await admin.fails('GET', '/nothing/%ff')).toMatchObject(unknown);
    for (const path of ['/nothing/<b>', '//[', '/%ff']) {
      const page = await fetch(server.url + path);
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(await page.text()).not.toContain('<b>');
    }
  });

  it("does not include one with empty segments, whether the route is the host's or the plugin's", async () => {
    const id = '0'.repeat(24);
    for (const path of [`//item//${id}`, `//item/${id}//tiles/`]) {
      expect(await admin.fails('GET', path)).toMatchObject({ status: 400, message: `Invalid item id (${id}).` });
    }
  });
});

describe('values that look like query operators', () => {
  it.each([
    ['GET', '/user/authentication', { headers: { Authorization: `Basic ${btoa('[$ne]:x')}` } }, 401],
    ['GET', '/item', { query: { 'folderId[$ne]': 'x' } }, 400],
    ['GET', '/item', { query: { folderId: '{"$ne":null}' } }, 400],
    ['GET', '/folder', { query: { text: '{"$gt":""}' } }, 200],
    ['GET', '/folder', { query: { text: 'x', sort: '$where' } }, 400],
    ['GET', '/folder', { query: { text: 'x', name: '{"$gt":""}' } }, 200],
    ['POST', '/api_key/token', { query: { key: '{"$gt":""}' } }, 400],
    ['POST', '/api_key/token', { form: { 'key[$gt]': '' } }, 400],
  ] as const)('%s %s is only text in %j', async (method, path, sending, status) => {
    const answer = await server.anonymous.send(method, path, sending);
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.body).toEqual([]);
  });

  it('are accepted as names', async () => {
    const folderId = await newFolder();
    for (const name of ['{"$gt":""}', '../../etc/passwd', '..', 'a\0b', '$where', 'n'.repeat(1024)]) {
      const { _id } = await admin.ok('POST', '/item', { form: { folderId, name } });
      expect(await admin.ok('GET', `/item/${String(_id)}`)).toMatchObject({ name });
      const existing = await admin.ok('POST', '/item', {
        form: { folderId, name },
        headers: { 'X-HTTP-Method-Override': 'GET' },
      });
      expect(names(existing)).toEqual([name]);
    }
  });
});
