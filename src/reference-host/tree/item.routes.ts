import { fileSchema, rootPathSchema } from '../http/schemas.js';
import {
  BadParameterError,
  boolean,
  id,
  oneOf,
  required,
  text,
  type RouteDefinition,
  itemSchema,
  listOf,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { ItemDocument } from './item.model.js';
import { createItemAccessFilter, levelOn, loadPrincipal, type Principal } from '../access/access.js';
import { downloadFile, downloadQuery } from '../files/downloads.js';
import { loadAncestors, loadTargetFolder } from './folders.js';
import { removeItem } from './item-removals.js';
import { copyItem, createItem, listFiles, loadItem, setItemMetadata, updateItem } from './items.js';
import { createFindFilter, findTextParameter } from './finding/find-filter.js';
import { replyWithList, replyWithPage, findPosition, createViews } from './lists.js';
import { createMetadataUpdate } from './metadata.js';
import { createWordsFilter } from '../resources/resources.js';
import { listItemEntries, replyWithZip } from '../files/zip.js';
import {
  downloadRoute,
  createReadAuthorizer,
  createMetadataRoutes,
  createReadRoutes,
  createRemovalRoutes,
  type DocumentKind,
} from './document.routes.js';
import { byId, byLowerName, byName, copyAnnotations, metadata, scopes, searchText } from '../http/parameters.js';
import { fileView, itemView, resourceView } from '../views.js';

const listQuery = {
  folderId: id({ description: 'Folder whose items are listed.' }),
  text: searchText,
  find: findTextParameter,
  name: text({ description: 'Only the item with exactly this name.' }),
  ...byLowerName,
};

async function createListFilter(
  context: HostContext,
  query: { folderId?: string | undefined; text?: string | undefined; find?: string | undefined; name?: string | undefined },
  principal: Principal,
) {
  const searchConditions = { ...createWordsFilter(query.text), ...createFindFilter(query.find) };
  const nameCondition = query.name === undefined ? {} : { name: query.name };
  if (query.folderId !== undefined) {
    const folder = await loadTargetFolder(context, query.folderId, principal, 0);
    return { folderId: folder._id, ...nameCondition, ...searchConditions };
  }
  if (!query.text && !query.find) throw new BadParameterError('Invalid search mode.');
  return { ...(await createItemAccessFilter(context, principal, 0)), ...searchConditions };
}

const kind: DocumentKind<ItemDocument> = {
  type: 'item',
  load: async (...parameters) => (await loadItem(...parameters)).item,
  view: itemView,
  schema: itemSchema,
};
const authorizeReading = createReadAuthorizer(kind);

/** Routes for items. */
export const itemRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/item',
    summary: 'List the items of a folder, or search for items.',
    description:
      'The text may begin with `_recurse_:`, `_group_:key,…,_count_,source,target:` and `_filter_:{…}`, in this order; `sort` may be JSON: ' +
      '`[["meta.stain",1],["created",-1]]`.',
    access: 'public',
    scope: scopes.read,
    query: listQuery,
    returns: { schema: listOf(itemSchema) },
    errors: ['bad-parameter', 'invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const extendedList = await context.plugin.itemLists.list(query, caller, createWordsFilter);
      if (extendedList !== null) {
        // The cast is safe: the documents come from the model of items.
        const documents = extendedList.documents as unknown as ItemDocument[];
        return replyWithList(await createViews(documents, itemView), extendedList.total);
      }
      const filter = await createListFilter(context, query, await loadPrincipal(context, caller));
      return replyWithPage(context.models.item, filter, query, itemView);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/item',
    summary: 'Create an item.',
    access: 'user',
    scope: scopes.write,
    query: {
      folderId: required(id()),
      name: required(text()),
      description: text(),
      reuseExisting: boolean({ description: 'Whether to return an existing item with this name.' }),
      metadata,
    },
    returns: { schema: itemSchema },
    errors: ['invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const folder = await loadTargetFolder(context, query.folderId, principal, 1);
      return itemView(await createItem(context, folder, { ...query, creatorId: principal.id }));
    },
  }),
  defineRoute({
    method: 'put',
    path: '/item/:id',
    summary: 'Change or move an item.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { name: text(), description: text(), folderId: id({ description: 'Folder to which to move it.' }), metadata },
    returns: { schema: itemSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { item } = await loadItem(context, params.id, principal, 1);
      const folder = query.folderId === undefined ? undefined : await loadTargetFolder(context, query.folderId, principal, 1);
      const update = query.metadata === undefined ? undefined : createMetadataUpdate(query.metadata, false);
      const { name, description } = query;
      return itemView(await updateItem(context, item, { name, description, folder, metadata: update }));
    },
  }),
  defineRoute({
    method: 'get',
    path: '/item/:id/files',
    summary: 'List the files of an item.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    query: byName,
    returns: { schema: listOf(fileSchema) },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { item } = await loadItem(context, params.id, principal, 0);
      return replyWithPage(context.models.file, { itemId: item._id }, query, (file) =>
        fileView(file, principal, context.storeId),
      );
    },
  }),
  defineRoute({
    method: 'get',
    path: '/item/:id/rootpath',
    summary: 'Get the path to an item: its root, then the folders above it.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: rootPathSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { folder } = await loadItem(context, params.id, principal, 0);
      const ancestors = [...(await loadAncestors(context, folder)), { type: 'folder' as const, doc: folder }];
      const readableAncestors = ancestors.filter((parent) => levelOn(parent.doc, principal) >= 0);
      return readableAncestors.map((parent) => ({ type: parent.type, object: resourceView(parent, principal) }));
    },
  }),
  defineRoute({
    method: 'get',
    path: '/item/:id/position',
    summary: 'Get the number of items before this one in a list; the length of the list if the item is not in it.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    query: listQuery,
    returns: { schema: { type: 'integer' } },
    errors: ['unknown-id', 'bad-parameter', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { item } = await loadItem(context, params.id, principal, 0);
      const positionInExtendedList = await context.plugin.itemLists.position(item._id, query, caller, createWordsFilter);
      if (positionInExtendedList !== null) return positionInExtendedList;
      return findPosition(context.models.item, await createListFilter(context, query, principal), item._id, query);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/item/:id/copy',
    summary: 'Copy an item with its files.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: {
      folderId: id({ description: 'Folder of the copy; by default that of the item.' }),
      name: text(),
      description: text(),
      copyAnnotations,
    },
    returns: { schema: itemSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { item } = await loadItem(context, params.id, principal, 0);
      const folderId = query.folderId ?? item.folderId.toHexString();
      const target = await loadTargetFolder(context, folderId, principal, 1);
      const copyOptions = { name: query.name, description: query.description, copyAnnotations: query.copyAnnotations };
      const copy: ItemDocument = await copyItem(context, item, target, { ...copyOptions, creatorId: principal.id });
      return itemView(copy);
    },
  }),
  defineRoute({
    ...downloadRoute,
    path: '/item/:id/download',
    summary: 'Download an item: its only file, or an archive.',
    errors: [...downloadRoute.errors, 'unsatisfiable-range'],
    query: { ...downloadQuery, format: oneOf(['zip', '']) },
    returns: { types: ['application/octet-stream', 'application/zip'] },
    authorize: authorizeReading,
    async handle({ query, authorized: { document: item }, caller, headers }, context) {
      const files = await listFiles(context, item);
      if (files.length === 1 && query.format !== 'zip') {
        return downloadFile(context, files[0]!, { ...query, headers, disposition: query.contentDisposition });
      }
      return replyWithZip(context, caller, item.name, listItemEntries(context, item));
    },
  }),
  ...createReadRoutes(kind),
  ...createRemovalRoutes(kind, { level: 1, remove: removeItem, nameOf: ({ name }) => name }),
  ...createMetadataRoutes(kind, setItemMetadata),
];
