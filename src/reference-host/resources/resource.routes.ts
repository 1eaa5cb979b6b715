import { collectionSchema, folderSchema, groupSchema, resourceSchema, userSchema } from '../http/schemas.js';
import { AccessDeniedError } from '../../index.js';
import {
  BadParameterError,
  boolean,
  date,
  id,
  integer,
  InvalidError,
  itemSchema,
  json,
  oneOf,
  required,
  text,
  withDefault,
  type RouteDefinition,
  listOf,
  mapOf,
  nothing,
  orNull,
  anyText,
  idText,
  UnknownIdError,
  answerInTime,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { CollectionDocument } from '../tree/collection.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { GroupDocument } from '../groups/group.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import { levelOn, loadPrincipal, type Principal } from '../access/access.js';
import { copyFolder, moveFolder } from '../tree/folder-trees.js';
import { createViews } from '../tree/lists.js';
import { loadParent, type FolderParent } from '../tree/folders.js';
import { copyItem, updateItem } from '../tree/items.js';
import { loadResource, loadResources, parseResources, treeTypes, type TreeType } from './named-resources.js';
import { removeResources } from './removals.js';
import type { FolderOrItem } from '../tree/tree-documents.js';
import { changeTags, parseTags } from './tags.js';
import { findByPath, createPath, searchDocuments, searchedTypes, type Resource, type SearchedType } from './resources.js';
import { listFolderEntries, listSubfolderEntries, listItemEntries, replyWithZip, type ZipEntry } from '../files/zip.js';
import { byId, copyAnnotations, folderParentType, scopes } from '../http/parameters.js';
import { collectionView, folderView, groupView, itemView, resourceView, userView } from '../views.js';

/**
 * Maximum number of documents that a request can move or copy. Each document needs several writes, one after the other, so that more
 * documents would take longer than clients wait.
 */
const maxResources = 500;

/** Documents that a search has found, by their types. */
const searchResultSchema = {
  type: 'object',
  properties: {
    collection: listOf(collectionSchema),
    folder: listOf(folderSchema),
    item: listOf(itemSchema),
    user: listOf(userSchema),
    group: listOf(groupSchema),
  },
  additionalProperties: listOf({ anyOf: [resourceSchema, groupSchema] }),
};

const resourcesParameter = required(json({ kind: 'object', description: 'Ids by type: {"item": [...], "folder": [...]}.' }));
const progressParameter = boolean({ description: 'Accepted for existing clients, but ignored.' });

function createSearchView(type: SearchedType, doc: object, principal: Principal): Record<string, unknown> {
  switch (type) {
    case 'item':
      return itemView(doc as ItemDocument);
    case 'folder':
      return folderView(doc as FolderDocument, principal);
    case 'collection':
      return collectionView(doc as CollectionDocument, principal);
    case 'group':
      return groupView(doc as GroupDocument, principal);
    case 'user':
      return userView(doc as UserDocument, principal);
  }
}

function listArchiveEntries(context: HostContext, resource: Resource, principal: Principal): AsyncGenerator<ZipEntry> {
  if (resource.type === 'item') return listItemEntries(context, resource.doc);
  if (resource.type === 'folder') return listFolderEntries(context, resource.doc, principal);
  return listSubfolderEntries(context, resource.doc._id, principal, { prefix: '' });
}

/** Maximum number of paths in one request. Each path needs several queries. */
const maxPaths = 1000;

async function findReadablePath(
  context: HostContext,
  type: TreeType,
  documentId: string,
  principal: Principal,
): Promise<string | null> {
  try {
    return await createPath(context, await loadResource(context, type, documentId, principal, 0), principal);
  } catch (error) {
    if (error instanceof UnknownIdError || error instanceof AccessDeniedError) return null;
    throw error;
  }
}

const searchRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/resource/lookup',
    summary: 'Find the document at a path such as /collection/Name/Folder/Item.',
    access: 'public',
    scope: scopes.read,
    query: { path: required(text()), test: boolean({ description: 'Whether to answer null if there is nothing.' }) },
    returns: { schema: orNull(resourceSchema) },
    errors: ['invalid'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      try {
        return resourceView(await findByPath(context, query.path, principal), principal);
      } catch (error) {
        if (query.test && error instanceof InvalidError) return null;
        throw error;
      }
    },
  }),
  defineRoute({
    method: 'get',
    path: '/resource/:id/path',
    summary: 'Get the path of a document.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    query: { type: required(oneOf(treeTypes)) },
    returns: { schema: { type: 'string' } },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return createPath(context, await loadResource(context, query.type, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/resource/paths',
    summary:
      'Get the paths of several documents, except those that do not exist, that you cannot read, or that have no path (groups).',
    access: 'public',
    scope: scopes.read,
    body: 'json-object',
    bodyName: 'resources',
    accepts: mapOf(listOf(idText)),
    returns: { schema: mapOf(mapOf(anyText)) },
    errors: ['bad-parameter', 'invalid'],
    // Before the body is read, only the caller is known. Access to each document is checked afterwards.
    authorize: ({ caller }, context) => loadPrincipal(context, caller),
    async handle({ body, authorized: principal }, context) {
      // Web clients request the paths of everything that a search has found. Groups have no path.
      const { group, ...idsByType } = body;
      const resources = group !== undefined && Object.keys(idsByType).length === 0 ? [] : parseResources(idsByType, treeTypes);
      if (resources.length > maxPaths) throw new BadParameterError(`At most ${maxPaths} paths can be requested at once.`);
      const paths: Record<string, Record<string, string>> = group === undefined ? {} : { group: {} };
      for (const [type, documentId] of resources) {
        const pathsOfType = (paths[type] ??= {});
        const path = await findReadablePath(context, type, documentId, principal);
        if (path !== null) pathsOfType[documentId] = path;
      }
      return paths;
    },
  }),
  defineRoute({
    method: 'get',
    path: '/resource/search',
    summary: 'Search by words, or by the start of names.',
    access: 'public',
    scope: scopes.read,
    query: {
      q: required(text()),
      mode: withDefault(text({ description: 'text, prefix, li_metadata or li_annotation_metadata.' }), 'text'),
      types: required(json({ kind: 'array', description: `List of ${searchedTypes.join(', ')}.` })),
      level: withDefault(integer({ minimum: 0, maximum: 2 }), 0),
      limit: withDefault(integer({ minimum: 0 }), 10),
      offset: withDefault(integer({ minimum: 0 }), 0),
    },
    returns: { schema: { anyOf: [searchResultSchema, listOf(nothing)] } },
    errors: ['bad-parameter'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { q, mode, limit, offset, types } = query;
      const level = query.level as GrantedLevel;
      if (mode === 'li_metadata' || mode === 'li_annotation_metadata') {
        const { metadataSearch, annotationMetadataSearch } = context.plugin;
        const request = { query: q, types, level, limit, offset };
        const searchMode = mode === 'li_metadata' ? metadataSearch : annotationMetadataSearch;
        const results = await searchMode.search(request, caller);
        if (Array.isArray(results)) return results;
        const views = Object.entries(results).map(([type, documents]) => {
          return [type, documents.map((doc) => createSearchView(type as SearchedType, doc, principal))];
        });
        return Object.fromEntries(views) as Record<string, unknown>;
      }
      if (mode !== 'text' && mode !== 'prefix') throw new BadParameterError(`Search mode handler '${mode}' not found.`);
      const results: Record<string, unknown> = {};
      for (const type of new Set(query.types)) {
        const searchedType = searchedTypes.find((name) => name === type);
        if (searchedType === undefined) {
          throw new BadParameterError(`Invalid value for types: "${String(type)}". Allowed values: ${searchedTypes.join(', ')}.`);
        }
        const documents = await searchDocuments(context, searchedType, principal, { query: q, mode, level, limit, offset });
        results[searchedType] = await createViews(documents, (doc) => createSearchView(searchedType, doc, principal));
      }
      return results;
    },
  }),
  defineRoute({
    method: 'get',
    path: '/resource/:id',
    summary: 'Get a document of any type in the tree.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    query: { type: required(oneOf(treeTypes)) },
    returns: { schema: resourceSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return resourceView(await loadResource(context, query.type, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'put',
    path: '/resource/:id/timestamp',
    summary: 'Set the dates of a document.',
    access: 'admin',
    params: byId,
    query: { type: required(oneOf(treeTypes)), created: date(), updated: date() },
    returns: { schema: resourceSchema },
    errors: ['unknown-id', 'bad-parameter'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const resource = await loadResource(context, query.type, params.id, principal, 2);
      const { created, updated } = query;
      const dates = { ...(created && { created }), ...(updated && resource.type !== 'user' && { updated }) };
      const { _id } = resource.doc;
      const { models } = context;
      if (resource.type === 'item') await models.item.updateOne({ _id }, { $set: dates });
      else if (resource.type === 'folder') await models.folder.updateOne({ _id }, { $set: dates });
      else if (resource.type === 'collection') await models.collection.updateOne({ _id }, { $set: dates });
      else await models.user.updateOne({ _id }, { $set: dates });
      const changedResource = await loadResource(context, query.type, params.id, principal, 0);
      if (changedResource.type === 'item') await context.events.emit('item.saved', { item: { ...changedResource.doc } });
      return resourceView(changedResource, principal);
    },
  }),
];

const targetParameters = { parentType: required(folderParentType), parentId: required(id()) };

function requireFolder(parent: FolderParent): FolderDocument {
  if (parent.type === 'folder') return parent.doc;
  throw new InvalidError(`Items must be in a folder, not in a ${parent.type}.`, 'parentType');
}

const changeRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'delete',
    path: '/resource',
    summary: 'Remove several documents.',
    access: 'user',
    scope: scopes.own,
    query: { resources: resourcesParameter, progress: progressParameter },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const resources = await loadResources(context, parseResources(query.resources, treeTypes), principal, 2);
      await removeResources(context, resources);
      return null;
    },
  }),
  defineRoute({
    method: 'put',
    path: '/resource/move',
    summary: 'Move several items and folders.',
    access: 'user',
    scope: scopes.write,
    query: { resources: resourcesParameter, ...targetParameters, progress: progressParameter },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const parent = await loadParent(context, query.parentType, query.parentId, principal, 1);
      const resources = await loadResources(
        context,
        parseResources(query.resources, ['item', 'folder'], { limit: maxResources }),
        principal,
        2,
      );
      for (const resource of resources) {
        if (resource.type === 'item') await updateItem(context, resource.doc, { folder: requireFolder(parent) });
        else if (resource.type === 'folder' && !resource.doc.parentId.equals(parent.doc._id)) {
          await moveFolder(context, resource.doc, parent);
        }
      }
      return null;
    },
  }),
  defineRoute({
    method: 'put',
    path: '/resource/tags',
    summary: 'Add tags to several items and folders, and remove others.',
    description: 'Tags are the list `tags` of the metadata of a document.',
    access: 'user',
    scope: scopes.write,
    query: {
      resources: resourcesParameter,
      add: json({ kind: 'array', description: 'Tags to add.' }),
      remove: json({ kind: 'array', description: 'Tags to remove.' }),
    },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const add = parseTags(query.add ?? [], 'add');
      const remove = parseTags(query.remove ?? [], 'remove').filter((tag) => !add.includes(tag));
      const references = parseResources(query.resources, ['item', 'folder'], { limit: maxResources });
      const resources = await loadResources(context, references, await loadPrincipal(context, caller), 1);
      for (const resource of resources) await changeTags(context, resource as FolderOrItem, add, remove);
      return null;
    },
  }),
  defineRoute({
    method: 'post',
    path: '/resource/copy',
    summary: 'Copy several items and folders.',
    access: 'user',
    scope: scopes.write,
    query: { resources: resourcesParameter, ...targetParameters, progress: progressParameter, copyAnnotations },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const options = { creatorId: principal.id, copyAnnotations: query.copyAnnotations };
      const parent = await loadParent(context, query.parentType, query.parentId, principal, 1);
      const resources = await loadResources(
        context,
        parseResources(query.resources, ['item', 'folder'], { limit: maxResources }),
        principal,
        0,
      );
      const isReadable = (folder: FolderDocument) => levelOn(folder, principal) >= 0;
      const copyEach = async () => {
        for (const resource of resources) {
          if (resource.type === 'item') await copyItem(context, resource.doc, requireFolder(parent), options);
          else if (resource.type === 'folder') await copyFolder(context, resource.doc, parent, { ...options, isReadable });
        }
        return null;
      };
      return answerInTime(copyEach(), {
        interimAnswer: () => null,
        onLateError: (err) => context.logger.warn({ err }, 'Copy:Failed'),
      });
    },
  }),
  ...(['get', 'post'] as const).map((method) =>
    defineRoute({
      method,
      path: '/resource/download',
      summary: 'Download several documents as an archive.',
      access: 'public',
      scope: scopes.read,
      cookie: true,
      query: { resources: resourcesParameter },
      returns: { types: ['application/zip'] },
      errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
      async handle({ query, caller }, context) {
        const principal = await loadPrincipal(context, caller);
        const resources = await loadResources(context, parseResources(query.resources, treeTypes), principal, 0);
        async function* listEntries() {
          for (const resource of resources) yield* listArchiveEntries(context, resource, principal);
        }
        return replyWithZip(context, caller, 'Resources', listEntries());
      },
    }),
  ),
];

/** Routes for paths, for search, and for changes of several documents at once. */
export const resourceRoutes: RouteDefinition<HostContext>[] = [...searchRoutes, ...changeRoutes];
