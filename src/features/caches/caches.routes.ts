import { routeDefiner } from '../../http/route.js';
import { scopes } from '../../http/scopes.js';
import type { Caches } from './caches.js';

const defineRoute = routeDefiner<{ caches: Caches }>();

const reportSchema = {
  type: 'object',
  description: 'The caches, by name.',
  additionalProperties: {
    type: 'object',
    properties: {
      maxsize: {
        type: 'integer',
        description: 'Capacity of the cache: a number of open files for tilesource, of bytes for tileCache.',
      },
      used: { type: 'integer', description: 'Current use, in the same unit.' },
      items: { type: 'integer' },
      processes: { type: 'integer', description: 'Number of processes whose numbers were added up.' },
      available: { type: 'boolean', description: 'False while the cache cannot be reached.' },
      errors: { type: 'integer' },
      error: { type: 'string' },
    },
    required: ['maxsize', 'used'],
  },
};

const read = defineRoute({
  method: 'get',
  path: '/large_image/cache',
  summary: 'Report what the caches contain.',
  description: 'With Redis, the totals of all processes that share it.',
  access: 'admin',
  scope: scopes.read,
  returns: { schema: reportSchema },
  errors: ['access-denied'],
  handle: (_input, { caches }) => caches.report(),
});

const clear = defineRoute({
  method: 'put',
  path: '/large_image/cache/clear',
  summary: 'Empty the caches, and wait up to 5 seconds until they are empty.',
  description: 'With Redis, in all processes that share it.',
  access: 'admin',
  scope: scopes.write,
  returns: {
    schema: {
      type: 'object',
      properties: { cacheCleared: { type: 'string', format: 'date-time' }, before: reportSchema, after: reportSchema },
      required: ['cacheCleared', 'before', 'after'],
    },
  },
  errors: ['access-denied'],
  handle: (_input, { caches }) => caches.clear(),
});

/** Routes that report on the caches and clear them. */
export const cacheRoutes = [read, clear];
