import { asGet, json, list, mebibyte, plain, repeated, type CostlyRow } from './place.js';

/** Texts of every kind, at their limits. */
export const costlyTexts: readonly CostlyRow[] = [
  [
    'a number of 15,000 digits that is none',
    400,
    ({ slide }, send) => send('GET', `/item/${slide}/tiles/region`, { query: { left: `${'1'.repeat(15_000)}x` } }),
  ],
  [
    'a number of a megabyte in a form',
    413,
    ({ slide }, send) =>
      send('POST', `/item/${slide}/tiles/region`, { form: { left: `${'1'.repeat(1_000_000)}x` }, headers: asGet }),
  ],
  ['a form that is too long', 413, (_place, send) => send('POST', '/user', { form: { login: 'a'.repeat(2 * mebibyte) } })],
  [
    'a form of many fields',
    400,
    (_place, send) =>
      send('POST', '/user', { body: repeated('a=&', 900_000), headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }),
  ],
  [
    'a search for marks that must be put in order',
    200,
    ({ folder }, send) =>
      send('POST', '/item', { form: { folderId: folder, text: `a${'\u0301\u0316'.repeat(40_000)}` }, headers: asGet }),
  ],
  [
    'a range of blanks',
    200,
    ({ slide }, send) => send('GET', `/item/${slide}/download`, { headers: { Range: `bytes=${' '.repeat(14_000)}x` } }),
  ],
  [
    'specifications that are nothing but numbers',
    413,
    (_place, send) => send('POST', '/large_image/thumbnails', { form: { spec: list('1', 900_000) }, headers: asGet }),
  ],
  [
    'a parameter of empty lists',
    413,
    ({ folder }, send) => send('PUT', `/item/${folder}`, { form: { metadata: `{"a":${list('[]', 900_000)}}` } }),
  ],
  [
    'JSON of empty lists',
    400,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: list('[]', mebibyte - 100), headers: json }),
  ],
  [
    'JSON of quotes that nothing closes',
    400,
    ({ item }, send) =>
      send('PUT', `/item/${item}/internal_metadata/x`, { body: `[${repeated('"\\', mebibyte - 10)}`, headers: json }),
  ],
  [
    'JSON that is nested without end',
    400,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: '['.repeat(mebibyte), headers: json }),
  ],
  [
    'JSON that is too long',
    413,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: list('[]', 30 * mebibyte), headers: json }),
  ],
  [
    'metadata of many keys',
    400,
    ({ item }, send) => {
      const keys = Array.from({ length: 70_000 }, (_, i) => `"${i.toString(36)}":1`);
      return send('PUT', `/item/${item}/metadata`, { body: `{${keys.join(',')}}`, headers: json });
    },
  ],
  [
    'a description of one word, over and over',
    200,
    ({ item }, send) => send('PUT', `/item/${item}`, { form: { description: repeated('a ', 250_000) } }),
  ],
  [
    'a search for one word, over and over',
    200,
    (_place, send) =>
      send('POST', '/resource/search', { form: { q: repeated('a ', 250_000), types: '["item"]' }, headers: asGet }),
  ],
  [
    'a search in many fields',
    400,
    (_place, send) => {
      const q = `${Array.from({ length: 20_000 }, (_, i) => `key:${i}`).join(' ')} x`;
      return send('POST', '/resource/search', { form: { q, mode: 'li_metadata', types: '["item"]' }, headers: asGet });
    },
  ],
  [
    'an order that is a long list',
    400,
    ({ folder }, send) => send('POST', '/item', { form: { folderId: folder, sort: list('[]', 250_000) }, headers: asGet }),
  ],
  [
    'items of which each has as many metadata as it may have',
    200,
    async (_place, send) => {
      const collection = await send('POST', '/collection', { query: { name: `Much metadata ${performance.now()}` } });
      const query = { parentType: 'collection', parentId: String(collection.body._id), name: 'Much metadata' };
      const folderId = String((await send('POST', '/folder', { query })).body._id);
      const members = Array.from({ length: 19_990 }, (_, i) => `"${i.toString(36)}":{}`);
      let answer = await send('POST', '/item', { query: { folderId, name: 'first' } });
      for (let i = 0; i < 12 && answer.status === 200; i += 1) {
        const item = await send('POST', '/item', { query: { folderId, name: `item ${i}` } });
        const body = `{"a":{${members.join(',')}}}`;
        answer = await send('PUT', `/item/${String(item.body._id)}/metadata`, { body, headers: json });
      }
      const lists: [path: string, query: Record<string, string | number>][] = [
        ['/item', { folderId }],
        ['/item', { folderId, text: '_group_:name,_count_,meta.a,meta.b:' }],
        ['/resource/search', { q: 'item', mode: 'prefix', types: '["item"]', limit: 0 }],
        ['/resource/search', { q: 'item', types: '["item"]', limit: 0 }],
        [`/iiif/folder/${folderId}/collection.json`, {}],
      ];
      for (const [path, query] of lists) if (answer.status === 200) answer = await send('GET', path, { query });
      return answer;
    },
  ],
  [
    'a configuration of quotes',
    200,
    (_place, send) =>
      send('POST', '/large_image/config/validate', { body: `[a]\nx = ${repeated('"""', 120_000)}`, headers: plain }),
  ],
  [
    'a configuration of numbers',
    200,
    (_place, send) => send('POST', '/large_image/config/validate', { body: `[a]\nx = ${list('1', 120_000)}`, headers: plain }),
  ],
  [
    'a configuration that grows when it is formatted',
    200,
    (_place, send) => send('POST', '/large_image/config/format', { body: '[a]\nx = "a b"*600000', headers: plain }),
  ],
  [
    'YAML of many entries',
    200,
    ({ folder }, send) =>
      send('PUT', `/folder/${folder}/yaml_config/long.yaml`, { body: repeated('- a\n', 4 * mebibyte), headers: plain }),
  ],
  [
    'YAML that expands to more than its text',
    400,
    ({ folder }, send) => {
      const text = `a: &a ${'x'.repeat(1000)}\nb: &b [${repeated('*a, ', 4000)}]\nc: &c [${repeated('*b, ', 4000)}]\n`;
      return send('PUT', `/folder/${folder}/yaml_config/bomb.yaml`, { body: text, headers: plain });
    },
  ],
  [
    'a file of values with a number of a megabyte',
    200,
    async ({ upload }, send) => {
      const id = await upload('values.csv', `a\n${'1'.repeat(900_000)}x\n`);
      return send('POST', `/annotation/item/${id}/plot/data`, { query: { keys: 'data.a.0' } });
    },
  ],
  [
    'a beginning of names that is a megabyte long',
    413,
    (_place, send) =>
      send('POST', '/resource/search', {
        form: { q: repeated('.*', 900_000), mode: 'prefix', types: '["item"]' },
        headers: asGet,
      }),
  ],
  [
    'many keys to be taken away',
    400,
    ({ item }, send) => send('DELETE', `/item/${item}/metadata`, { body: list('"abcdef"', mebibyte - 100), headers: json }),
  ],
];
