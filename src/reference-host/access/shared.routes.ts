import { integer, listOf, withDefault, type RouteDefinition } from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import { scopes } from '../http/parameters.js';
import { collectionSchema, folderSchema } from '../http/schemas.js';
import { replyWithList, createViews } from '../tree/lists.js';
import { collectionView, folderView } from '../views.js';
import { loadPrincipal } from './access.js';
import { loadSharedDocuments, listSharedWith } from './shared-with.js';

/** The route that lists what others have shared with the caller. */
export const sharedRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/resource/shared',
    summary: 'List the collections and folders that others have shared with you, or with a group of yours.',
    description:
      'Collections come first; both are sorted by name. Folders inside a listed one, documents that you created, and documents that you can see only because they are public are left out.',
    access: 'user',
    scope: scopes.read,
    query: {
      limit: withDefault(integer({ minimum: 0, description: 'Maximum number of entries; 0 for all.' }), 50),
      offset: withDefault(integer({ minimum: 0, description: 'Number of entries to skip.' }), 0),
    },
    returns: { schema: listOf({ oneOf: [collectionSchema, folderSchema] }) },
    errors: ['bad-parameter'],
    async handle({ query: { limit, offset }, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const entries = await listSharedWith(context, principal);
      const pageEntries = entries.slice(offset, limit === 0 ? undefined : offset + limit);
      const documents = await loadSharedDocuments(context, pageEntries);
      const views = await createViews(documents, (entry) =>
        entry.type === 'collection' ? collectionView(entry.doc, principal) : folderView(entry.doc, principal),
      );
      return replyWithList(views, entries.length);
    },
  }),
];
