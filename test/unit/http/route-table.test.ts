import { describe, expect, it } from 'vitest';
import { decodeParameters, RouteTable } from '../../../src/http/serving/route-table.js';
import type { RouteDefinition } from '../../../src/larger-host.js';

const table = new RouteTable<string>();
const paths: [RouteDefinition['method'], string][] = [
  // Routes with parameters come first, because the order of the routes must not matter.
  ['get', '/item/:itemId'],
  ['put', '/item/:id'],
  ['get', '/item/:id/files'],
  ['get', '/item/:itemId/tiles/zxy/:z/:x/:y'],
  ['get', '/item/test/tiles'],
  ['get', '/annotation/:id/:format'],
  ['get', '/annotation/:id/history/:version'],
  ['get', '/annotation/item/:id'],
  ['get', '/annotation/old/current'],
  ['get', '/file/:a/:b/:c/:d/:e/:f'],
];
for (const [method, path] of paths) table.add({ method, path }, `${method} ${path}`);

const find = (method: string, path: string) => {
  const match = table.find(method, path);
  return match === null ? null : [match.value, decodeParameters(match.params)];
};
const tile = 'get /item/:itemId/tiles/zxy/:z/:x/:y';

describe('a table of routes', () => {
  it.each([
    ['/item/1', 'get /item/:itemId', { itemId: '1' }],
    ['/item/1/files', 'get /item/:id/files', { id: '1' }],
    ['/item/test/tiles', 'get /item/test/tiles', {}],
    ['/annotation/item/1', 'get /annotation/item/:id', { id: '1' }],
    // The path matches the route with the parameter, not the literal one.
    ['/item/test', 'get /item/:itemId', { itemId: 'test' }],
    ['/item/test/files', 'get /item/:id/files', { id: 'test' }],
    ['/item/test/tiles/zxy/0/1/2', tile, { itemId: 'test', z: '0', x: '1', y: '2' }],
    ['/annotation/old/geojson', 'get /annotation/:id/:format', { id: 'old', format: 'geojson' }],
    ['/annotation/item/history/2', 'get /annotation/:id/history/:version', { id: 'item', version: '2' }],
    ['/file/1/2/3/4/5/6', 'get /file/:a/:b/:c/:d/:e/:f', { a: '1', b: '2', c: '3', d: '4', e: '5', f: '6' }],
  ])('finds %s by its literal segments before its parameters: %s', (path, route, params) => {
    expect(find('GET', path)).toEqual([route, params]);
  });

  it.each(['//item/1/files', '/item//1///files', '/item/1/files/', '/ITEM/1/Files', '/Item//1/FILES//'])(
    'ignores case, empty segments and the trailing slash of %s',
    (path) => {
      expect(find('GET', path)).toEqual(['get /item/:id/files', { id: '1' }]);
    },
  );

  it.each([
    ['/item/AbC', 'AbC'],
    ['/item/a%20b%2Fc%3f', 'a b/c?'],
    ['/item/%2525', '%25'],
    ['/item/%C3%A9', 'é'],
    ['/item/..', '..'],
    ['/item/:id', ':id'],
    ['/item/a;b=c&d', 'a;b=c&d'],
    [`/item/${'x'.repeat(15_000)}`, 'x'.repeat(15_000)],
  ])('decodes the parameter of %s', (path, itemId) => {
    expect(find('GET', path)).toEqual(['get /item/:itemId', { itemId }]);
  });

  it.each([
    '/',
    '/items',
    '/item',
    '/item/',
    '/item/1/tile',
    '/item/1/files/2',
    '/%69tem/1',
    '/item/1/fil%65s',
    '/annotation/%FF',
  ])('finds no route for %s', (path) => {
    expect(find('GET', path)).toBe(null);
  });

  it("distinguishes methods, treats HEAD as GET, and lists a path's methods", () => {
    expect(find('PUT', '/item/1')).toEqual(['put /item/:id', { id: '1' }]);
    expect(find('HEAD', '/item/1')).toEqual(['get /item/:itemId', { itemId: '1' }]);
    expect(find('DELETE', '/item/1')).toBe(null);
    expect(find('NONSENSE', '/item/1')).toBe(null);
    expect([table.methodsOf('/item/1'), table.methodsOf('/nothing')]).toEqual([['HEAD', 'GET', 'PUT'], []]);
  });

  it('refuses path parameters that are not valid percent-encoded UTF-8', () => {
    for (const path of ['/item/%', '/item/%zz', '/item/%ff', '/item/%c3%28']) {
      expect(() => find('GET', path)).toThrow('The path is not valid percent-encoded UTF-8.');
    }
  });

  it('refuses a second route of the same method and path', () => {
    expect(() => table.add({ method: 'get', path: '/item/:other' }, '')).toThrow(/already declared/);
  });
});
