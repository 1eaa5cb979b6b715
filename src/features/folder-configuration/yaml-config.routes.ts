import { maxFolderConfigurationBytes } from './configuration-items.js';
import { routeDefiner } from '../../http/route.js';
import { anything } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import type { Items } from '../items/items.js';
import type { FolderConfiguration } from './folder-configuration.js';
import { Reply } from '../../http/reply.js';
import { BadParameterError } from '../../errors.js';
import { boolean, id, required, text, withDefault } from '../../http/parameters.js';

const defineRoute = routeDefiner<{ folderConfiguration: FolderConfiguration; items: Items }>();

const configurationPath = {
  id: required(id({ description: 'Id of the folder.' })),
  name: required(text({ description: 'Name of the configuration, such as .large_image_config.yaml.' })),
};

const read = defineRoute({
  method: 'get',
  path: '/folder/:id/yaml_config/:name',
  summary: 'Get the YAML configuration that applies in a folder.',
  description:
    'Returns the first item with this name. Searched are, in this order: the folder, the folders above it, `.config` next to the topmost folder, and the ' +
    'folder that the setting `config_folder` names. If the text has `__inherit__: true`, it is merged with the next one found. Sections for users and ' +
    'groups are applied.',
  access: 'public',
  scope: scopes.read,
  params: configurationPath,
  returns: { schema: anything },
  errors: ['unknown-id', 'access-denied', 'bad-parameter'],
  handle: async ({ params: { id: folderId, name }, caller, signal }, { folderConfiguration }) =>
    Reply.content(await folderConfiguration.read(folderId, name, caller, signal), 'application/json'),
});

const write = defineRoute({
  method: 'put',
  path: '/folder/:id/yaml_config/:name',
  summary: 'Store a YAML configuration in a folder.',
  description:
    'The body is the text. Needs write access, or with `user_context` read access; the token needs the scope for writing in both cases. The text is stored in ' +
    'a new item, or in an existing one whose only file is YAML text of this name. Anything else of this name in the folder ' +
    'is a conflict (409). With `user_context`, it is also a conflict if nothing can be added to the stored text, for example because it is invalid.',
  access: 'public',
  scope: scopes.write,
  params: configurationPath,
  query: {
    user_context: withDefault(
      boolean({ description: 'Whether the text is only for the calling user. It is then added to the stored text.' }),
      false,
    ),
  },
  body: 'text',
  maxBodyBytes: maxFolderConfigurationBytes,
  returns: { schema: { type: 'null' } },
  errors: ['unknown-id', 'access-denied', 'bad-parameter', 'too-large', 'conflict', 'not-implemented', 'storage-full'],
  authorize: ({ params, query, caller }, { items }) => items.loadFolder(params.id, query.user_context ? 0 : 1, caller),
  async handle({ params: { id: folderId, name }, query, body, caller }, { folderConfiguration }) {
    // MongoDB refuses this character in a query.
    if (name.includes('\0')) throw new BadParameterError('The name of a configuration must not contain the character U+0000.');
    await folderConfiguration.write(folderId, name, body, { caller, forCallerOnly: query.user_context });
    return null;
  },
});

/** Routes for folder configurations. */
export const yamlConfigRoutes = [read, write];
