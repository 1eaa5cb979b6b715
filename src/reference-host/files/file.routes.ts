import { fileSchema } from '../http/schemas.js';
import { id, InvalidError, required, text, UnknownIdError, type RouteDefinition } from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import { loadPrincipal } from '../access/access.js';
import { downloadFile, downloadQuery } from './downloads.js';
import { copyFile, loadFile, removeFile, updateFile } from './files.js';
import { loadItem } from '../tree/items.js';
import { byId, scopes } from '../http/parameters.js';
import { fileView } from '../views.js';

/** Routes for files and their bytes. */
export const fileRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/file/:id',
    summary: 'Get a file.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: fileSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return fileView(await loadFile(context, params.id, principal, 0), principal, context.storeId);
    },
  }),
  defineRoute({
    method: 'put',
    path: '/file/:id',
    summary: 'Change name or type of a file.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { name: text(), mimeType: text() },
    returns: { schema: fileSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const file = await loadFile(context, params.id, principal, 1);
      return fileView(await updateFile(context, file, query), principal, context.storeId);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/file/:id',
    summary: 'Remove a file.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    returns: { schema: { type: 'null' } },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const file = await loadFile(context, params.id, await loadPrincipal(context, caller), 1);
      await removeFile(context, file._id);
      return null;
    },
  }),
  defineRoute({
    method: 'post',
    path: '/file/:id/copy',
    summary: 'Copy a file to an item.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { itemId: required(id()) },
    returns: { schema: fileSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const file = await loadFile(context, params.id, principal, 0);
      const { item } = await loadItem(context, query.itemId, principal, 1).catch((error: unknown) => {
        throw error instanceof UnknownIdError ? new InvalidError(`No such item: ${query.itemId}`, 'id') : error;
      });
      return fileView(await copyFile(context, file, item, principal.id), principal, context.storeId);
    },
  }),
  ...['/file/:id/download', '/file/:id/download/:name'].map((path) =>
    defineRoute({
      method: 'get',
      path,
      summary: 'Download a file or a part of it.',
      access: 'public',
      scope: scopes.read,
      cookie: true,
      params: path.endsWith(':name') ? { ...byId, name: text() } : byId,
      query: downloadQuery,
      returns: { types: ['application/octet-stream'] },
      errors: ['unknown-id', 'access-denied', 'not-found', 'unsatisfiable-range'],
      authorize: async ({ params, caller }, context) => loadFile(context, params.id, await loadPrincipal(context, caller), 0),
      handle({ query, authorized: file, headers }, context) {
        return downloadFile(context, file, { ...query, headers, disposition: query.contentDisposition });
      },
    }),
  ),
];
