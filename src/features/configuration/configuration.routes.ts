import { routeDefiner } from '../../http/route.js';
import { scopes } from '../../http/scopes.js';
import type { Configuration } from './configuration.js';
import { boolean, text, withDefault } from '../../http/parameters.js';

const defineRoute = routeDefiner<{ configuration: Configuration }>();

/** Largest configuration text in a request. Real ones have a few kilobytes. */
const maxConfigBytes = 128 * 1024;

const read = defineRoute({
  method: 'get',
  path: '/large_image/config',
  summary: 'Get the current configuration file of the server.',
  description: 'The file may contain passwords. Everybody who can read it can also replace it.',
  access: 'admin',
  scope: scopes.user,
  returns: {
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        exists: { type: 'boolean' },
        text: { type: 'string', description: 'Empty if there is no file.' },
        version: {
          type: 'string',
          description: 'Changes with the contents of the file. Send it as `expected` when you replace the file.',
        },
        backups: {
          type: 'array',
          items: { type: 'string' },
          description: 'Names of the backups in the same folder, newest first.',
        },
        canRestart: { type: 'boolean', description: 'Whether the server can restart itself.' },
      },
      required: ['path', 'exists', 'text', 'version', 'backups', 'canRestart'],
    },
  },
  errors: ['access-denied', 'unavailable', 'conflict'],
  handle: (_input, { configuration }) => configuration.read(),
});

const validate = defineRoute({
  method: 'post',
  path: '/large_image/config/validate',
  summary: 'Check a configuration text.',
  description:
    'The body is the text, in UTF-8. If the body has the content type of an HTML form, the text counts as empty. The response is an empty list, or a list with the first error; ' +
    'lines count from 0.',
  access: 'admin',
  scope: scopes.write,
  body: 'text',
  bodyOptional: true,
  maxBodyBytes: maxConfigBytes,
  returns: {
    schema: {
      type: 'array',
      items: {
        type: 'object',
        properties: { line: { type: 'integer' }, message: { type: 'string' } },
        required: ['line', 'message'],
      },
    },
  },
  errors: ['access-denied', 'bad-parameter', 'too-large'],
  handle: ({ body, signal }, { configuration }) => configuration.texts.validate(body, signal),
});

const format = defineRoute({
  method: 'post',
  path: '/large_image/config/format',
  summary: 'Format a configuration text.',
  description:
    'The body is the text, in UTF-8. If the body has the content type of an HTML form, the text counts as empty. A text that is not valid is returned unchanged.',
  access: 'admin',
  scope: scopes.write,
  body: 'text',
  bodyOptional: true,
  maxBodyBytes: maxConfigBytes,
  returns: { schema: { type: 'string' } },
  errors: ['access-denied', 'bad-parameter', 'too-large'],
  handle: ({ body, signal }, { configuration }) => configuration.texts.format(body, signal),
});

const replace = defineRoute({
  method: 'post',
  path: '/large_image/config/replace',
  summary: "Replace the server's configuration file.",
  description:
    'The body is the new text, in UTF-8. The previous file is kept next to the new one, with its modification time in the name. ' +
    'Changes take effect when the server restarts.',
  access: 'admin',
  scope: scopes.user,
  query: {
    restart: withDefault(boolean({ description: 'Whether the server restarts afterwards.' }), true),
    expected: text({
      description:
        'The version of the file that is to be replaced. If the file has a different version, the response is a conflict (409).',
    }),
  },
  body: 'text',
  maxBodyBytes: maxConfigBytes,
  returns: {
    schema: {
      type: 'object',
      properties: {
        status: { enum: ['no change', 'updated'] },
        time: { type: 'string', format: 'date-time' },
        restarted: { type: 'string', format: 'date-time' },
      },
    },
  },
  errors: ['access-denied', 'bad-parameter', 'too-large', 'not-implemented', 'unavailable', 'storage-full', 'conflict'],
  async handle({ body, query }, { configuration }) {
    const result = await configuration.replace(body, query);
    if (result.restarted !== undefined) return { restarted: result.restarted };
    return result.status === 'updated' ? { status: result.status, time: result.time } : { status: result.status };
  },
});

/** Routes that read, check, format and replace the configuration file. */
export const configurationRoutes = [read, validate, format, replace];
