import { BadParameterError, InvalidError } from '../../errors.js';
import type { AccessEntry, Caller, HostDirectory } from '../../host.js';

/** Users and groups with what each may do. */
export interface GrantedAccess {
  users: AccessEntry[];
  groups: AccessEntry[];
}

interface AccessListContext {
  /** Who exists; `undefined` where the host cannot tell, and has no groups. */
  directory: HostDirectory | undefined;
  /** Who changes the list: unless a site administrator, they may not leave a list by which nobody has ADMIN. */
  caller: Caller | null;
  /** Flags that have a meaning; others are dropped. */
  knownFlags: ReadonlySet<string>;
  /** The list that is replaced: whoever stands on it may stay there, also where the caller may not know of them otherwise. */
  former?: { users: readonly { id: string }[]; groups: readonly { id: string }[] };
}

/** Longest list of users or groups, so that a document stays far from what a database can hold. */
const maxEntries = 10_000;
/** Ids that one message names. */
const namedIds = 10;
const listMembers: ReadonlySet<string> = new Set(['users', 'groups']);
/** Also what clients got with the list and send back. */
const entryMembers: ReadonlySet<string> = new Set(['id', 'level', 'flags', 'login', 'name', 'description']);

/**
 * An access list as a client sends it, whole: what it leaves out is taken away.
 *
 * @throws InvalidError with field `access` for what is no list, names somebody twice or nobody, or leaves nobody with ADMIN; BadParameterError.
 */
export async function readAccessList(sent: Record<string, unknown>, context: AccessListContext): Promise<GrantedAccess> {
  refuseOthers(sent, listMembers);
  const list = {
    users: readEntries(sent.users, 'user', context.knownFlags),
    groups: readEntries(sent.groups, 'group', context.knownFlags),
  };
  const { directory, caller, former } = context;
  const groups = await found(list.groups, former?.groups, (ids, asker) => directory?.groups(ids, asker), caller);
  const users = await found(list.users, former?.users, (ids, asker) => directory?.users(ids, asker), caller);
  const unknown = [
    ...(directory === undefined ? [] : without(list.users, users, 'user')),
    ...without(list.groups, groups, 'group'),
  ];
  if (unknown.length > 0) {
    const more = unknown.length > namedIds ? ` and ${unknown.length - namedIds} others` : '';
    throw invalid(`there is no ${unknown.slice(0, namedIds).join(', no ')}${more}`);
  }
  if (!(await isAdministered(list, { users, groups }, context))) {
    throw invalid('nobody would be left with level 2 who can sign in. Give it to a user, or to a group that somebody belongs to');
  }
  return list;
}

/** The flags of a list that have a meaning. */
export function readFlags(sent: unknown, knownFlags: ReadonlySet<string>): string[] {
  if (!Array.isArray(sent)) return [];
  return [...new Set(sent)].filter((flag): flag is string => typeof flag === 'string' && knownFlags.has(flag));
}

function invalid(reason: string): InvalidError {
  return new InvalidError(`Invalid access list: ${reason}.`, 'access');
}

function refuseOthers(sent: object, known: ReadonlySet<string>): void {
  const other = Object.keys(sent).find((key) => !known.has(key));
  if (other === undefined) return;
  throw invalid(`${JSON.stringify(other)} is none of ${[...known].join(', ')}`);
}

function readEntries(sent: unknown, kind: 'user' | 'group', knownFlags: ReadonlySet<string>): AccessEntry[] {
  if (sent === undefined || sent === null) return [];
  if (!Array.isArray(sent)) throw new InvalidError('Invalid access list', 'access');
  if (sent.length > maxEntries) throw new BadParameterError(`An access list has at most ${maxEntries} entries.`);
  const entries = new Map<string, AccessEntry>();
  for (const entry of sent as unknown[]) {
    if (typeof entry !== 'object' || entry === null) throw new InvalidError('Invalid access list', 'access');
    const { id, level, flags } = entry as Record<string, unknown>;
    if (typeof id !== 'string' || id === '' || level === undefined) throw new InvalidError('Invalid access list', 'access');
    if (flags !== undefined && flags !== null && !Array.isArray(flags)) throw new InvalidError('Invalid access list', 'access');
    if (level !== 0 && level !== 1 && level !== 2) throw new InvalidError('Invalid access level', 'access');
    refuseOthers(entry, entryMembers);
    if (entries.has(id)) throw invalid(`${kind} ${shown(id)} stands there twice`);
    entries.set(id, { id, level, flags: readFlags(flags, knownFlags) });
  }
  return [...entries.values()];
}

/** Those of a list who exist: whoever stood on the former one, and whom the caller may know of. */
async function found<T extends { id: string }>(
  entries: readonly { id: string }[],
  former: readonly { id: string }[] = [],
  find: (ids: readonly string[], asker?: Caller | null) => Promise<T[]> | undefined,
  caller: Caller | null,
): Promise<T[]> {
  const before = new Set(former.map(({ id }) => id));
  const kept = entries.map(({ id }) => id).filter((id) => before.has(id));
  const added = entries.map(({ id }) => id).filter((id) => !before.has(id));
  const parts = await Promise.all([kept.length > 0 && find(kept), added.length > 0 && find(added, caller)]);
  return parts.flatMap((part) => part || []);
}

function without(entries: readonly AccessEntry[], found: readonly { id: string }[], kind: string): string[] {
  const known = new Set(found.map(({ id }) => id));
  return entries.filter(({ id }) => !known.has(id)).map(({ id }) => `${kind} ${shown(id)}`);
}

/** An id as messages show it: clients send anything. */
function shown(id: string): string {
  return JSON.stringify(id.length > 64 ? `${id.slice(0, 64)}…` : id);
}

async function isAdministered(
  { users, groups }: GrantedAccess,
  found: { users: Awaited<ReturnType<HostDirectory['users']>>; groups: Awaited<ReturnType<HostDirectory['groups']>> },
  { directory, caller }: AccessListContext,
): Promise<boolean> {
  if (caller?.admin === true) return true;
  // Where nobody knows who exists, the caller does.
  const able = new Set(
    directory === undefined ? [caller?.id] : found.users.flatMap((user) => (user.isDisabled ? [] : [user.id])),
  );
  if (users.some(({ id, level }) => level === 2 && able.has(id))) return true;
  const administrators = new Set(groups.filter(({ level }) => level === 2).map(({ id }) => id));
  if (found.groups.some(({ id, hasMembers }) => hasMembers === true && administrators.has(id))) return true;
  const own = caller?.id == null ? [] : ((await directory?.groupsOf(caller.id)) ?? []);
  return own.some((id) => administrators.has(id));
}
