import type { Readable } from 'node:stream';
import { BadParameterError, LargeImageError } from '../../errors.js';
import { recognizeMimeType } from '../../tilesource/mime-type.js';
import { boolean, integer, required, text, withDefault } from '../../http/parameters.js';
import { anyText, component, idText, listOf, objectOf, anyBoolean } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import { itemPath, loadWritableItem } from '../items/item-path.js';

const cachedFilesRoute = {
  path: '/item/:itemId/tiles/thumbnails',
  params: itemPath,
  errors: ['unknown-id', 'access-denied'],
} as const;

/** A media type as allowed in headers (RFC 9110, section 8.3.1), without quoted parameters. */
const mimeTypePattern = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w!#$&^.+-]+=[\w!#$&^.+-]+)*$/;
const maxPictureBytes = 32 * 1024 * 1024;

const thumbnailFlag = withDefault(
  boolean({ description: 'Whether the key belongs to a picture (the default) or to data such as a histogram.' }),
  true,
);

/** The stored record of a cached file. Members that are not listed belong to the host. */
const cachedFileSchema = component('KeptFile', {
  ...objectOf(
    { _id: idText, attachedToId: idText, thumbnailKey: anyText },
    { isLargeImageThumbnail: anyBoolean, isLargeImageData: anyBoolean },
  ),
  additionalProperties: true,
});

const list = defineRoute({
  ...cachedFilesRoute,
  method: 'get',
  summary: 'List the cached files of an item: pictures, then data, each newest first.',
  access: 'admin',
  scope: scopes.read,
  returns: { schema: listOf(cachedFileSchema) },
  async handle({ params, caller }, { items, cachedFiles }) {
    return cachedFiles.list(await items.load(params.itemId, 0, caller));
  },
});

const remove = defineRoute({
  ...cachedFilesRoute,
  method: 'delete',
  summary: 'Remove cached files of an item.',
  description:
    'Without `key` the response has the number of files and the number of removed ones; histograms are removed only if `keep` is 0. ' +
    'With `key`, the response is a list with the removed record, or with null if there is none.',
  access: 'admin',
  scope: scopes.write,
  query: {
    keep: withDefault(integer({ minimum: 0, description: 'Number of newest pictures to keep.' }), 10_000),
    key: text({ description: 'Exact key of the only file to remove.' }),
    thumbnail: thumbnailFlag,
  },
  returns: { schema: { type: 'array', items: { oneOf: [{ type: 'integer' }, cachedFileSchema, { type: 'null' }] } } },
  async handle({ params, query, caller }, { items, cachedFiles }) {
    const item = await items.load(params.itemId, 0, caller);
    if (query.key === undefined || query.key === '') return cachedFiles.trim(item, query.keep);
    return [await cachedFiles.removeOne(item, { kind: query.thumbnail ? 'thumbnail' : 'data', key: query.key })];
  },
});

const put = defineRoute({
  ...cachedFilesRoute,
  method: 'post',
  summary: 'Store the body as a cached picture or cached data of an item, replacing the file with this key.',
  access: 'user',
  scope: scopes.write,
  query: {
    key: required(text({ description: 'Key of the file.' })),
    thumbnail: thumbnailFlag,
    mimeType: text({ description: 'MIME type, if it cannot be detected from the bytes.' }),
  },
  body: 'stream',
  returns: { schema: cachedFileSchema },
  errors: [...cachedFilesRoute.errors, 'login-required', 'bad-parameter', 'too-large'],
  authorize: loadWritableItem,
  async handle({ query, authorized: item, body, caller }, { cachedFiles }) {
    const { mimeType } = query;
    if (mimeType !== undefined && mimeType !== '' && !mimeTypePattern.test(mimeType)) {
      throw new BadParameterError('Parameter mimeType must be a type such as image/png.');
    }
    const bytes = await readAll(body);
    return cachedFiles.put(item, {
      kind: query.thumbnail ? 'thumbnail' : 'data',
      key: query.key,
      content: { bytes, type: recognizeMimeType(bytes) ?? (mimeType || 'application/octet-stream') },
      creatorId: caller?.id ?? null,
    });
  },
});

/**
 * @throws LargeImageError `too-large`, but only after reading the complete body, because a client that is still sending would not
 * read the response.
 */
async function readAll(stream: Readable): Promise<Buffer> {
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxPictureBytes) chunks.push(chunk);
    else chunks = [];
  }
  if (length > maxPictureBytes) throw new LargeImageError('too-large', `The picture is longer than ${maxPictureBytes} bytes.`);
  return Buffer.concat(chunks, length);
}

/** Routes for the cached files of one item. */
export const itemCachedFileRoutes = [list, remove, put];
