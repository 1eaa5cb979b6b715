import {
  checkFilter,
  runClientQuery,
  itemSchema,
  json,
  listOf,
  paging,
  required,
  type RouteDefinition,
} from '../../larger-host.js';
import { createAccessFilter, createItemAccessFilter, loadPrincipal } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { fileSchema, folderSchema } from '../http/schemas.js';
import { scopes } from '../http/parameters.js';
import { replyWithList, replyWithPage, requireVisibleField, createViews } from '../tree/lists.js';
import { listShownFiles } from '../trash/shown-files.js';
import { fileView, folderView, itemView } from '../views.js';

const conditionParameters = {
  query: required(
    json({
      kind: 'object',
      description: 'Condition on fields, in the query language of MongoDB, with operators that only compare.',
    }),
  ),
  ...paging('_id'),
};

const sharedMembers = { method: 'get', scope: scopes.read, query: conditionParameters, errors: ['bad-parameter'] } as const;

/** Returns a condition if clients may send it. @throws BadParameterError if they may not. */
function requireSafeFilter(filter: Record<string, unknown>): Record<string, unknown> {
  checkFilter(filter);
  requireOnlyVisibleFields(filter);
  return filter;
}

/** @throws BadParameterError for a field that entries of lists do not have */
function requireOnlyVisibleFields(condition: unknown): void {
  if (typeof condition !== 'object' || condition === null) return;
  for (const [field, member] of Object.entries(condition)) {
    if (!Array.isArray(condition)) requireVisibleField(field, 'query');
    requireOnlyVisibleFields(member);
  }
}

/** Routes that find documents by conditions on their fields. */
export const queryRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    ...sharedMembers,
    path: '/item/query',
    summary: 'List items that match a condition.',
    access: 'public',
    returns: { schema: listOf(itemSchema) },
    async handle({ query, caller }, context) {
      const accessFilter = await createItemAccessFilter(context, await loadPrincipal(context, caller), 0);
      const filter = { $and: [accessFilter, requireSafeFilter(query.query)] };
      return runClientQuery(() => replyWithPage(context.models.item, filter, query, itemView));
    },
  }),
  defineRoute({
    ...sharedMembers,
    path: '/folder/query',
    summary: 'List folders that match a condition.',
    access: 'public',
    returns: { schema: listOf(folderSchema) },
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const filter = { $and: [createAccessFilter(principal, 0), requireSafeFilter(query.query)] };
      return runClientQuery(() => replyWithPage(context.models.folder, filter, query, (folder) => folderView(folder, principal)));
    },
  }),
  defineRoute({
    ...sharedMembers,
    path: '/file/query',
    summary: 'List files that match a condition.',
    access: 'admin',
    returns: { schema: listOf(fileSchema) },
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return runClientQuery(async () => {
        const { files, total } = await listShownFiles(context, requireSafeFilter(query.query), query);
        return replyWithList(await createViews(files, (file) => fileView(file, principal, context.storeId)), total);
      });
    },
  }),
];
