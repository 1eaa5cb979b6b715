import { groupSchema } from '../http/schemas.js';
import { boolean, paging, required, text, withDefault, type RouteDefinition, listOf } from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import { createAccessFilter, loadPrincipal } from '../access/access.js';
import { createGroup, loadGroup, removeGroup, updateGroup } from './groups.js';
import { replyWithPage } from '../tree/lists.js';
import { createWordsFilter } from '../resources/resources.js';
import { byId, returnsMessage, searchText } from '../http/parameters.js';
import { requireSignedIn } from '../http/signed-in.js';
import { groupView } from '../views.js';

/** Routes for groups and their members. */
export const groupRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/group',
    summary: 'List or search groups.',
    access: 'public',
    query: {
      text: searchText,
      exact: withDefault(boolean({ description: 'Whether text is the whole name.' }), false),
      ...paging('name'),
    },
    returns: { schema: listOf(groupSchema) },
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const isExact = query.exact && query.text !== undefined;
      const filter = {
        ...createAccessFilter(principal, 0),
        ...(isExact ? { lowerName: query.text!.trim().toLowerCase() } : createWordsFilter(query.text)),
      };
      return replyWithPage(context.models.group, filter, query, (group) => groupView(group, principal));
    },
  }),
  defineRoute({
    method: 'post',
    path: '/group',
    summary: 'Create a group, whose first member and administrator you become.',
    access: 'user',
    query: { name: required(text()), description: withDefault(text(), ''), public: withDefault(boolean(), false) },
    returns: { schema: groupSchema },
    errors: ['invalid'],
    async handle({ query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const { name, description } = query;
      const group = await createGroup(context, { name, description, isPublic: query.public, creatorId: principal.id });
      return groupView(group, principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/group/:id',
    summary: 'Get a group.',
    access: 'public',
    params: byId,
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return groupView(await loadGroup(context, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'put',
    path: '/group/:id',
    summary: 'Change a group.',
    access: 'user',
    params: byId,
    query: { name: text(), description: text(), public: boolean() },
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const group = await loadGroup(context, params.id, principal, 1);
      return groupView(await updateGroup(context, group, query), principal);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/group/:id',
    summary: 'Remove a group.',
    access: 'user',
    params: byId,
    returns: returnsMessage,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const group = await loadGroup(context, params.id, await loadPrincipal(context, caller), 2);
      await removeGroup(context, group);
      return { message: `Deleted the group ${group.name}.` };
    },
  }),
];
