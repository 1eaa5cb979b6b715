import { routeDefiner } from '../../http/route.js';
import { scopes } from '../../http/scopes.js';
import type { Images } from './images.js';

const defineRoute = routeDefiner<{ images: Images }>();

const sources = defineRoute({
  method: 'get',
  path: '/large_image/sources',
  summary: 'List the tile sources, with the file names and types that each reads.',
  description:
    'Extensions and mime types with their priority; the lowest number wins. `default` applies to all that are not listed; sources with 12 are ' +
    'never chosen automatically.',
  access: 'public',
  scope: scopes.read,
  returns: {
    schema: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          extensions: { type: 'object', additionalProperties: { type: 'integer' } },
          mimeTypes: { type: 'object', additionalProperties: { type: 'integer' } },
          version: { type: 'string' },
        },
        required: ['extensions', 'mimeTypes'],
      },
    },
  },
  handle: (_input, { images }) => images.registry.list(),
});

/** The route that lists the tile sources. */
export const sourceRoutes = [sources];
