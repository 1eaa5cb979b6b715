import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexMissingTerms } from '../../../src/reference-host/tree/finding/index-terms.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let other: Client;
let folder: string;
let hidden: string;

const metadata: Record<string, Record<string, unknown>> = {
  'HE slide 01.svs': { stain: 'Hematoxylin Eosin', 'Pixel size (µm)': 0.25, patient: { id: 7, tumour: true }, tags: ['to do'] },
  'HE slide 02.svs': { stain: 'Eosin, then Hematoxylin', 'Pixel size (µm)': 0.5, patient: { id: 71 } },
  'Ki67.svs': { stain: 'ki67', note: '$where a.*b (', tags: ['(a+)+$', '日本語 試験'], empty: null, list: [] },
};

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  other = await server.register('other');
  const collection = await admin.create('/collection', { name: 'Lung cohort', public: true });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Slides of May', public: true });
  hidden = await admin.create('/folder', {
    parentType: 'collection',
    parentId: collection,
    name: 'Hidden slides',
    public: false,
  });
  for (const [name, meta] of Object.entries(metadata)) {
    await admin.create('/item', { folderId: folder, name, description: 'scanned in May', metadata: JSON.stringify(meta) });
  }
  await admin.create('/item', { folderId: hidden, name: 'Secret HE.svs' });
});
afterAll(() => server.close());

const namesOf = (entries: unknown) => (entries as { name: string }[]).map(({ name }) => name);
const find = async (
  text: string,
  { who: client = admin, isEverywhere = false, ...query }: { who?: Client; isEverywhere?: boolean; sort?: string } = {},
) => namesOf(await client.ok('GET', '/item', { query: { ...(isEverywhere ? {} : { folderId: folder }), find: text, ...query } }));
const [first, second, third] = Object.keys(metadata) as [string, string, string];

describe('searches of items', () => {
  it.each([
    ['slide', [first, second]],
    ['SLI 0', [first, second]],
    ['slide ki67', []],
    ['may 01', [first]],
    ['"hematoxylin eosin"', [first]],
    ['"eosin hematoxylin"', []],
    ['"slide 0"', []],
    ['slide 0', [first, second]],
    ['"HE slide 01', [first]],
    ['stain:hematoxylin', [first, second]],
    ['stain:"hematoxylin eosin"', [first]],
    ['"hematoxylin eos', [first]],
    ['"eosin hema', []],
    ['stain:he', []],
    ['stain', [first, second, third]],
    ['"pixel size (µm)":0.25', [first]],
    ['pixel', [first, second]],
    ['patient.id:7', [first]],
    ['patient.tumour:true', [first]],
    ['name:ki67', [third]],
    ['tag:"to do"', [first]],
    ['tags:試験', [third]],
    ['note:where', [third]],
    ['.*', []],
    ['^H', [first, second]],
    ['stain:hematoxylin "pixel size µm":"0.5"', [second]],
    ['slide_01.svs', [first]],
    ['', [first, second, third]],
  ])('for %j find the items that match', async (text, names) => {
    expect(await find(text)).toEqual(names);
  });

  it('follow changes of names, descriptions and metadata, made in any way', async () => {
    const item = await admin.create('/item', { folderId: folder, name: 'before', description: 'abc' });
    const countOf = async (text: string) => (await find(text)).length;
    await admin.ok('PUT', `/item/${item}`, { query: { name: 'zebra', description: 'giraffe' } });
    expect([await countOf('zebra'), await countOf('giraffe'), await countOf('before'), await countOf('abc')]).toEqual([
      1, 1, 0, 0,
    ]);
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { animal: 'okapi' } });
    expect([await countOf('animal:okapi'), await countOf('zebra')]).toEqual([1, 1]);
    await admin.ok('DELETE', `/item/${item}/metadata`, { json: ['animal'] });
    expect(await countOf('okapi')).toBe(0);
    await admin.ok('PUT', `/item/${item}/internal_metadata/meta`, { json: { animal: 'tapir' } });
    expect(await countOf('animal:tapir')).toBe(1);
    const copy = await admin.ok('POST', `/item/${item}/copy`, { query: { name: 'copied' } });
    expect(await find('tapir')).toEqual(['copied', 'zebra']);
    for (const id of [item, copy._id as string]) await admin.ok('DELETE', `/item/${id}`);
    expect(await countOf('tapir')).toBe(0);
  });

  it('include documents whose terms were never written', async () => {
    const item = await admin.create('/item', { folderId: folder, name: 'unwritten' });
    const { item: items, folder: folders } = server.host.context.models;
    await items.updateOne({ _id: item }, { $unset: { terms: '', phrases: '' } });
    expect(await find('unwritten')).toEqual([]);
    expect(await indexMissingTerms([items, folders] as never, new AbortController().signal)).toBe(1);
    expect(await find('unwritten')).toEqual(['unwritten']);
    await admin.ok('DELETE', `/item/${item}`);
  });

  it('refuse texts that are too long, and accept metadata of any keys and sizes', async () => {
    const words = Array.from({ length: 51 }, (_, index) => `w${index}`).join(' ');
    const query = { folderId: folder, find: words };
    expect(await admin.fails('GET', '/item', { query })).toMatchObject({
      status: 400,
      message: expect.stringContaining('50 words'),
    });
    const long = { folderId: folder, find: 'x'.repeat(2001) };
    expect(await admin.fails('GET', '/item', { query: long })).toMatchObject({ status: 400 });
    const item = await admin.create('/item', { folderId: folder, name: 'large' });
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`key ${index} :"${index}`, 'word '.repeat(40)]));
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { tags: 'no list', ...many } });
    expect([await find('large'), await find('tag:"no list"')]).toEqual([['large'], ['large']]);
    await admin.ok('DELETE', `/item/${item}`);
  });

  it('find only what the caller can read', async () => {
    const everywhere = { isEverywhere: true };
    expect(await find('HE svs', everywhere)).toEqual([first, second, 'Secret HE.svs']);
    expect(await find('HE svs', { ...everywhere, who: other })).toEqual([first, second]);
    const folders = async (client: Client) => namesOf(await client.ok('GET', '/folder', { query: { find: 'slides' } }));
    expect([await folders(admin), await folders(other)]).toEqual([['Hidden slides', 'Slides of May'], ['Slides of May']]);
    expect(namesOf(await other.ok('GET', '/collection', { query: { find: 'cohort' } }))).toEqual(['Lung cohort']);
  });

  it('are sorted by metadata with any key', async () => {
    const sort = (direction: number) => JSON.stringify([['meta.Pixel size (µm)', direction]]);
    expect(await find('slide', { sort: sort(1) })).toEqual([first, second]);
    expect(await find('slide', { sort: sort(-1) })).toEqual([second, first]);
  });
});

describe('tags', () => {
  const set = (ids: string[], change: object, client = admin) => {
    const texts = Object.fromEntries(Object.entries(change).map(([key, value]) => [key, JSON.stringify(value)]));
    return client.send('PUT', '/resource/tags', { query: { resources: JSON.stringify({ item: ids }), ...texts } });
  };

  it('are added to and removed from several items, and found', async () => {
    const ids = await Promise.all(['t1', 't2'].map((name) => admin.create('/item', { folderId: folder, name })));
    expect((await set(ids, { add: [' reviewed ', 'reviewed', '', '$a.b'] })).status).toBe(200);
    expect((await admin.ok('GET', `/item/${ids[0]}`)).meta).toEqual({ tags: ['reviewed', '$a.b'] });
    expect(await find('tag:reviewed')).toEqual(['t1', 't2']);
    expect((await set([ids[0]!], { remove: ['reviewed'], add: ['done'] })).status).toBe(200);
    expect(await find('tag:reviewed')).toEqual(['t2']);
    expect((await admin.ok('GET', `/item/${ids[0]}`)).meta).toEqual({ tags: ['$a.b', 'done'] });
    await Promise.all(['x', 'y', 'z'].map((tag) => set(ids, { add: [tag] })));
    expect(await find('tag:x tag:y tag:z')).toEqual(['t1', 't2']);
  });

  it('are refused when they are not text, too many, or not for the caller to set', async () => {
    const item = await admin.create('/item', { folderId: folder, name: 't3', metadata: '{"tags":"text"}' });
    const statuses = await Promise.all([
      set([item], { add: ['a'] }),
      set([item], { add: [1] }),
      set([item], { add: ['x'.repeat(201)] }),
      set([item], { add: Array.from({ length: 201 }, String) }),
      set([item], { add: ['a'] }, other),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([400, 400, 400, 400, 403]);
    expect((await admin.ok('GET', `/item/${item}`)).meta).toEqual({ tags: 'text' });
  });
});
