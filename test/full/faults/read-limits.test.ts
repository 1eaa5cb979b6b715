/** Lists whose conditions, order and length a client chooses. The database cancels them after a time, and sends them in parts. */
import { mongo } from 'mongoose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ItemDocument } from '../../../src/reference-host/tree/item.model.js';
import { correctSizesAround } from '../../../src/reference-host/tree/recount.js';
import { newFolder } from '../../support/images/images.js';
import { startHost, type Client, type Sending, type TestHost } from '../../support/hosts/reference-host.js';

let started: TestHost;
let admin: Client;
let folder: string;
beforeAll(async () => {
  started = await startHost();
  admin = await started.register('admin');
  folder = await newFolder(admin, 'Public', true);
  for (const name of ['liver', 'lung']) await admin.create('/item', { folderId: folder, name });
});
afterAll(() => started?.close());
afterEach(() => vi.restoreAllMocks());

const search = (mode: string) => ({ query: { q: 'li', mode, types: '["item"]' } });
const lists: [model: 'item' | 'folder' | 'user' | 'group' | 'collection' | 'upload', path: string, sending: () => Sending][] = [
  ['item', '/item', () => ({ query: { folderId: folder, limit: 0, sort: 'meta.x' } })],
  ['item', '/item', () => ({ query: { folderId: folder, text: '_filter_:{"meta.x":{"$exists":false}}' } })],
  ['item', '/item', () => ({ query: { folderId: folder, text: '_recurse_:' } })],
  ['item', '/item/query', () => ({ query: { query: '{"meta.x":{"$exists":false}}' } })],
  ['item', '/resource/search', () => search('text')],
  ['item', '/resource/search', () => search('prefix')],
  ['item', '/resource/search', () => search('li_metadata')],
  ['folder', '/folder', () => ({ query: { parentType: 'folder', parentId: folder } })],
  ['collection', '/collection', () => ({ query: { sort: 'description' } })],
  ['user', '/user', () => ({})],
  ['group', '/group', () => ({})],
  ['upload', '/system/uploads', () => ({})],
];

describe.each(lists)('the list of documents %s at %s', (name, path, sending) => {
  it('is read in parts, with a time limit', async () => {
    const findSpy = vi.spyOn(started.host.context.models[name].collection, 'find');
    await admin.ok('GET', path, sending());
    expect(findSpy).toHaveBeenCalled();
    for (const [, options] of findSpy.mock.calls) {
      expect(options).toMatchObject({ maxTimeMS: 10_000 });
      expect(options?.batchSize).toBeLessThanOrEqual(1000);
    }
  });

  it('is refused when it takes the database too long', async () => {
    const { collection } = started.host.context.models[name];
    const find = collection.find.bind(collection);
    const timeOut = () => Promise.reject(new mongo.MongoServerError({ message: 'operation exceeded time limit', code: 50 }));
    vi.spyOn(collection, 'find').mockImplementation((filter = {}, options = {}) =>
      Object.assign(find(filter, options), { next: timeOut, toArray: timeOut }),
    );
    const { status, headers, body } = await admin.send('GET', path, sending());
    expect([status, body.message]).toEqual([503, 'The database takes too long for this. Request less, or try again later.']);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
  });
});

it('sums have a time limit, which is longer for recounting than for requests', async () => {
  const { context } = started.host;
  const { blob, file, item } = context.models;
  const spies = [blob, file, item].map(({ collection }) => vi.spyOn(collection, 'aggregate'));
  await blob.aggregate([{ $group: { _id: null, size: { $sum: '$size' } } }]);
  const anyItem = await item.findOne({ folderId: folder }).lean<ItemDocument>();
  await correctSizesAround(context, anyItem!);
  const limits = spies.flatMap(({ mock }) => mock.calls.map(([, options]) => options?.maxTimeMS));
  expect(limits).toEqual([10_000, 600_000, 600_000, 600_000]);
});
