import { Types, type QueryFilter } from 'mongoose';
import type { AccessLevel, Caller } from '../../index.js';
import { hasScope, LevelDeniedError, readInSlices } from '../../larger-host.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import type { HostContext } from '../context.js';
import type { GroupDocument } from '../groups/group.model.js';
import { scopes } from '../http/parameters.js';
import type { AccessControlled, AccessList, GrantedLevel } from './access-list.model.js';

/** The data of a user that permissions depend on. */
export interface Rights {
  id: Types.ObjectId | null;
  admin: boolean;
  groups: Types.ObjectId[];
}

/** A caller with the data that permissions depend on. */
export interface Principal extends Rights {
  /** Whether the token gives access to private data of users: the email address, groups, status. */
  seesPrivate: boolean;
}

/** Models with a list of permissions. */
export type AccessModel = 'folder' | 'collection' | 'user' | 'group';

/** An anonymous caller. */
const anonymous: Principal = { id: null, admin: false, groups: [], seesPrivate: false };

/** A caller who passes every check, for actions of the host itself. */
export const systemPrincipal: Principal = { id: null, admin: true, groups: [], seesPrivate: true };

/** Loads the data that a caller's permissions depend on. */
export async function loadPrincipal({ models }: HostContext, caller: Caller | null): Promise<Principal> {
  if (caller === null || caller.id === null) return anonymous;
  const id = new Types.ObjectId(caller.id);
  const user = await models.user.findById(id, { groups: 1, admin: 1 }).lean();
  const seesPrivate = hasScope(caller, scopes.userInfo);
  return user === null ? anonymous : { id, admin: user.admin, groups: user.groups, seesPrivate };
}

function findGrantedLevel({ access }: AccessControlled, principal: Rights): AccessLevel {
  let level: AccessLevel = -1;
  for (const entry of access.users) if (principal.id?.equals(entry.id) && entry.level > level) level = entry.level;
  for (const entry of access.groups) {
    if (entry.level > level && principal.groups.some((group) => group.equals(entry.id))) level = entry.level;
  }
  return level;
}

/** The principal's flags on a document. */
export function flagsOn({ access, publicFlags = [] }: AccessControlled, principal: Principal): string[] {
  const userEntries = access.users.filter((entry) => principal.id?.equals(entry.id));
  const groupEntries = access.groups.filter((entry) => principal.groups.some((group) => group.equals(entry.id)));
  return [...new Set([...publicFlags, ...[...userEntries, ...groupEntries].flatMap(({ flags }) => flags ?? [])])];
}

/** The principal's level on a document. */
export function levelOn(document: AccessControlled, principal: Rights): AccessLevel {
  if (principal.admin) return 2;
  const level = principal.id === null ? -1 : findGrantedLevel(document, principal);
  return level === -1 && document.public ? 0 : level;
}

/**
 * The level as shown in `_accessLevel`: signed-in users who are not in the list get -1 even on public documents. Existing
 * clients test for 1 and above.
 */
export function shownLevel(document: AccessControlled, principal: Principal): AccessLevel {
  if (principal.admin) return 2;
  if (principal.id === null) return document.public ? 0 : -1;
  return findGrantedLevel(document, principal);
}

/** @throws LevelDeniedError when the principal's level on a document is too low. */
export function requireLevel(
  model: AccessModel,
  document: AccessControlled & { _id: Types.ObjectId },
  principal: Principal,
  level: GrantedLevel,
): void {
  if (levelOn(document, principal) >= level) return;
  throw new LevelDeniedError(level, `${model} ${document._id.toHexString()}`, principal.id?.toHexString());
}

/** Creates a filter that matches the documents on which the principal has at least `level`. */
export function createAccessFilter(principal: Principal, level: GrantedLevel): QueryFilter<AccessControlled> {
  if (principal.admin) return {};
  const conditions: QueryFilter<AccessControlled>[] = level === 0 ? [{ public: true }] : [];
  if (principal.id !== null) {
    conditions.push({ 'access.users': { $elemMatch: { id: principal.id, level: { $gte: level } } } });
    if (principal.groups.length > 0) {
      conditions.push({ 'access.groups': { $elemMatch: { id: { $in: principal.groups }, level: { $gte: level } } } });
    }
  }
  return conditions.length === 0 ? { _id: { $in: [] } } : { $or: conditions };
}

/** Creates a filter that matches the items on whose folders the principal has at least `level`. */
export async function createItemAccessFilter(
  { models }: HostContext,
  principal: Principal,
  level: GrantedLevel,
): Promise<{ folderId?: { $in: Types.ObjectId[] } }> {
  if (principal.admin) return {};
  const folders = await models.folder.find(createAccessFilter(principal, level), { _id: 1 }).lean();
  return { folderId: { $in: folders.map((folder) => folder._id) } };
}

/** The list with an entry for a user added or changed. */
export function withUserLevel(access: AccessList, id: Types.ObjectId, level: GrantedLevel): AccessList {
  const otherEntries = access.users.filter((entry) => !entry.id.equals(id));
  return { users: [...otherEntries, { id, level, flags: [] }], groups: access.groups };
}

/** A list of permissions with names; entries of removed users and groups are left out. */
export async function describeAccessList({ models }: HostContext, { access }: AccessControlled) {
  const [userIds, groupIds] = [access.users, access.groups].map((entries) => entries.map((entry) => entry.id));
  const users = await readInSlices<UserDocument>(
    models.user.find({ _id: { $in: userIds } }, { login: 1, firstName: 1, lastName: 1 }).lean(),
  );
  const groups = await readInSlices<GroupDocument>(
    models.group.find({ _id: { $in: groupIds } }, { name: 1, description: 1 }).lean(),
  );
  const usersById = new Map(users.map((user) => [user._id.toHexString(), user]));
  const groupsById = new Map(groups.map((group) => [group._id.toHexString(), group]));
  const namedEntries = { users: [] as object[], groups: [] as object[] };
  for (const entry of access.users) {
    const user = usersById.get(entry.id.toHexString());
    if (user) namedEntries.users.push({ ...entry, login: user.login, name: `${user.firstName} ${user.lastName}` });
  }
  for (const entry of access.groups) {
    const group = groupsById.get(entry.id.toHexString());
    if (group) namedEntries.groups.push({ ...entry, name: group.name, description: group.description });
  }
  return namedEntries;
}
