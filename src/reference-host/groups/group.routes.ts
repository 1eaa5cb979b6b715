import { groupSchema, userSchema } from '../http/schemas.js';
import {
  AccessDeniedError,
  BadParameterError,
  boolean,
  id,
  integer,
  InvalidError,
  paging,
  required,
  text,
  withDefault,
  type RouteDefinition,
  listOf,
} from '../../index.js';
import { Types } from 'mongoose';
import { defineRoute, type HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { accessFilter, principalOf } from '../access/access.js';
import { createGroup, inviteToGroup, joinGroup, leaveGroup, loadGroup, mayForce, removeGroup, updateGroup } from './groups.js';
import { listReply, readPage } from '../tree/lists.js';
import { wordsFilter } from '../resources/resources.js';
import { byId, returnsMessage, searchText } from '../http/parameters.js';
import { signedIn } from '../http/signed-in.js';
import { groupView, userView } from '../views.js';

function levelOf(level: number): GrantedLevel {
  if (level === 0 || level === 1 || level === 2) return level;
  throw new BadParameterError(`Invalid value for level: "${level}". Allowed values: 0, 1, 2.`);
}

/** Groups and who belongs to them. */
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
      const principal = await principalOf(context, caller);
      const isExact = query.exact && query.text !== undefined;
      const filter = {
        ...accessFilter(principal, 0),
        ...(isExact ? { lowerName: query.text!.trim().toLowerCase() } : wordsFilter(query.text)),
      };
      const { documents, total } = await readPage(context.models.group, filter, query);
      return listReply(
        documents.map((group) => groupView(group, principal)),
        total,
      );
    },
  }),
  defineRoute({
    method: 'post',
    path: '/group',
    summary: 'Make a group, which you then belong to and administer.',
    access: 'user',
    query: { name: required(text()), description: withDefault(text(), ''), public: withDefault(boolean(), false) },
    returns: { schema: groupSchema },
    errors: ['invalid'],
    async handle({ query, caller }, context) {
      const principal = await signedIn(context, caller);
      const { name, description } = query;
      const group = await createGroup(context, { name, description, isPublic: query.public, creatorId: principal.id });
      return groupView(group, principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/group/:id',
    summary: 'A group.',
    access: 'public',
    params: byId,
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await principalOf(context, caller);
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
      const principal = await principalOf(context, caller);
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
      const group = await loadGroup(context, params.id, await principalOf(context, caller), 2);
      await removeGroup(context, group);
      return { message: `Deleted the group ${group.name}.` };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/group/:id/member',
    summary: 'Who belongs to a group.',
    access: 'public',
    params: byId,
    query: paging('lastName'),
    returns: { schema: listOf(userSchema) },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await principalOf(context, caller);
      const group = await loadGroup(context, params.id, principal, 0);
      const sortable = ['lastName', 'firstName', 'login', 'created', '_id'];
      const { documents, total } = await readPage(context.models.user, { groups: group._id }, query, sortable);
      return listReply(
        documents.map((user) => userView(user, principal)),
        total,
      );
    },
  }),
  defineRoute({
    method: 'post',
    path: '/group/:id/invitation',
    summary: 'Invite a user to a group.',
    access: 'user',
    params: byId,
    query: {
      userId: required(id()),
      level: withDefault(integer({ description: '0 member, 1 moderator, 2 administrator.' }), 0),
      quiet: withDefault(boolean({ description: 'Accepted for the sake of existing clients: no messages are sent.' }), false),
      force: withDefault(boolean({ description: 'Whether the user becomes a member without being asked.' }), false),
    },
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await principalOf(context, caller);
      const level = levelOf(query.level);
      // Nobody makes somebody else more than they are themselves.
      const group = await loadGroup(context, params.id, principal, level === 0 ? 1 : 2);
      const user = await context.models.user.findById(query.userId).lean<UserDocument>();
      if (user === null) throw new InvalidError(`No such user: ${query.userId}`, 'id');
      if (query.force && !(await mayForce(context, group, principal))) {
        throw new AccessDeniedError('You are not authorized to add members to this group without inviting them.');
      }
      await inviteToGroup(context, group, user, { level, force: query.force });
      return groupView(await loadGroup(context, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/group/:id/member',
    summary: 'Accept an invitation to a group.',
    access: 'user',
    params: byId,
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await signedIn(context, caller);
      const group = await loadGroup(context, params.id, principal, 0);
      await joinGroup(context, group, principal.id);
      const joined = await principalOf(context, caller);
      return groupView(await loadGroup(context, params.id, joined, 0), joined);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/group/:id/member',
    summary: 'Leave a group, or take somebody out of it.',
    access: 'user',
    params: byId,
    query: { userId: id({ description: 'Whom to take out; by default yourself.' }) },
    returns: { schema: groupSchema },
    errors: ['unknown-id', 'access-denied', 'invalid'],
    async handle({ params, query, caller }, context) {
      const principal = await signedIn(context, caller);
      const userId = query.userId === undefined ? principal.id : new Types.ObjectId(query.userId);
      const group = await loadGroup(context, params.id, principal, userId.equals(principal.id) ? 0 : 1);
      await leaveGroup(context, group, userId, principal);
      const updated = await context.models.group.findById(group._id).lean<typeof group>();
      return groupView(updated ?? group, await principalOf(context, caller));
    },
  }),
];
