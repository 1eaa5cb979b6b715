import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import type { Client } from '../../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;
const unknownId = 'f'.repeat(24);

describe('the routes of annotations', () => {
  let at: Annotated;
  let b: string;
  let secret: string;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
    await at.annotate({ name: 'Alpha nuclei', description: 'first pass' });
    b = (await at.annotate({ name: 'Beta', attributes: { k: 1 } }, { as: at.admin }))._id;
    secret = (await at.annotate({ name: 'Secret nuclei', elements: [point(1)] }, { as: at.writer, on: at.privateItem }))._id;
  });
  afterAll(() => at?.close());

  const names = (body: unknown) => (body as { annotation: { name: string } }[]).map(({ annotation }) => annotation.name);
  const find = (client: Client, query: Json = {}) =>
    client.send('GET', '/annotation', { query: query as Record<string, string> });

  it('find readable annotations by item, creator, name and words, sorted and in pages', async () => {
    expect(names((await find(at.admin)).body)).toEqual(['Alpha nuclei', 'Beta', 'Secret nuclei']);
    const listed = await find(at.host.anonymous);
    expect([names(listed.body), listed.headers.get('girder-total-count')]).toEqual([['Alpha nuclei', 'Beta'], '2']);
    expect(listed.body[0]).toMatchObject({ _accessLevel: 0, _elementCount: 0 });
    expect((listed.body[0] as Json).annotation).not.toHaveProperty('elements');
    expect(listed.body[0]).not.toHaveProperty('access');
    expect(names((await find(at.reader, { text: 'NUCLEI' })).body)).toEqual(['Alpha nuclei', 'Secret nuclei']);
    expect(names((await find(at.admin, { name: 'Beta' })).body)).toEqual(['Beta']);
    expect(names((await find(at.admin, { userId: at.writer.id })).body)).toEqual(['Secret nuclei']);
    expect(names((await find(at.admin, { itemId: at.privateItem })).body)).toEqual(['Secret nuclei']);
    expect(names((await find(at.admin, { sort: 'annotation.name', sortdir: -1, limit: 1, offset: 1 })).body)).toEqual(['Beta']);
    expect(names((await find(at.admin, { sort: '[["created", -1]]' })).body)).toEqual(['Secret nuclei', 'Beta', 'Alpha nuclei']);
    expect(names((await find(at.admin, { sort: '' })).body)).toHaveLength(3);
    const bad: [Json, string][] = [
      [{ limit: 'x' }, 'Invalid value for offset, limit, or sortdir parameter.'],
      [{ sortdir: 2 }, 'Invalid value for sortdir parameter.'],
      [{ sort: '[1]' }, 'Parameter sort must be a JSON list of [field, direction], with directions 1 and -1.'],
      [{ sort: '[' }, 'Parameter sort must be valid JSON.'],
      [{ itemId: unknownId }, `Invalid item id (${unknownId}).`],
      [{ userId: unknownId }, `Invalid user id (${unknownId}).`],
      [{ userId: 'nosuch' }, 'Invalid ObjectId: nosuch'],
      [{ itemId: '' }, 'Attempt to load null ObjectId: '],
    ];
    for (const [query, message] of bad) expect((await find(at.admin, query)).body).toMatchObject({ message });
    for (const [route, name] of [
      ['/annotation/images', 'creatorId'],
      ['/job', 'userId'],
    ] as const) {
      expect(await at.admin.fails('GET', route, { query: { [name]: 'nosuch' } })).toMatchObject({
        status: 400,
        message: 'Invalid ObjectId: nosuch',
        field: 'id',
      });
      expect(await at.admin.fails('GET', route, { query: { [name]: unknownId } })).toMatchObject({
        status: 400,
        message: `Invalid user id (${unknownId}).`,
      });
    }
    const refused = await find(at.stranger, { itemId: at.privateItem });
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { type: 'access', message: `Read access denied for item ${at.privateItem} (user ${at.stranger.id}).` },
    ]);
  });

  it('count by item, also by POST with an overriding method', async () => {
    const items = `${at.item},${at.privateItem}`;
    expect(await at.admin.ok('GET', '/annotation/counts', { query: { items } })).toEqual({ [at.item]: 2, [at.privateItem]: 1 });
    const headers = { 'X-HTTP-Method-Override': 'GET' };
    expect(await at.reader.ok('POST', '/annotation/counts', { form: { items }, headers })).toMatchObject({ [at.privateItem]: 1 });
    expect(await at.stranger.fails('GET', '/annotation/counts', { query: { items } })).toMatchObject({ status: 403 });
    expect(await at.admin.fails('GET', '/annotation/counts', { query: { items: unknownId } })).toMatchObject({
      message: `Invalid item id (${unknownId}).`,
    });
    expect(await at.admin.fails('GET', '/annotation/counts', { query: { items: 'x' } })).toMatchObject({
      message: 'Invalid ObjectId: x',
    });
    expect(await at.admin.fails('GET', '/annotation/counts')).toMatchObject({ message: 'Parameter "items" is required.' });
  });

  it('name the items that overlays of readable annotations show', async () => {
    const overlay = { type: 'image', girderId: at.item, transform: { xoffset: 5 } };
    const { _id } = await at.annotate({ name: 'overlay', elements: [overlay] }, { as: at.writer, on: at.privateItem });
    const counts = (client: Client) => client.ok('GET', '/annotation/counts', { query: { items: at.item } });
    expect(await counts(at.reader)).toMatchObject({ referenced: { [at.item]: true } });
    expect(await counts(at.stranger)).not.toHaveProperty('referenced');
    const id = String(elementsOf(await at.writer.ok('GET', `/annotation/${_id}`))[0]!.id);
    await at.writer.ok('DELETE', `/annotation/${_id}/elements/${id}`);
    expect(await counts(at.reader)).not.toHaveProperty('referenced');
    await at.writer.ok('POST', `/annotation/${_id}/elements`, { json: overlay });
    expect(await counts(at.reader)).toHaveProperty('referenced');
    await at.admin.ok('PUT', `/annotation/${_id}/access`, { query: { access: '{}' } });
    expect(await counts(at.reader)).not.toHaveProperty('referenced');
  });

  it('list annotated items, by words of their names', async () => {
    const images = async (client: Client, query: Json = {}) => {
      const { body, headers } = await client.send('GET', '/annotation/images', { query: query as Record<string, string> });
      return [(body as unknown as { name: string }[]).map(({ name }) => name), headers.get('girder-total-count')];
    };
    expect(await images(at.admin)).toEqual([['secret_slide.svs', 'slide one.svs'], '2']);
    expect(await images(at.host.anonymous)).toEqual([['slide one.svs'], '1']);
    expect(await images(at.admin, { imageName: 'SLIDE' })).toEqual([['secret_slide.svs', 'slide one.svs'], '2']);
    expect(await images(at.admin, { imageName: '.*' })).toEqual([[], '0']);
    expect(await images(at.admin, { creatorId: at.writer.id })).toEqual([['secret_slide.svs'], '1']);
    expect(await images(at.admin, { limit: 1, offset: 1 })).toEqual([['slide one.svs'], '2']);
  });

  it('give an annotation the access of its folder, which may differ later', async () => {
    const access = await at.writer.ok('GET', `/annotation/${secret}/access`);
    expect(
      (access as unknown as { users: Json[] }).users.map(({ login, level }) => `${String(login)} ${String(level)}`).toSorted(),
    ).toEqual(['admin 2', 'reader 0', 'writer 2']);
    expect(await at.stranger.fails('GET', `/annotation/${secret}`)).toMatchObject({
      status: 403,
      message: `Read access denied for annotation ${secret} (user ${at.stranger.id}).`,
    });
    expect(await at.host.anonymous.fails('GET', `/annotation/${secret}`)).toMatchObject({
      status: 401,
      message: `Read access denied for annotation ${secret} (user None).`,
    });
    expect(await at.reader.fails('GET', `/annotation/${secret}/access`)).toMatchObject({
      status: 403,
      message: `Admin access denied for annotation ${secret} (user ${at.reader.id}).`,
    });
    const list = {
      users: [
        { id: at.stranger.id, level: 1 },
        { id: at.writer.id, level: 2 },
      ],
      groups: [],
    };
    const set = await at.writer.ok('PUT', `/annotation/${secret}/access`, { query: { access: JSON.stringify(list) } });
    expect(set).toMatchObject({ public: false, access: { users: [{ id: at.stranger.id, level: 1 }, {}] } });
    expect((await at.stranger.send('GET', `/annotation/${secret}`)).status).toBe(200);
    expect((await at.reader.send('GET', `/annotation/${secret}`)).status).toBe(403);
    // Write access to the annotation is not enough without write access to its item.
    for (const [method, path, json] of [
      ['PATCH', '', []],
      ['PUT', '', {}],
      ['DELETE', ''],
      ['POST', '/elements', point(1)],
    ] as const) {
      expect(
        (await at.stranger.send(method, `/annotation/${secret}${path}`, json === undefined ? {} : { json })).status,
        method,
      ).toBe(403);
    }
    const bad: [string, Json][] = [
      ['{"users":[{"id":"x","level":3}]}', { message: 'Invalid access level', field: 'access', type: 'validation' }],
      ['{"users":[{"level":1}]}', { message: 'Invalid access list', field: 'access' }],
      ['{"users":{}}', { message: 'Invalid access list' }],
      ['{', { message: 'Parameter access must be valid JSON.' }],
    ];
    for (const [sent, answer] of bad) {
      expect(await at.writer.fails('PUT', `/annotation/${secret}/access`, { query: { access: sent } })).toMatchObject({
        status: 400,
        ...answer,
      });
    }
    expect(await at.writer.fails('PUT', `/annotation/${secret}/access`)).toMatchObject({ status: 400 });
    const restored = {
      users: [
        { id: at.reader.id, level: 0 },
        { id: at.writer.id, level: 2 },
      ],
      groups: [],
    };
    await at.admin.ok('PUT', `/annotation/${secret}/access`, { query: { access: JSON.stringify(restored), public: false } });
  });

  it('grant access by group, and forget removed groups and users', async () => {
    const group = await at.admin.create('/group', { name: 'annotators' });
    const member = await at.host.register('member');
    await at.admin.ok('POST', `/group/${group}/invitation`, { query: { userId: member.id!, force: true } });
    const { _id } = await at.annotate({ name: 'grouped' });
    await at.host.host.context.models.item.db
      .collection('large_image_annotation')
      .updateOne({ name: 'grouped' }, { $set: { creatorId: member.id } });
    const list = { users: [{ id: member.id, level: 2 }], groups: [{ id: group, level: 1 }] };
    await at.admin.ok('PUT', `/annotation/${_id}/access`, { query: { access: JSON.stringify(list), public: false } });
    const other = await at.host.register('othermember');
    await at.admin.ok('POST', `/group/${group}/invitation`, { query: { userId: other.id!, force: true } });
    expect(await other.ok('GET', `/annotation/${_id}`)).toMatchObject({ _accessLevel: 1 });
    expect(names(await other.ok('GET', '/annotation'))).toContain('grouped');
    await at.admin.ok('DELETE', `/group/${group}`);
    expect((await other.send('GET', `/annotation/${_id}`)).status).toBe(403);
    await at.admin.ok('DELETE', `/user/${member.id}`);
    expect(await at.admin.ok('GET', `/annotation/${_id}`)).toMatchObject({ creatorId: null });
    expect(await at.admin.ok('GET', `/annotation/${_id}/access`)).toEqual({ users: [], groups: [] });
    // There is nobody to notify, and the change still succeeds.
    expect((await at.admin.send('PUT', `/annotation/${_id}`, { json: { name: 'grouped' } })).status).toBe(200);
    expect(await at.admin.ok('DELETE', `/annotation/${_id}`)).toBeNull();
  });

  it('let the holder of a flag annotate without write access to items', async () => {
    const folder = await at.admin.create('/folder', {
      parentType: 'folder',
      parentId: at.publicFolder,
      name: 'flagged',
      public: true,
    });
    const on = await at.admin.create('/item', { folderId: folder, name: 'flagged' });
    const flag = 'large_image_create_annotations';
    expect(await at.stranger.ok('GET', `/annotation/folder/${folder}/create`)).toBe(false);
    const access = JSON.stringify({ users: [{ id: at.stranger.id, level: 0, flags: [flag] }], groups: [] });
    await at.admin.ok('PUT', `/folder/${folder}/access`, { query: { access, public: true } });
    expect(await at.stranger.ok('GET', `/annotation/folder/${folder}/create`)).toBe(true);
    const { _id } = await at.annotate({ name: 'flagged' }, { as: at.stranger, on });
    expect(await at.stranger.ok('PUT', `/annotation/${_id}`, { json: { name: 'flagged' } })).toMatchObject({ _accessLevel: 2 });
    expect(await at.stranger.ok('POST', `/annotation/item/${on}`, { json: [{}, {}] })).toBe(2);
    expect(await at.stranger.ok('POST', `/annotation/${_id}/copy`, { query: { itemId: on } })).toMatchObject({ itemId: on });
    expect((await at.reader.send('POST', '/annotation', { query: { itemId: on }, json: {} })).status).toBe(403);
  });

  it('copy with elements and ids, as a new annotation of the caller', async () => {
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'target' });
    const source = await at.admin.ok('GET', `/annotation/${secret}`);
    const copied = await at.admin.ok('POST', `/annotation/${secret}/copy`, { query: { itemId: item } });
    expect(copied).toMatchObject({ itemId: item, creatorId: at.admin.id, public: true });
    expect(elementsOf(copied)).toEqual(elementsOf(source));
    expect((await at.stranger.send('POST', `/annotation/${secret}/copy`, { query: { itemId: item } })).status).toBe(403);
    expect(await at.admin.fails('POST', `/annotation/${secret}/copy`)).toMatchObject({
      status: 400,
      message: 'No ID parameter passed: itemId',
    });
    expect(await at.admin.fails('POST', `/annotation/${secret}/copy`, { query: { itemId: unknownId } })).toMatchObject({
      message: `Invalid item id (${unknownId}).`,
    });
    await at.admin.ok('DELETE', `/annotation/${String(copied._id)}`);
    expect(elementsOf(await at.admin.ok('GET', `/annotation/${secret}`))).toHaveLength(1);
  });

  it('merge and remove metadata as a new version', async () => {
    const path = `/annotation/${b}/metadata`;
    const put = await at.admin.ok('PUT', path, { json: { a: 1, x: { c: [1] } } });
    expect(put.annotation).toEqual({ name: 'Beta', attributes: { k: 1, a: 1, x: { c: [1] } }, elements: [] });
    expect((await at.admin.ok('PUT', path, { json: { a: null } })).annotation).toMatchObject({
      attributes: { k: 1, x: { c: [1] } },
    });
    expect((await at.admin.ok('PUT', path, { json: { k: null }, query: { allowNull: true } })).annotation).toMatchObject({
      attributes: { k: null },
    });
    expect((await at.admin.ok('DELETE', path, { json: ['x', 'nosuch'] })).annotation).toMatchObject({ attributes: { k: null } });
    const bad: [string, unknown, string][] = [
      ['PUT', { '': 1 }, 'Key names must not be empty.'],
      ['PUT', { 'a.b': 1 }, 'Invalid key a.b: keys must not contain the "." character.'],
      ['PUT', { $a: 1 }, 'Invalid key $a: keys must not start with the "$" character.'],
      ['PUT', [], 'Parameter metadata must be a JSON object.'],
      ['DELETE', { a: 1 }, 'Invalid JSON object for parameter fields: must be a list of keys.'],
      ['DELETE', [1], 'Invalid JSON object for parameter fields: keys must be texts.'],
    ];
    for (const [method, json, message] of bad)
      expect(await at.admin.fails(method, path, { json })).toMatchObject({ status: 400, message });
    expect(await at.admin.fails('PUT', path, { body: '' })).toMatchObject({
      status: 400,
      message: 'JSON parameter metadata must be passed in request body.',
    });
    expect((await at.stranger.send('PUT', path, { json: {} })).status).toBe(403);
    const dotted = await at.annotate({ attributes: { 'a.b': 1 } });
    expect((await at.admin.ok('PUT', `/annotation/${dotted._id}/metadata`, { json: { c: 1 } })).annotation).toMatchObject({
      attributes: { 'a.b': 1, c: 1 },
    });
    await at.admin.ok('DELETE', `/annotation/${dotted._id}`);
  });

  it('read, add and delete all annotations of an item, all or none', async () => {
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'many' });
    const path = `/annotation/item/${item}`;
    expect(await at.admin.ok('GET', path)).toEqual([]);
    const record = { _id: 'x', itemId: 'y', annotation: { name: 'two', elements: [point(2)] } };
    const collection = {
      type: 'FeatureCollection',
      features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [3, 3] }, properties: {} }],
    };
    expect(await at.admin.ok('POST', path, { json: [{ name: 'one', attributes: { elements: [1] } }, record, collection] })).toBe(
      3,
    );
    const listed = (await at.host.anonymous.send('GET', path)).body as unknown as Json[];
    expect(listed.map((entry) => elementsOf(entry).length)).toEqual([0, 1, 1]);
    expect(listed[0]).toMatchObject({ annotation: { name: 'one', attributes: { elements: [1] } }, _elementQuery: { count: 0 } });
    const ids = [listed[2]!._id, listed[0]!._id, '0'.repeat(24)];
    const some = (await at.host.anonymous.ok('GET', path, { query: { ids: JSON.stringify(ids) } })) as unknown as Json[];
    expect(some).toEqual([listed[0], listed[2]]);
    for (const wrong of ['x', '{}', '[1]', '["1"]', '[null]'])
      expect((await at.host.anonymous.send('GET', path, { query: { ids: wrong } })).status, wrong).toBe(400);
    const bad: [unknown, RegExp][] = [
      [[{ name: 'ok', elements: [point(1)] }, { name: 5 }], /entry 1: name/],
      [[{ elements: [point(1)] }, { elements: [{}] }], /schema \(entry 1: elements\[0\]\.type/],
      [[{}, [[], {}], { annotation: { elements: [point(1), {}] } }], /entry 2: elements\[1\]\.type/],
      [[{}, { type: 'FeatureCollection', features: [{}] }], /^Entry 1 of the annotation list: GeoJSON feature 0/],
      [{ elements: [{}] }, /schema \(elements\[0\]\.type/],
      [[{}, 7], /^Entries in the annotation list must be JSON objects\.$/],
      ['text', /document: must be an object/],
    ];
    for (const [json, message] of bad) {
      expect(await at.admin.fails('POST', path, { json }), JSON.stringify(json)).toMatchObject({
        status: 400,
        message: expect.stringMatching(message),
      });
    }
    expect(await at.admin.fails('POST', path, { body: '[{]' })).toMatchObject({ status: 400 });
    const features = [
      { type: 'Point', coordinates: [1, 2] },
      { type: 'Point', coordinates: [3, 4] },
    ];
    expect(await at.admin.ok('POST', path, { json: features })).toBe(2);
    expect(((await at.admin.send('GET', path)).body as unknown[]).length).toBe(5);
    await at.admin.ok('PUT', `/annotation/${String(listed[0]!._id)}/access`, { query: { access: '{}', public: false } });
    expect((await at.stranger.send('GET', path)).body).toHaveLength(4);
    expect((await at.stranger.send('DELETE', path)).status).toBe(403);
    expect(await at.admin.ok('DELETE', path)).toBe(5);
    expect(await at.admin.ok('GET', path)).toEqual([]);
    expect(await at.admin.fails('GET', '/annotation/item/x')).toMatchObject({ status: 400, message: 'Invalid ObjectId: x' });
  });

  it('list, share and delete those annotations of a folder that the caller administers', async () => {
    const path = `/annotation/folder/${at.privateFolder}`;
    const top = `/annotation/folder/${at.publicFolder}`;
    const mine = await at.writer.send('GET', path);
    expect(mine.body).toMatchObject([
      { _id: secret, access: { users: [{}, { id: at.writer.id, level: 2 }] }, annotation: { name: 'Secret nuclei' } },
    ]);
    expect(mine.headers.get('girder-total-count')).toBe('1');
    expect(mine.body[0]).not.toHaveProperty('_accessLevel');
    expect((await at.reader.send('GET', path)).body).toEqual([]);
    expect(await at.host.anonymous.ok('GET', `${path}/present`)).toBe(false);
    expect(await at.writer.ok('GET', `${path}/present`)).toBe(true);
    expect(((await at.admin.send('GET', top, { query: { recurse: true, limit: 0 } })).body as unknown[]).length).toBeGreaterThan(
      ((await at.admin.send('GET', top)).body as unknown[]).length,
    );
    const access = JSON.stringify({
      users: [
        { id: at.reader.id, level: 1 },
        { id: at.writer.id, level: 2 },
      ],
      groups: [],
    });
    expect(await at.writer.ok('PUT', `${path}/access`, { query: { access } })).toEqual({ updated: 1 });
    expect(await at.reader.ok('GET', `/annotation/${secret}`)).toMatchObject({ _accessLevel: 1 });
    expect(await at.writer.fails('GET', '/annotation/folder/nosuch/create')).toMatchObject({
      status: 400,
      message: 'Invalid ObjectId: nosuch',
      type: 'validation',
      field: 'id',
    });
    expect(await at.reader.ok('DELETE', path)).toEqual({ deleted: 0 });
    expect(await at.writer.ok('DELETE', path)).toEqual({ deleted: 1 });
    await at.writer.ok('PUT', `/annotation/${secret}/history/revert`);
  });

  it("keep creators' permissions on request when the new list gives them access", async () => {
    const folder = await at.admin.create('/folder', { parentType: 'folder', parentId: at.publicFolder, name: 'shared' });
    const item = await at.admin.create('/item', { folderId: folder, name: 'shared.svs' });
    const group = await at.admin.create('/group', { name: 'Lab', public: true });
    await at.admin.ok('POST', `/group/${group}/invitation`, { query: { userId: at.reader.id!, force: true } });
    const entry = ({ id }: Client, level: number) => ({ id, level, flags: [] });
    const groupEntry = { id: group, level: 0, flags: ['large_image_create_annotations'] };
    const give = (path: string, users: object[], query = {}) =>
      at.admin.ok('PUT', `${path}/access`, {
        query: {
          access: JSON.stringify({ users: [entry(at.admin, 2), ...users], groups: [groupEntry] }),
          public: false,
          ...query,
        },
      });
    await give(`/folder/${folder}`, [entry(at.writer, 1), entry(at.stranger, 1)]);
    const ofWriter = `/annotation/${(await at.annotate({ name: 'a' }, { as: at.writer, on: item }))._id}`;
    const ofReader = `/annotation/${(await at.annotate({ name: 'b' }, { as: at.reader, on: item }))._id}`;
    const ofStranger = `/annotation/${(await at.annotate({ name: 'c' }, { as: at.stranger, on: item }))._id}`;
    const levels = async () =>
      Promise.all(
        [ofWriter, ofReader, ofStranger].map(async (path) => {
          const { users } = (await at.admin.ok('GET', `${path}/access`)) as unknown as { users: { id: string; level: number }[] };
          return [at.writer, at.reader, at.stranger].map(({ id }) => users.find((user) => user.id === id)?.level ?? -1);
        }),
      );

    const path = `/annotation/folder/${folder}`;
    expect(await give(path, [entry(at.writer, 0)], { keepCreators: true })).toEqual({ updated: 3 });
    // Users have access by name and through the group. Those who were removed from the list have none.
    expect(await levels()).toEqual([
      [2, -1, -1],
      [0, 2, -1],
      [0, -1, -1],
    ]);
    await at.reader.ok('PATCH', ofReader, { json: [] });
    expect((await at.stranger.send('GET', ofStranger)).status).toBe(403);

    await give(ofWriter, [entry(at.writer, 1)]);
    await give(path, [entry(at.writer, 0), entry(at.stranger, 1)], { keepCreators: true });
    expect(await levels()).toEqual([
      [1, -1, 1],
      [0, 2, 1],
      [0, -1, 1],
    ]);
    expect(await give(path, [entry(at.writer, 0)])).toEqual({ updated: 3 });
    expect(await levels()).toEqual([
      [0, -1, -1],
      [0, -1, -1],
      [0, -1, -1],
    ]);
    await at.admin.ok('DELETE', `/folder/${folder}`);
  });

  it('copy and delete annotations with their item', async () => {
    const item = await at.admin.create('/item', { folderId: at.publicFolder, name: 'goes' });
    const annotation = await at.annotate({ name: 'goes', elements: [point(7)] }, { on: item });
    const plain = await at.admin.ok('POST', `/item/${item}/copy`, { query: { copyAnnotations: 'FALSE' } });
    expect(await at.admin.ok('GET', `/annotation/item/${String(plain._id)}`)).toEqual([]);
    const copy = await at.admin.ok('POST', `/item/${item}/copy`, { query: { copyAnnotations: 'whatever' } });
    const [copied] = (await at.admin.ok('GET', `/annotation/item/${String(copy._id)}`)) as unknown as Json[];
    expect(copied).toMatchObject({
      creatorId: at.admin.id,
      created: annotation.created,
      updated: annotation.updated,
      public: true,
    });
    expect(elementsOf(copied)).toEqual(elementsOf(annotation));
    expect([copied!._id, copied!._version]).not.toEqual([annotation._id, annotation._version]);
    await at.admin.ok('DELETE', `/item/${item}`);
    expect((await at.admin.send('GET', `/annotation/${annotation._id}`)).status).toBe(404);
    expect(elementsOf(await at.admin.ok('GET', `/annotation/${String(copied!._id)}`))).toHaveLength(1);
  });

  it('notify users who create or restore annotations', async () => {
    const since = new Date(Date.now() - 1000).toISOString();
    const { _id } = await at.annotate({ name: 'told' }, { as: at.writer, on: at.privateItem });
    await at.writer.ok('PATCH', `/annotation/${_id}`, { json: [] });
    await at.writer.ok('DELETE', `/annotation/${_id}`);
    await at.writer.ok('PUT', `/annotation/${_id}/history/revert`);
    const notifications = (await at.writer.ok('GET', '/notification', { query: { since } })) as unknown as {
      type: string;
      data: Json;
    }[];
    const messages = notifications.filter(({ data }) => data._id === _id);
    expect(messages.map(({ type }) => type.replace('large_image_annotation.', '')).sort()).toEqual([
      'create',
      'remove',
      'revert',
      'update',
      'update',
    ]);
    for (const { data } of messages) expect(data).toEqual({ _id, itemId: at.privateItem });
  });

  it("report changes of an item's annotations as they happen, to callers who can see them", async () => {
    const path = `${at.reader.url}/api/v1/annotation/events?itemId=${at.item}`;
    const refused = await fetch(path.replace(at.item, at.privateItem));
    expect(refused.status).toBe(401);
    const end = new AbortController();
    const response = await fetch(`${path}&token=${at.reader.token}`, { signal: end.signal });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const next = async () => {
      let text = '';
      while (!/data: .*\n\n/.test(text)) text += (await reader.read()).value;
      return JSON.parse(/data: (.*)/.exec(text)![1]!) as Record<'total' | 'version' | 'writable' | 'administered', number>;
    };
    const first = await next();
    const { _id } = await at.annotate({ name: 'New while followed' });
    const second = await next();
    expect(second.total).toBe(first.total + 1);
    expect(second.version).toBeGreaterThan(first.version);
    expect(second.writable).toBe(first.writable);
    const setLevel = (level: number) => {
      const access = JSON.stringify({ users: [{ id: at.reader.id, level }], groups: [] });
      return at.admin.ok('PUT', `/annotation/${_id}/access`, { query: { access } });
    };
    await setLevel(1);
    expect(await next()).toEqual({ ...second, writable: first.writable + 1 });
    await setLevel(2);
    expect(await next()).toEqual({ ...second, writable: first.writable + 1, administered: first.administered + 1 });
    await at.admin.ok('DELETE', `/annotation/${_id}`);
    expect(await next()).toEqual(first);
    end.abort();
  });
});
