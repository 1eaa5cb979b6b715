import { boolean, paging, required, text, withDefault, type RouteDefinition } from '../../index.js';
import { defineRoute, type HostContext } from '../context.js';
import { accessFilter, describeAccessList, principalOf } from '../services/access.js';
import {
  createCollection,
  loadCollection,
  removeCollection,
  requireCollectionCreator,
  setCollectionAccess,
  setCollectionMetadata,
  updateCollection,
} from '../services/collections.js';
import { listReply, readPage } from '../services/lists.js';
import { metadataRemoval, metadataUpdate } from '../services/metadata.js';
import { wordsFilter } from '../services/resources.js';
import { foldersIn, zipReply } from '../services/zip.js';
import { accessChange, accessQuery, withAccess } from './access.js';
import { byId, returnsList, returnsMessage, returnsObject, scopes, searchText } from './parameters.js';
import { collectionView } from './views.js';

/** Collections. */
export const collectionRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/collection',
    summary: 'List or search collections.',
    access: 'public',
    scope: scopes.read,
    query: { text: searchText, ...paging('name') },
    returns: returnsList,
    async handle({ query, caller }, context) {
      const principal = await principalOf(context, caller);
      const filter = { ...accessFilter(principal, 0), ...wordsFilter(query.text) };
      const { documents, total } = await readPage(context.models.collection, filter, query);
      return listReply(
        documents.map((collection) => collectionView(collection, principal)),
        total,
      );
    },
  }),
  defineRoute({
    method: 'post',
    path: '/collection',
    summary: 'Make a collection.',
    access: 'user',
    scope: scopes.write,
    query: { name: required(text()), description: text(), public: withDefault(boolean(), false) },
    returns: returnsObject,
    errors: ['invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await principalOf(context, caller);
      await requireCollectionCreator(context, principal);
      const collection = await createCollection(context, {
        name: query.name,
        description: query.description?.trim() ?? null,
        isPublic: query.public,
        creatorId: principal.id,
      });
      return collectionView(collection, principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/collection/:id',
    summary: 'A collection.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: returnsObject,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await principalOf(context, caller);
      return collectionView(await loadCollection(context, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/collection/:id/details',
    summary: 'How many readable folders a collection has.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: returnsObject,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await principalOf(context, caller);
      const { _id: parentId } = await loadCollection(context, params.id, principal, 0);
      return { nFolders: await context.models.folder.countDocuments({ parentId, ...accessFilter(principal, 0) }) };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/collection/:id',
    summary: 'Change a collection.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { name: text(), description: text() },
    returns: returnsObject,
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await principalOf(context, caller);
      const collection = await loadCollection(context, params.id, principal, 1);
      return collectionView(await updateCollection(context, collection, query), principal);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/collection/:id',
    summary: 'Remove a collection with everything in it.',
    access: 'user',
    scope: scopes.own,
    params: byId,
    returns: returnsMessage,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const collection = await loadCollection(context, params.id, await principalOf(context, caller), 2);
      await removeCollection(context, collection);
      return { message: `Deleted collection ${collection.name}.` };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/collection/:id/access',
    summary: 'The permissions of a collection.',
    access: 'user',
    scope: scopes.own,
    params: byId,
    returns: returnsObject,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      return describeAccessList(context, await loadCollection(context, params.id, await principalOf(context, caller), 2));
    },
  }),
  defineRoute({
    method: 'put',
    path: '/collection/:id/access',
    summary: 'Replace the permissions of a collection.',
    access: 'user',
    scope: scopes.own,
    params: byId,
    query: accessQuery,
    returns: returnsObject,
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await principalOf(context, caller);
      const collection = await loadCollection(context, params.id, principal, 2);
      const updated = await setCollectionAccess(context, collection, accessChange(query), query.recurse ? principal : null);
      return withAccess(context, collectionView(updated, principal), updated);
    },
  }),
  defineRoute({
    method: 'put',
    path: '/collection/:id/metadata',
    summary: 'Merge metadata into that of a collection.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { allowNull: withDefault(boolean({ description: 'Whether null is a value; else it removes the key.' }), false) },
    body: 'json-object',
    bodyName: 'metadata',
    maxBodyBytes: 8 * 1024 * 1024,
    returns: returnsObject,
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, body, caller }, context) {
      const principal = await principalOf(context, caller);
      const collection = await loadCollection(context, params.id, principal, 1);
      return collectionView(await setCollectionMetadata(context, collection, metadataUpdate(body, query.allowNull)), principal);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/collection/:id/metadata',
    summary: 'Remove keys from the metadata of a collection.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    body: 'json-array',
    bodyName: 'fields',
    returns: returnsObject,
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, body, caller }, context) {
      const principal = await principalOf(context, caller);
      const collection = await loadCollection(context, params.id, principal, 1);
      return collectionView(await setCollectionMetadata(context, collection, metadataRemoval(body)), principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/collection/:id/download',
    summary: 'Download a collection as an archive.',
    access: 'public',
    scope: scopes.read,
    cookie: true,
    params: byId,
    returns: { types: ['application/zip'] },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await principalOf(context, caller);
      const collection = await loadCollection(context, params.id, principal, 0);
      return zipReply(context, collection.name, foldersIn(context, collection._id, principal, { prefix: '' }));
    },
  }),
];
