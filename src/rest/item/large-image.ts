import { boolean, id, withDefault } from '../parameters.js';
import { defineRoute, scopes } from '../define.js';
import { itemPath } from './parameters.js';

const get = defineRoute({
  method: 'get',
  path: '/item/:itemId/tiles',
  summary: 'Get what the large image of an item is: size, tiles, levels, scale, frames.',
  access: 'public',
  scope: scopes.read,
  params: itemPath,
  returns: { schema: { type: 'object' } },
  errors: ['unknown-id', 'access-denied', 'no-large-image', 'tile-source'],
  async handle({ params, caller }, { items, images }) {
    const item = await items.load(params.itemId, 0, caller);
    return images.use(item, (image) => image.metadata());
  },
});

const internalMetadata = defineRoute({
  method: 'get',
  path: '/item/:itemId/tiles/internal_metadata',
  summary: 'Get what the file itself says of the image, in the words of its format.',
  access: 'public',
  scope: scopes.read,
  params: itemPath,
  returns: { schema: { type: 'object' } },
  errors: ['unknown-id', 'access-denied', 'no-large-image', 'tile-source'],
  async handle({ params, caller }, { items, images }) {
    const item = await items.load(params.itemId, 0, caller);
    return images.use(item, (image) => image.internalMetadata());
  },
});

const create = defineRoute({
  method: 'post',
  path: '/item/:itemId/tiles',
  summary: 'Make an item a large image of one of its files.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  query: {
    fileId: id({ description: 'The file; not needed when the item has exactly one.' }),
    notify: withDefault(boolean({ description: 'Tell the caller when a job ends.' }), true),
  },
  returns: { schema: { type: 'null' } },
  errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied', 'login-required', 'tile-source'],
  async handle({ params, query, caller }, { items, images }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    const file = await images.chooseFile(item, query.fileId);
    await images.create(item, file);
    return null;
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/item/:itemId/tiles',
  summary: 'Take the large image off an item; its files stay.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  returns: { schema: { type: 'object', properties: { deleted: { type: 'boolean' } }, required: ['deleted'] } },
  errors: ['unknown-id', 'access-denied', 'login-required'],
  async handle({ params, caller }, { items, images }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    return { deleted: await images.remove(item) };
  },
});

/** The large image of an item as a whole. */
export const largeImageRoutes = [get, internalMetadata, create, remove];
