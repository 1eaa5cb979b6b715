import { collectionSchema } from '../http/schemas.js';
import {
  boolean,
  paging,
  required,
  text,
  withDefault,
  type RouteDefinition,
  listOf,
  objectOf,
  anyInteger,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { CollectionDocument } from './collection.model.js';
import { createAccessFilter, loadPrincipal } from '../access/access.js';
import {
  createCollection,
  loadCollection,
  removeCollection,
  requireMayCreateCollections,
  setCollectionAccess,
  setCollectionMetadata,
  updateCollection,
} from './collections.js';
import { createFindFilter, findTextParameter } from './finding/find-filter.js';
import { replyWithPage } from './lists.js';
import { createWordsFilter } from '../resources/resources.js';
import { listSubfolderEntries, replyWithZip } from '../files/zip.js';
import {
  createAccessRoutes,
  createReadAuthorizer,
  downloadRoute,
  createMetadataRoutes,
  createReadRoutes,
  createRemovalRoutes,
  type DocumentKind,
} from './document.routes.js';
import { byId, scopes, searchText } from '../http/parameters.js';
import { collectionView } from '../views.js';

const kind: DocumentKind<CollectionDocument> = {
  type: 'collection',
  load: loadCollection,
  view: collectionView,
  schema: collectionSchema,
};
const authorizeReading = createReadAuthorizer(kind);

/** Routes for collections. */
export const collectionRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/collection',
    summary: 'List or search collections.',
    access: 'public',
    scope: scopes.read,
    query: { text: searchText, find: findTextParameter, ...paging('name') },
    returns: { schema: listOf(collectionSchema) },
    errors: ['bad-parameter'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const filter = { ...createAccessFilter(principal, 0), ...createWordsFilter(query.text), ...createFindFilter(query.find) };
      return replyWithPage(context.models.collection, filter, query, (collection) => collectionView(collection, principal));
    },
  }),
  defineRoute({
    method: 'post',
    path: '/collection',
    summary: 'Create a collection.',
    access: 'user',
    scope: scopes.write,
    query: { name: required(text()), description: text(), public: withDefault(boolean(), false) },
    returns: { schema: collectionSchema },
    errors: ['invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      await requireMayCreateCollections(context, principal);
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
    path: '/collection/:id/details',
    summary: 'Count the readable folders of a collection.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: objectOf({ nFolders: anyInteger }) },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { _id: parentId } = await loadCollection(context, params.id, principal, 0);
      return { nFolders: await context.models.folder.countDocuments({ parentId, ...createAccessFilter(principal, 0) }) };
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
    returns: { schema: collectionSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const collection = await loadCollection(context, params.id, principal, 1);
      return collectionView(await updateCollection(context, collection, query), principal);
    },
  }),
  defineRoute({
    ...downloadRoute,
    path: '/collection/:id/download',
    summary: 'Download a collection as an archive.',
    returns: { types: ['application/zip'] },
    authorize: authorizeReading,
    handle: ({ authorized: { document, principal }, caller }, context) =>
      replyWithZip(context, caller, document.name, listSubfolderEntries(context, document._id, principal, { prefix: '' })),
  }),
  ...createReadRoutes(kind),
  ...createRemovalRoutes(kind, { level: 2, remove: removeCollection, nameOf: ({ name }) => name }),
  ...createAccessRoutes(kind, setCollectionAccess),
  ...createMetadataRoutes(kind, setCollectionMetadata),
];
