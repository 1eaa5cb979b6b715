import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

describe('item lists and metadata search', () => {
  let started: TestHost;
  let admin: Client;
  let user: Client;
  let top: string;
  let hidden: string;

  const newFolder = async (parentId: string, name: string, isPublic: boolean) => {
    const id = await admin.create('/folder', { parentType: 'folder', parentId, name });
    await admin.ok('PUT', `/folder/${id}/access`, {
      query: { access: JSON.stringify({ users: [], groups: [] }), public: isPublic },
    });
    return id;
  };
  const newItem = (folderId: string, name: string, meta: object) =>
    admin.create('/item', { folderId, name, metadata: JSON.stringify(meta) });
  const list = async (client: Client, query: Record<string, string | number>) => {
    const { status, headers, body } = await client.send('GET', '/item', { query: { limit: 50, ...query } });
    expect(status, JSON.stringify(body)).toBe(200);
    const items = body as unknown as { _id: string; name: string; meta: Record<string, unknown> }[];
    return { items, names: items.map(({ name }) => name), total: Number(headers.get('girder-total-count')) };
  };

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    user = await started.register('user');
    const collection = await admin.create('/collection', { name: 'Images', public: true });
    top = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Top', public: true });
    const below = await newFolder(top, 'Below', true);
    hidden = await newFolder(top, 'Hidden', false);
    const inHidden = await newFolder(hidden, 'Open in hidden', true);
    await newItem(top, 'a', { stain: 'HE', patient: 'p1', n: 5 });
    await newItem(top, 'b', { stain: 'HE', patient: 'p2', n: 120 });
    await newItem(below, 'c', { stain: 'PAS', patient: 'p1', n: 1.254 });
    await newItem(below, 'd', { note: 'no stain (x.y)' });
    await newItem(hidden, 'e', { stain: 'HE', patient: 'p3' });
    await newItem(inHidden, 'f', { stain: 'PAS', patient: 'p2', n: -5 });
    await admin.ok('PUT', `/folder/${below}/metadata`, { json: { kind: 'PAS series' } });
  });
  afterAll(() => started?.close());

  it('include everything in a folder that the caller can read', async () => {
    expect((await list(admin, { folderId: top, text: '_recurse_:' })).names).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    const visible = await list(user, { folderId: top, text: '_recurse_:', limit: 2, offset: 1 });
    expect([visible.names, visible.total]).toEqual([['b', 'c'], 5]);
    expect((await list(user, { folderId: top, text: '_recurse_:c' })).names).toEqual(['c']);
    expect((await list(user, { folderId: top, text: '_recurse_:', name: 'd' })).names).toEqual(['d']);
    expect(await user.fails('GET', '/item', { query: { folderId: hidden, text: '_recurse_:' } })).toMatchObject({ status: 403 });
    expect(await user.fails('GET', '/item', { query: { text: '_recurse_:' } })).toMatchObject({ status: 400 });
  });

  it('filter items', async () => {
    const filtered = async (filter: object, text = '_recurse_:') =>
      (await list(user, { folderId: top, text: `${text}_filter_:${JSON.stringify(filter)}` })).names;
    expect(await filtered({ 'meta.stain': 'HE' })).toEqual(['a', 'b']);
    expect(await filtered({ $or: [{ 'meta.n': { $gte: 100 } }, { name: { $regex: '^C', $options: 'i' } }] })).toEqual(['b', 'c']);
    expect(await filtered({ 'meta.stain': { $exists: false } }, '')).toEqual([]);
    const everywhere = await list(user, { text: '_filter_:{"meta.patient":"p2"}' });
    expect(everywhere.names).toEqual(['b', 'f']);
    expect((await list(user, { folderId: top, text: '_filter_:{not json' })).names).toEqual([]);
  });

  it.each([
    ['code', { $where: 'sleep(10000)' }],
    ['code inside', { $and: [{ name: { $function: {} } }] }],
    ['an expression', { $expr: { $gt: ['$a', 1] } }],
    ['another collection', { $lookup: {} }],
    ['a broken regular expression', { name: { $regex: '(' } }],
    ['a regular expression that takes very long', { name: { $regex: '^(a+)+$' } }],
    ['the prototype', JSON.parse('{"__proto__.x": 1}') as object],
    ['a value of a different type', { folderId: { $gt: 'x' } }],
  ])('refuse a filter with %s', async (_what, filter) => {
    const answer = await user.send('GET', '/item', { query: { folderId: top, text: `_filter_:${JSON.stringify(filter)}` } });
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringMatching(/./)]);
  });

  it('group by fields, with counts, and name the fields', async () => {
    const text = '_recurse_:_group_:meta.stain,_count_,meta.patient,meta._count.patients:';
    const { items, total } = await list(admin, { folderId: top, text });
    expect(total).toBe(2);
    expect(items.map(({ name, meta }) => [name, meta._count, meta._grouping])).toEqual([
      ['a', { patients: 3 }, { keys: ['meta.stain'], values: ['HE'] }],
      ['c', { patients: 2 }, { keys: ['meta.stain'], values: ['PAS'] }],
    ]);
    const grouped = await list(admin, {
      folderId: top,
      text: '_recurse_:_group_:meta.stain,meta.patient:',
      sort: 'name',
      sortdir: -1,
    });
    expect(grouped.items.map(({ meta }) => meta._grouping)).toEqual(
      grouped.items.map(({ meta }) => ({ keys: ['meta.stain', 'meta.patient'], values: [meta.stain, meta.patient] })),
    );
    const filtered = await list(admin, { folderId: top, text: '_recurse_:_group_:meta.patient:_filter_:{"meta.stain":"HE"}' });
    expect(filtered.names).toEqual(['a', 'b', 'e']);
    expect(await admin.fails('GET', '/item', { query: { folderId: top, text: '_group_:$where:' } })).toMatchObject({
      status: 400,
    });
  });

  it("group by a field that contains the group's description", async () => {
    const { items } = await list(admin, { folderId: hidden, text: '_group_:meta,_count_,name,meta.n:' });
    expect(items.map(({ meta }) => meta)).toEqual([
      { stain: 'HE', patient: 'p3', n: 1, _grouping: { keys: ['meta'], values: [{ stain: 'HE', patient: 'p3', n: 1 }] } },
    ]);
  });

  it.each(['_filter_:{"a\\u0000b":1}', '_group_:a\0b:'])('refuse the field name of %j', async (text) => {
    expect(await user.fails('GET', '/item', { query: { folderId: top, text } })).toMatchObject({ status: 400, type: 'rest' });
  });

  it('report the position of an item in every list', async () => {
    const orders = ['name', 'meta.n', '[["meta.stain",1],["meta.n",-1]]'];
    for (const text of ['_recurse_:', '_recurse_:_group_:meta.stain:', '_filter_:{"meta.stain":"HE"}', undefined]) {
      for (const [sort, sortdir] of orders.flatMap((order) => [1, -1].map((direction) => [order, direction] as const))) {
        const query = { folderId: top, sort, sortdir, ...(text !== undefined && { text }) };
        const ids = (await list(admin, query)).items.map(({ _id }) => _id);
        const places = await Promise.all(ids.map((id) => admin.ok('GET', `/item/${id}/position`, { query })));
        expect(places, JSON.stringify(query)).toEqual([...ids.keys()]);
      }
    }
  });

  it('sort by several fields', async () => {
    const sort = JSON.stringify([
      ['meta.stain', -1],
      ['name', -1],
    ]);
    expect(
      (await list(admin, { folderId: top, text: '_recurse_:_filter_:{"meta.stain":{"$exists":true}}', sort })).names,
    ).toEqual(['f', 'c', 'e', 'b', 'a']);
    expect((await list(admin, { folderId: top, sort })).names).toEqual(['b', 'a']);
    const folders = await admin.ok('GET', '/folder', { query: { parentType: 'folder', parentId: top, sort: '[["name",-1]]' } });
    expect((folders as unknown as { name: string }[]).map(({ name }) => name)).toEqual(['Hidden', 'Below']);
    for (const bad of ['[', '[["name",2]]', '[["$x",1]]', '[1]']) {
      expect((await admin.send('GET', '/item', { query: { folderId: top, sort: bad } })).status, bad).toBe(400);
    }
  });

  const search = async (client: Client, q: string, types = ['item', 'folder'], more = {}) => {
    const query = { q, mode: 'li_metadata', types: JSON.stringify(types), ...more };
    const answer = await client.ok('GET', '/resource/search', { query });
    if (Array.isArray(answer)) return answer as unknown;
    return Object.fromEntries(
      Object.entries(answer as Record<string, { name: string }[]>).map(([type, entries]) => [
        type,
        entries.map(({ name }) => name),
      ]),
    );
  };

  it.each([
    ['pas', { item: ['c', 'f'], folder: ['Below'] }],
    ['HE p1', { item: ['a'], folder: [] }],
    ['"no stain"', { item: ['d'], folder: [] }],
    ['(x.y)', { item: ['d'], folder: [] }],
    ['(x_y)', { item: [], folder: [] }],
    ['5', { item: ['a'], folder: [] }],
    ['12', { item: [], folder: [] }],
    ['120', { item: ['b'], folder: [] }],
    ['1.25', { item: ['c'], folder: [] }],
    ['-5', { item: ['f'], folder: [] }],
    ['key:patient p1', { item: ['a', 'c'], folder: [] }],
    ['key:kind he', { item: [], folder: [] }],
    ['key:patient key:note stain', { item: ['d'], folder: [] }],
    ['key:stain', []],
    ['key', { item: [], folder: [] }],
  ])('find by metadata: %s', async (q, expected) => {
    expect(await search(user, q)).toEqual(expected);
  });

  it('find visible items and folders by metadata, in pages', async () => {
    expect(await search(admin, 'he', ['item'])).toEqual({ item: ['a', 'b', 'e'] });
    expect(await search(user, 'he', ['item'])).toEqual({ item: ['a', 'b'] });
    expect(await search(admin, 'he', ['item'], { limit: 1, offset: 1 })).toEqual({ item: ['b'] });
    expect(await search(user, 'he', ['item'], { level: 1 })).toEqual({ item: [] });
    const query = { q: 'he', mode: 'li_metadata', types: '["item","user"]' };
    expect(await admin.fails('GET', '/resource/search', { query })).toMatchObject({
      status: 400,
      message: "The metadata search is only able to search in {'folder', 'item'}.",
      type: 'rest',
    });
  });
});
