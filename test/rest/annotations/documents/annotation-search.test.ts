import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import type { Client } from '../../../support/hosts/reference-host.js';

describe('the search mode li_annotation_metadata', () => {
  let at: Annotated;
  let second: string;

  beforeAll(async () => {
    at = await startAnnotated();
    second = await at.admin.create('/item', { folderId: at.publicFolder, name: 'second' });
    await at.annotate({
      name: 'a',
      attributes: { stain: 'Hematoxylin and eosin', count: 12.5, shift: -3.5, deep: { er: 'down' } },
    });
    await at.annotate({ name: 'b', attributes: { count: 12 } });
    await at.annotate({ name: 'c', attributes: { stain: 'PAS', tags: ['quick', 'brown'] } }, { on: second });
    await at.annotate({ name: 'd', attributes: { stain: 'secret eosin' } }, { as: at.writer, on: at.privateItem });
    const hidden = await at.annotate({ name: 'e', attributes: { hidden: 'treasure' } }, { on: second });
    await at.admin.ok('PUT', `/annotation/${hidden._id}/access`, { query: { access: '{}', public: false } });
    const deleted = await at.annotate({ name: 'f', attributes: { gone: 'vanished' } }, { on: second });
    await at.admin.ok('DELETE', `/annotation/${deleted._id}`);
    // A readable annotation on an item that is not readable.
    const open = await at.annotate({ name: 'g', attributes: { open: 'window' } }, { as: at.writer, on: at.privateItem });
    await at.admin.ok('PUT', `/annotation/${open._id}/access`, { query: { access: '{}', public: true } });
  });
  afterAll(() => at?.close());

  const send = (q: string, as: Client, more = {}) =>
    as.send('GET', '/resource/search', { query: { q, mode: 'li_annotation_metadata', types: '["item"]', ...more } });
  const search = async (q: string, as: Client = at.admin, more = {}) => {
    const { body } = await send(q, as, more);
    return (body as unknown as { item: { _id: string }[] }).item.map(({ _id }) => _id);
  };

  it.each<[string, (scene: Annotated) => string[]]>([
    ['eosin', ({ item, privateItem }) => [item, privateItem]],
    ['"hematoxylin AND eosin"', ({ item }) => [item]],
    ['eosin hematoxylin', ({ item }) => [item]],
    ['eosin pas', () => []],
    ['12', ({ item }) => [item]],
    ['12.4', () => []],
    ['-3', ({ item }) => [item]],
    ['-3.5', ({ item }) => [item]],
    ['-2', () => []],
    ['key:count 12', ({ item }) => [item]],
    ['key:stain 12', () => []],
    ['key:deep.er down', ({ item }) => [item]],
    ['brown', () => [second]],
    ['vanished', () => []],
    ['key', () => []],
    ['key:', () => []],
    ['$where', () => []],
  ])('finds items by %s', async (q, expected) => {
    expect(await search(q)).toEqual(expected(at));
  });

  it('answers an empty list when there is nothing to search for', async () => {
    expect((await send('key:stain', at.admin)).body).toEqual([]);
  });

  it('finds nothing by annotations or items that the caller cannot read', async () => {
    expect(await search('eosin', at.stranger)).toEqual([at.item]);
    expect(await search('eosin', at.reader)).toEqual([at.item, at.privateItem]);
    expect(await search('treasure', at.admin)).toEqual([second]);
    expect(await search('treasure', at.stranger)).toEqual([]);
    expect(await search('window', at.host.anonymous)).toEqual([]);
    expect(await search('eosin', at.reader, { level: 1 })).toEqual([]);
  });

  it('returns pages, and searches items only', async () => {
    expect(await search('eosin', at.admin, { limit: 1 })).toEqual([at.item]);
    expect(await search('eosin', at.admin, { limit: 1, offset: 1 })).toEqual([at.privateItem]);
    for (const types of ['["folder"]', '["item","folder"]', '[]']) {
      expect((await send('eosin', at.admin, { types })).body).toMatchObject({
        message: "The metadata search is only able to search in ['item'].",
      });
    }
  });
});
