import { BadParameterError, InvalidError } from '../errors.js';
import type { AccessEntry, Caller, HostDirectory } from '../host.js';

/** Users and groups, each with its level and flags. */
export interface GrantedAccess {
  users: AccessEntry[];
  groups: AccessEntry[];
}

interface AccessListContext {
  /** Users and groups of the host. A host without a directory has no groups, and its users cannot be checked. */
  directory: HostDirectory | undefined;
  /** The caller who changes the list. Unless the caller is a site administrator, the new list must give level 2 to someone. */
  caller: Caller | null;
  /** Flags that entries can have. Other flags are dropped. */
  knownFlags: ReadonlySet<string>;
  /** The list that is replaced. The new list can keep its users and groups, even those that the caller cannot see. */
  previous?: { users: readonly { id: string }[]; groups: readonly { id: string }[] };
}

/** Maximum length of a list of users or groups, so that a document stays far below the limit of the database. */
const maxEntries = 10_000;
/** Maximum number of ids that one message lists. */
const maxNamedIds = 10;
const listMembers: ReadonlySet<string> = new Set(['users', 'groups']);
/** More members are allowed, because clients send back the list that they received. */
const entryMembers: ReadonlySet<string> = new Set(['id', 'level', 'flags', 'login', 'name', 'description']);

/**
 * Checks an access list from a client. It replaces the previous list completely.
 *
 * @throws InvalidError with field `access` for a list that is malformed, that names someone twice or someone who does not exist, or
 * that gives level 2 to nobody. BadParameterError for a list with too many entries.
 */
export async function readAccessList(sentList: Record<string, unknown>, context: AccessListContext): Promise<GrantedAccess> {
  refuseOtherMembers(sentList, listMembers);
  const list = {
    users: readEntries(sentList.users, 'user', context.knownFlags),
    groups: readEntries(sentList.groups, 'group', context.knownFlags),
  };
  const { directory, caller, previous } = context;
  const existingGroups = await findListed(list.groups, previous?.groups, (ids, asker) => directory?.groups(ids, asker), caller);
  const existingUsers = await findListed(list.users, previous?.users, (ids, asker) => directory?.users(ids, asker), caller);
  const missingNames = [
    ...(directory === undefined ? [] : namesOfMissing(list.users, existingUsers, 'user')),
    ...namesOfMissing(list.groups, existingGroups, 'group'),
  ];
  if (missingNames.length > 0) {
    const othersText = missingNames.length > maxNamedIds ? ` and ${missingNames.length - maxNamedIds} others` : '';
    throw invalidListError(`there is no ${missingNames.slice(0, maxNamedIds).join(', no ')}${othersText}`);
  }
  if (!(await isAdministered(list, { users: existingUsers, groups: existingGroups }, context))) {
    throw invalidListError('nobody who can sign in would have level 2 (admin). Give it to a user, or to a group with members');
  }
  return list;
}

/** The flags of an entry without repetitions and without unknown flags. */
export function readFlags(sentFlags: unknown, knownFlags: ReadonlySet<string>): string[] {
  if (!Array.isArray(sentFlags)) return [];
  return [...new Set(sentFlags)].filter((flag): flag is string => typeof flag === 'string' && knownFlags.has(flag));
}

function invalidListError(reason: string): InvalidError {
  return new InvalidError(`Invalid access list: ${reason}.`, 'access');
}

function refuseOtherMembers(sentObject: object, allowed: ReadonlySet<string>): void {
  const otherMember = Object.keys(sentObject).find((key) => !allowed.has(key));
  if (otherMember === undefined) return;
  throw invalidListError(`${JSON.stringify(otherMember)} is not one of ${[...allowed].join(', ')}`);
}

function readEntries(sentEntries: unknown, kind: 'user' | 'group', knownFlags: ReadonlySet<string>): AccessEntry[] {
  if (sentEntries === undefined || sentEntries === null) return [];
  if (!Array.isArray(sentEntries)) throw new InvalidError('Invalid access list', 'access');
  if (sentEntries.length > maxEntries) throw new BadParameterError(`An access list can have at most ${maxEntries} entries.`);
  const entries = new Map<string, AccessEntry>();
  for (const entry of sentEntries as unknown[]) {
    if (typeof entry !== 'object' || entry === null) throw new InvalidError('Invalid access list', 'access');
    const { id, level, flags } = entry as Record<string, unknown>;
    if (typeof id !== 'string' || id === '' || level === undefined) throw new InvalidError('Invalid access list', 'access');
    if (flags !== undefined && flags !== null && !Array.isArray(flags)) throw new InvalidError('Invalid access list', 'access');
    if (level !== 0 && level !== 1 && level !== 2) throw new InvalidError('Invalid access level', 'access');
    refuseOtherMembers(entry, entryMembers);
    if (entries.has(id)) throw invalidListError(`${kind} ${quotedId(id)} is listed twice`);
    entries.set(id, { id, level, flags: readFlags(flags, knownFlags) });
  }
  return [...entries.values()];
}

/** Finds the users or groups of a list that exist, except new ones that the caller cannot see. */
async function findListed<T extends { id: string }>(
  entries: readonly { id: string }[],
  previous: readonly { id: string }[] = [],
  find: (ids: readonly string[], asker?: Caller | null) => Promise<T[]> | undefined,
  caller: Caller | null,
): Promise<T[]> {
  const previousIds = new Set(previous.map(({ id }) => id));
  const keptIds = entries.map(({ id }) => id).filter((id) => previousIds.has(id));
  const addedIds = entries.map(({ id }) => id).filter((id) => !previousIds.has(id));
  const parts = await Promise.all([keptIds.length > 0 && find(keptIds), addedIds.length > 0 && find(addedIds, caller)]);
  return parts.flatMap((part) => part || []);
}

function namesOfMissing(entries: readonly AccessEntry[], existing: readonly { id: string }[], kind: string): string[] {
  const ids = new Set(existing.map(({ id }) => id));
  return entries.filter(({ id }) => !ids.has(id)).map(({ id }) => `${kind} ${quotedId(id)}`);
}

/** An id as shown in messages. Clients can send anything. */
function quotedId(id: string): string {
  return JSON.stringify(id.length > 64 ? `${id.slice(0, 64)}…` : id);
}

async function isAdministered(
  { users, groups }: GrantedAccess,
  existing: { users: Awaited<ReturnType<HostDirectory['users']>>; groups: Awaited<ReturnType<HostDirectory['groups']>> },
  { directory, caller }: AccessListContext,
): Promise<boolean> {
  if (caller?.admin === true) return true;
  // If the host does not provide users and groups, only the caller is known to exist.
  const activeUserIds = new Set(
    directory === undefined ? [caller?.id] : existing.users.flatMap((user) => (user.isDisabled ? [] : [user.id])),
  );
  if (users.some(({ id, level }) => level === 2 && activeUserIds.has(id))) return true;
  const administratorGroupIds = new Set(groups.filter(({ level }) => level === 2).map(({ id }) => id));
  if (existing.groups.some(({ id, hasMembers }) => hasMembers === true && administratorGroupIds.has(id))) return true;
  const callerGroupIds = caller?.id == null ? [] : ((await directory?.groupsOf(caller.id)) ?? []);
  return callerGroupIds.some((id) => administratorGroupIds.has(id));
}
