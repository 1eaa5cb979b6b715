import { constantName } from './definition.js';
import { defineRoute, scopes } from '../define.js';

const settings = defineRoute({
  method: 'get',
  path: '/large_image/settings',
  summary: 'What clients need to know of the settings.',
  description: 'Each value is there under both of its names: large_image.show_viewer and LARGE_IMAGE_SHOW_VIEWER.',
  access: 'public',
  scope: scopes.read,
  returns: { schema: { type: 'object', additionalProperties: true } },
  async handle(_input, context) {
    const answer: Record<string, unknown> = {};
    for (const { key, public: isPublic } of context.settings.definitions) {
      const constant = constantName(key);
      if (!isPublic || constant === null) continue;
      answer[key] = await context.settings.get(key);
      answer[constant] = answer[key];
    }
    return answer;
  },
});

const sources = defineRoute({
  method: 'get',
  path: '/large_image/sources',
  summary: 'The tile sources, with the file names and types that each wants.',
  description:
    'Extensions and mime types with their priority; the lowest number wins. `default` is for all that are not listed; sources with 12 are ' +
    'never chosen by themselves.',
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

/** What everybody may know. */
export const publicRoutes = [settings, sources];
