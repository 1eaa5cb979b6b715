import type { MatrixEntry } from './access-matrix.js';
import { elementId } from '../hosts/annotated.js';

const read = { kind: 'annotationRead', scope: 'core.data.read' } as const;
const write = { kind: 'annotationWrite', scope: 'core.data.write' } as const;
const create = { kind: 'annotationCreate', scope: 'core.data.write' } as const;
const own = { kind: 'annotationOwn', scope: 'core.data.own' } as const;
const everybody = { kind: 'public', scope: 'core.data.read' } as const;
const point = { type: 'point', center: [1, 2, 0] };
const access = ({ user }: { user: string }) => ({
  query: { access: JSON.stringify({ users: user === 'None' ? [] : [{ id: user, level: 2 }], groups: [] }) },
});
const table = { body: `id,a\n${elementId(1)},1\n`, headers: { 'Content-Type': 'text/csv' } };
const params = { format: 'geojson', elementId: elementId(1) };

/**
 * Who may use the routes below /annotation. The annotation of the tests has one element, and has the access list of its folder.
 */
export const annotationMatrix: Readonly<Record<string, MatrixEntry>> = {
  'GET /annotation': { kind: 'itemRead', scope: 'core.data.read' },
  'GET /annotation/deleted': { kind: 'itemRead', scope: 'core.data.read', sending: ({ item }) => ({ query: { itemId: item } }) },
  'GET /annotation/schema': everybody,
  'GET /annotation/images': everybody,
  'GET /annotation/events': {
    kind: 'itemRead',
    scope: 'core.data.read',
    sending: ({ item }) => ({ query: { itemId: item, timeout: 1 } }),
  },
  'GET /annotation/counts': { ...everybody, sending: { query: { items: '' } } },
  'GET /annotation/old': { kind: 'admin', scope: 'core.data.read' },
  'DELETE /annotation/old': { kind: 'admin', scope: 'core.data.write' },
  'POST /annotation': { ...create, sending: { json: { name: 'new' } } },
  'GET /annotation/:id': read,
  'GET /annotation/:id/:format': { ...read, params },
  'GET /annotation/:id/table': read,
  'GET /annotation/:id/table/rows': read,
  'GET /annotation/:id/table/histogram': { ...read, sending: { query: { x: 'area' } } },
  'GET /annotation/:id/table/summary': read,
  'POST /annotation/:id/table/ids': { ...read, sending: { json: {} } },
  'PATCH /annotation/:id/table': { ...write, sending: table },
  'GET /annotation/:id/table.csv': read,
  'GET /annotation/:id/table.arrow': read,
  'GET /annotation/:id/table.parquet': read,
  'GET /annotation/:id/tiles': read,
  'GET /annotation/:id/tiles/zxy/:z/:x/:y': { ...read, params: { z: '0', x: '0', y: '0' } },
  'GET /annotation/:id/tiles/mvt/:z/:x/:y': { ...read, params: { z: '0', x: '0', y: '0' } },
  'PUT /annotation/:id': { ...write, sending: { json: { name: 'new' } } },
  'PATCH /annotation/:id': { ...write, sending: { json: [] }, admitted: 204 },
  'DELETE /annotation/:id': write,
  'POST /annotation/:id/copy': { kind: 'annotationCopy', scope: 'core.data.write' },
  'GET /annotation/:id/elements/:elementId': { ...read, params },
  'POST /annotation/:id/elements': { ...write, sending: { json: point } },
  'PATCH /annotation/:id/elements': { ...write, sending: { json: { put: [point] } } },
  'PUT /annotation/:id/elements/:elementId': { ...write, sending: { json: point }, params },
  'PATCH /annotation/:id/elements/:elementId': { ...write, sending: { json: {} }, params },
  'DELETE /annotation/:id/elements/:elementId': { ...write, params },
  'GET /annotation/:id/access': own,
  'PUT /annotation/:id/access': { ...own, sending: access },
  'GET /annotation/:id/history': everybody,
  'GET /annotation/:id/history/:version': read,
  'PUT /annotation/:id/history/revert': { kind: 'annotationRevert', scope: 'core.data.write' },
  'PUT /annotation/:id/metadata': { ...write, sending: { json: { a: 1 } } },
  'DELETE /annotation/:id/metadata': { ...write, sending: { json: [] } },
  'GET /annotation/item/:id': { kind: 'read', scope: 'core.data.read' },
  'POST /annotation/item/:id': { ...create, sending: { json: { name: 'new' } } },
  'POST /annotation/item/:id/plot/list': { kind: 'read', scope: 'core.data.read' },
  'POST /annotation/item/:id/plot/data': { kind: 'read', scope: 'core.data.read', sending: { form: { keys: 'item.name' } } },
  'DELETE /annotation/item/:id': { kind: 'annotationClear', scope: 'core.data.write' },
  'GET /annotation/folder/:id': everybody,
  'GET /annotation/folder/:id/present': everybody,
  'GET /annotation/folder/:id/table/summary': { kind: 'read', scope: 'core.data.read' },
  'GET /annotation/folder/:id/create': { kind: 'userRead', scope: 'core.data.read' },
  'PUT /annotation/folder/:id/access': { kind: 'user', scope: 'core.data.own', sending: access },
  'DELETE /annotation/folder/:id': { kind: 'user', scope: 'core.data.write' },
};
