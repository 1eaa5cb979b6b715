import { Types } from 'mongoose';
import { AccessDeniedError, LargeImageError } from '../../index.js';
import { InvalidError, UnknownIdError, searchWords } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { GroupDocument } from './group.model.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { checkName } from '../tree/names/checked-name.js';
import { levelOn, requireLevel, withUserLevel, type Principal } from '../access/access.js';
import { isDuplicateKey } from '../duplicate-key.js';
import { removeWithBelongings } from '../upkeep/removal.js';
import { withTrashed } from '../trash/trash-mark.js';

/** Maximum number of pending membership requests of a group. */
const maxRequests = 10_000;

/** Loads a group if the caller has this level on it. */
export async function loadGroup(
  { models }: HostContext,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<GroupDocument> {
  const group = await models.group.findById(id).lean<GroupDocument>();
  if (group === null) throw new UnknownIdError('group', id);
  requireLevel('group', group, principal, level);
  return group;
}

/** Converts the database's error for a duplicate key to an error about the name. Other errors are returned unchanged. */
function toDuplicateNameError(error: unknown): unknown {
  return isDuplicateKey(error) ? new InvalidError('A group with that name already exists.', 'name') : error;
}

/** Creates a group. Its creator becomes a member and administrator. */
export async function createGroup(
  context: HostContext,
  { name, description, isPublic, creatorId }: { name: string; description: string; isPublic: boolean; creatorId: Types.ObjectId },
): Promise<GroupDocument> {
  const checkedName = checkName('Group', name);
  const now = new Date();
  const group: GroupDocument = {
    _id: new Types.ObjectId(),
    name: checkedName,
    lowerName: checkedName.toLowerCase(),
    description: description.trim(),
    requests: [],
    created: now,
    updated: now,
    words: searchWords(checkedName, description),
    access: withUserLevel({ users: [], groups: [] }, creatorId, 2),
    public: isPublic,
  };
  // Membership is recorded before the group, because membership in a missing group has no effect.
  await context.models.user.updateOne({ _id: creatorId }, { $addToSet: { groups: group._id } });
  try {
    await context.models.group.create(group);
  } catch (error) {
    await context.models.user.updateOne({ _id: creatorId }, { $pull: { groups: group._id } });
    throw toDuplicateNameError(error);
  }
  await context.events.emit('access.changed', {});
  return group;
}

/** Changes a group. */
export async function updateGroup(
  context: HostContext,
  group: GroupDocument,
  changes: { name?: string | undefined; description?: string | undefined; public?: boolean | undefined },
): Promise<GroupDocument> {
  const name = changes.name === undefined ? group.name : checkName('Group', changes.name);
  const description = changes.description?.trim() ?? group.description;
  const changedFields = {
    name,
    lowerName: name.toLowerCase(),
    description,
    words: searchWords(name, description),
    public: changes.public ?? group.public,
    updated: new Date(),
  };
  let updatedGroup: GroupDocument | null;
  try {
    updatedGroup = await context.models.group
      .findOneAndUpdate({ _id: group._id }, { $set: changedFields }, { returnDocument: 'after' })
      .lean<GroupDocument>();
  } catch (error) {
    throw toDuplicateNameError(error);
  }
  if (updatedGroup === null) throw new UnknownIdError('group', group._id.toHexString());
  return updatedGroup;
}

/** Removes a group, all memberships in it and all of its permissions. */
export function removeGroup(context: HostContext, group: GroupDocument): Promise<void> {
  return removeWithBelongings(context, 'group', group, ({ _id }) => removeTracesOfGroup(context, _id));
}

/** Removes memberships and permissions of a removed group. Can be repeated. */
export async function removeTracesOfGroup({ models, events }: HostContext, _id: Types.ObjectId): Promise<void> {
  await models.user.updateMany({ groups: _id }, { $pull: { groups: _id } });
  await models.user.updateMany({ 'groupInvites.groupId': _id }, { $pull: { groupInvites: { groupId: _id } } });
  const permissionRemoval = { $pull: { 'access.groups': { id: _id } } };
  await models.folder.updateMany({ 'access.groups.id': _id }, permissionRemoval, withTrashed);
  await models.collection.updateMany({ 'access.groups.id': _id }, permissionRemoval);
  await events.emit('group.removed', { groupId: _id.toHexString() });
  await events.emit('access.changed', {});
}

/** Whether the caller can add members to a group without inviting them. */
export async function mayAddWithoutInvitation(
  context: HostContext,
  group: GroupDocument,
  principal: Principal,
): Promise<boolean> {
  if (principal.admin) return true;
  const policy = await context.setting('core.add_to_group_policy');
  const level = levelOn(group, principal);
  return (policy === 'yesadmin' && level >= 2) || (policy === 'yesmod' && level >= 1);
}

/** Raises the access level of a user on a group to at least this level. */
async function raiseLevel({ models }: HostContext, group: GroupDocument, userId: Types.ObjectId, level: GrantedLevel) {
  const raiseResult = await models.group.updateOne(
    { _id: group._id, 'access.users.id': userId },
    { $max: { 'access.users.$.level': level } },
  );
  if (raiseResult.matchedCount > 0) return;
  const entry = { id: userId, level, flags: [] };
  await models.group.updateOne({ _id: group._id, 'access.users.id': { $ne: userId } }, { $push: { 'access.users': entry } });
}

/**
 * Invites a user to a group, which the user can then read. With `force`, or if the user has requested membership, the user becomes
 * a member immediately.
 */
export async function inviteToGroup(
  context: HostContext,
  group: GroupDocument,
  user: UserDocument,
  { level, force }: { level: GrantedLevel; force: boolean },
): Promise<void> {
  const { models } = context;
  if (force) return addMember(context, group, user._id, level);
  if (user.groups.some((id) => id.equals(group._id))) throw new InvalidError('User is already in this group.');
  // A user who has requested membership needs no invitation.
  if (group.requests.some((id) => id.equals(user._id))) return addMember(context, group, user._id, level);
  await models.user.updateOne({ _id: user._id }, { $pull: { groupInvites: { groupId: group._id } } });
  await models.user.updateOne({ _id: user._id }, { $push: { groupInvites: { groupId: group._id, level } } });
  await raiseLevel(context, group, user._id, 0);
  await context.events.emit('access.changed', {});
}

async function addMember(context: HostContext, group: GroupDocument, userId: Types.ObjectId, level: GrantedLevel): Promise<void> {
  // In this order a member always has a level, and an interrupted call can be repeated.
  await raiseLevel(context, group, userId, level);
  await context.models.user.updateOne(
    { _id: userId },
    { $addToSet: { groups: group._id }, $pull: { groupInvites: { groupId: group._id } } },
  );
  await context.models.group.updateOne({ _id: group._id }, { $pull: { requests: userId } });
  await context.events.emit('access.changed', {});
}

/**
 * Accepts an invitation, or requests membership if there is none.
 *
 * @throws InvalidError for members, and if there are too many requests
 */
export async function joinGroup(context: HostContext, group: GroupDocument, userId: Types.ObjectId): Promise<void> {
  const user = await context.models.user.findById(userId).lean<UserDocument>();
  const invitation = user?.groupInvites.find((invite) => invite.groupId.equals(group._id));
  if (invitation !== undefined) return addMember(context, group, userId, invitation.level);
  if (user?.groups.some((id) => id.equals(group._id))) throw new InvalidError('User is already in this group.');
  const { matchedCount } = await context.models.group.updateOne(
    { _id: group._id, $or: [{ requests: userId }, { [`requests.${maxRequests - 1}`]: { $exists: false } }] },
    { $addToSet: { requests: userId } },
  );
  if (matchedCount === 0) throw new InvalidError(`${maxRequests} users are already waiting to join this group.`);
}

/**
 * Changes the level of a member, up or down.
 *
 * @throws InvalidError if the user is not a member, or is the last administrator and the caller is not a site administrator
 */
export async function setMemberLevel(
  context: HostContext,
  group: GroupDocument,
  userId: Types.ObjectId,
  { level, principal }: { level: GrantedLevel; principal: Principal },
): Promise<void> {
  const { models } = context;
  if ((await models.user.exists({ _id: userId, groups: group._id })) === null)
    throw new InvalidError('That user is not in this group.', 'userId');
  await raiseLevel(context, group, userId, 0);
  const currentGroup = await models.group.findById(group._id).lean<GroupDocument>();
  const users = currentGroup?.access.users ?? [];
  const changedUsers = users.map((entry) => (entry.id.equals(userId) ? { ...entry, level } : entry));
  if (!principal.admin && !changedUsers.some((entry) => entry.level === 2)) throw createNoAdministratorError();
  // The list must not have changed since it was read. Otherwise, two administrators could demote each other at the same time.
  const { matchedCount } = await models.group.updateOne(
    { _id: group._id, 'access.users': users },
    { $set: { 'access.users': changedUsers } },
  );
  if (matchedCount === 0)
    throw new LargeImageError('conflict', 'Somebody else has just changed the members of this group. Try again.');
  await context.events.emit('access.changed', {});
}

function createNoAdministratorError(): InvalidError {
  return new InvalidError(
    'The group would be left without an administrator. Make another member administrator, or remove the group.',
  );
}

/**
 * Ends a user's membership, invitation or request to join. The caller can be this user or another one. Only a site administrator can remove the
 * last administrator of a group.
 *
 * @throws AccessDeniedError if the user has a higher level than the caller
 * @throws InvalidError if the user is the last administrator
 */
export async function removeFromGroup(
  context: HostContext,
  group: GroupDocument,
  userId: Types.ObjectId,
  principal: Principal,
): Promise<void> {
  const { models } = context;
  const level = group.access.users.find((entry) => entry.id.equals(userId))?.level ?? -1;
  if (level > levelOn(group, principal))
    throw new AccessDeniedError('You cannot remove a member with a higher level than yours.');
  const hasOtherAdministratorFilter = { 'access.users': { $elemMatch: { id: { $ne: userId }, level: 2 } } };
  const userIsNotAdministratorFilter = { 'access.users': { $not: { $elemMatch: { id: userId, level: 2 } } } };
  const removalResult = await models.group.updateOne(
    { _id: group._id, ...(!principal.admin && { $or: [hasOtherAdministratorFilter, userIsNotAdministratorFilter] }) },
    { $pull: { 'access.users': { id: userId }, requests: userId } },
  );
  if (removalResult.matchedCount === 0) throw createNoAdministratorError();
  await models.user.updateOne({ _id: userId }, { $pull: { groups: group._id, groupInvites: { groupId: group._id } } });
  await context.events.emit('access.changed', {});
}
