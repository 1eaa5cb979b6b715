import { AccessDeniedError } from '../../index.js';
import {
  accessSchema,
  BadParameterError,
  boolean,
  id,
  integer,
  InvalidError,
  listOf,
  objectOf,
  anyText,
  idText,
  paging,
  readInSlices,
  required,
  withDefault,
  type RouteDefinition,
} from '../../larger-host.js';
import { Types } from 'mongoose';
import { defineRoute, type HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import { describeAccessList, levelOn, loadPrincipal, type Principal } from '../access/access.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { byId } from '../http/parameters.js';
import { groupSchema, userSchema } from '../http/schemas.js';
import { requireSignedIn } from '../http/signed-in.js';
import { replyWithPage } from '../tree/lists.js';
import { groupView, userView } from '../views.js';
import type { GroupDocument } from './group.model.js';
import { inviteToGroup, joinGroup, loadGroup, mayAddWithoutInvitation, removeFromGroup, setMemberLevel } from './groups.js';

function checkLevel(level: number): GrantedLevel {
  if (level === 0 || level === 1 || level === 2) return level;
  throw new BadParameterError(`Invalid value for level: "${level}". Allowed values: 0, 1, 2.`);
}

/** A group with the levels of its members and the membership requests. */
const returnsRoles = {
  schema: {
    ...groupSchema,
    ...objectOf({ access: accessSchema, requests: listOf(objectOf({ id: idText, login: anyText, name: anyText })) }),
    additionalProperties: true,
  },
};

/** Loads a group with levels and requests. Moderators see all requests to join; other callers see only their own request. */
async function loadGroupWithRoles(context: HostContext, { _id }: GroupDocument, principal: Principal) {
  const { models } = context;
  const group = await models.group.findById(_id).lean<GroupDocument>();
  if (group === null) throw new InvalidError(`No such group: ${_id.toHexString()}`, 'id');
  const isModerator = levelOn(group, principal) >= 1;
  const visibleRequests = group.requests.filter((userId) => isModerator || principal.id?.equals(userId) === true);
  const users = await readInSlices<UserDocument>(
    models.user.find({ _id: { $in: visibleRequests } }, { login: 1, firstName: 1, lastName: 1 }).lean(),
  );
  return {
    ...groupView(group, principal),
    access: await describeAccessList(context, group),
    requests: users.map((user) => ({ id: user._id, login: user.login, name: `${user.firstName} ${user.lastName}` })),
    _addToGroupPolicy: await context.setting('core.add_to_group_policy'),
  };
}

/** A route that lists the users who have the group's id in a field. */
function defineUserListRoute(name: 'member' | 'invitation', summary: string, field: string) {
  return defineRoute({
    method: 'get',
    path: `/group/:id/${name}`,
    summary,
    access: 'public',
    params: byId,
    query: paging('lastName'),
    returns: { schema: listOf(userSchema) },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const group = await loadGroup(context, params.id, principal, 0);
      const sortable = ['lastName', 'firstName', 'login', 'created', '_id'];
      return replyWithPage(context.models.user, { [field]: group._id }, { ...query, sortable }, (user) =>
        userView(user, principal),
      );
    },
  });
}

/** A route that makes a member moderator or administrator (POST), or an ordinary member again (DELETE). */
function defineRoleRoute(method: 'post' | 'delete', role: 'moderator' | 'admin') {
  const roleName = role === 'admin' ? 'administrator' : 'moderator';
  return defineRoute({
    method,
    path: `/group/:id/${role}`,
    summary: method === 'post' ? `Make a member ${roleName} of a group.` : `Make the ${roleName} of a group an ordinary member.`,
    access: 'user',
    params: byId,
    query: { userId: required(id()) },
    returns: returnsRoles,
    errors: ['unknown-id', 'invalid', 'access-denied', 'conflict'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const group = await loadGroup(context, params.id, principal, 2);
      const level = method === 'delete' ? 0 : role === 'admin' ? 2 : 1;
      await setMemberLevel(context, group, new Types.ObjectId(query.userId), { level, principal });
      return loadGroupWithRoles(context, group, await loadPrincipal(context, caller));
    },
  });
}

/** Routes for members of groups: listing, inviting, joining, leaving, and their levels. */
export const membershipRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/group/:id/access',
    summary: 'Get a group with the levels of its members, and the membership requests.',
    access: 'public',
    params: byId,
    returns: returnsRoles,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return loadGroupWithRoles(context, await loadGroup(context, params.id, principal, 0), principal);
    },
  }),
  defineUserListRoute('member', 'List the members of a group.', 'groups'),
  defineUserListRoute('invitation', 'List the users who are invited to a group.', 'groupInvites.groupId'),
  ...(['moderator', 'admin'] as const).flatMap((role) => [defineRoleRoute('post', role), defineRoleRoute('delete', role)]),
  defineRoute({
    method: 'post',
    path: '/group/:id/invitation',
    summary: 'Invite a user to a group.',
    access: 'user',
    params: byId,
    query: {
      userId: required(id()),
      level: withDefault(integer({ description: '0 member, 1 moderator, 2 administrator.' }), 0),
      quiet: withDefault(boolean({ description: 'Accepted for existing clients, but ignored: no messages are sent.' }), false),
      force: withDefault(boolean({ description: 'Make the user a member without an invitation.' }), false),
    },
    returns: returnsRoles,
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const level = checkLevel(query.level);
      // Moderators can invite members. Only administrators can invite moderators and administrators.
      const group = await loadGroup(context, params.id, principal, level === 0 ? 1 : 2);
      const user = await context.models.user.findById(query.userId).lean<UserDocument>();
      if (user === null) throw new InvalidError(`No such user: ${query.userId}`, 'id');
      if (query.force && !(await mayAddWithoutInvitation(context, group, principal))) {
        throw new AccessDeniedError('You are not authorized to add members to this group without inviting them.');
      }
      await inviteToGroup(context, group, user, { level, force: query.force });
      return loadGroupWithRoles(context, group, principal);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/group/:id/member',
    summary: 'Accept an invitation to a group, or ask to join it.',
    access: 'user',
    params: byId,
    returns: returnsRoles,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const group = await loadGroup(context, params.id, principal, 0);
      await joinGroup(context, group, principal.id);
      return loadGroupWithRoles(context, group, await loadPrincipal(context, caller));
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/group/:id/member',
    summary: 'Leave a group, remove a member, or withdraw an invitation or a request to join.',
    access: 'user',
    params: byId,
    query: { userId: id({ description: 'The user to remove; by default yourself.' }) },
    returns: returnsRoles,
    errors: ['unknown-id', 'access-denied', 'invalid'],
    async handle({ params, query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const userId = query.userId === undefined ? principal.id : new Types.ObjectId(query.userId);
      const group = await loadGroup(context, params.id, principal, userId.equals(principal.id) ? 0 : 1);
      await removeFromGroup(context, group, userId, principal);
      return loadGroupWithRoles(context, group, await loadPrincipal(context, caller));
    },
  }),
];
