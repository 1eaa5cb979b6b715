import { Types } from 'mongoose';
import type { Caller } from '../../index.js';
import { boolean, json, readAccessList, readFlags, required, withDefault, type GrantedAccess } from '../../larger-host.js';
import type { AccessControlled, AccessEntry } from './access-list.model.js';
import type { HostContext } from '../context.js';
import { describeAccessList } from './access.js';
import { hostDirectory } from './directory.js';
import type { AccessChange } from './folder-access.js';

/** Flags that access lists can contain. */
export const accessFlags = {
  large_image_create_annotations: {
    name: 'Create annotations',
    description: 'Allow user to create annotations',
    admin: false,
  },
} as const;

const knownFlags: ReadonlySet<string> = new Set(Object.keys(accessFlags));

/** Parameters that replace a list of permissions. */
export const accessQuery = {
  access: required(json({ kind: 'object', description: 'The complete new list: {users: [{id, level, flags}], groups: […]}.' })),
  public: boolean({ description: 'Whether everybody can read.' }),
  publicFlags: json({ kind: 'array', description: 'Flags that everybody has.' }),
  recurse: withDefault(boolean({ description: 'Whether to give all subfolders the same list.' }), false),
  progress: withDefault(boolean({ description: 'Accepted for existing clients, but ignored.' }), false),
};

/**
 * The change that {@link accessQuery} requests.
 *
 * @throws InvalidError with field `access` if the value is not a list of permissions, or leaves nobody with the level ADMIN.
 */
export async function readAccessChange(
  context: HostContext,
  query: { access: Record<string, unknown>; public: boolean | undefined; publicFlags: unknown[] | undefined },
  caller: Caller | null,
  { access }: AccessControlled,
): Promise<AccessChange> {
  const toTextIds = (entries: readonly AccessEntry[]) => entries.map(({ id }) => ({ id: id.toHexString() }));
  const formerIds = { users: toTextIds(access.users), groups: toTextIds(access.groups) };
  const { users, groups } = await readAccessList(query.access, {
    directory: hostDirectory(context),
    caller,
    knownFlags,
    previous: formerIds,
  });
  return {
    access: { users: users.map(toStoredEntry), groups: groups.map(toStoredEntry) },
    public: query.public,
    publicFlags: query.publicFlags && readFlags(query.publicFlags, knownFlags),
  };
}

function toStoredEntry({ id, level, flags = [] }: GrantedAccess['users'][number]): AccessEntry {
  return { id: new Types.ObjectId(id), level, flags: [...flags] };
}

/** Adds a document's list of permissions, with the names of users and groups, to its view. */
export async function addAccessList(context: HostContext, view: object, document: AccessControlled) {
  return { ...view, access: await describeAccessList(context, document) };
}
