import { boolean, json, required, withDefault } from '../../index.js';
import type { AccessControlled } from './access-list.model.js';
import type { HostContext } from '../context.js';
import { describeAccessList, parseAccessList, parseFlags } from './access.js';
import type { AccessChange } from './folder-access.js';

/** Flags that can stand in lists of permissions. */
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
  access: required(json({ kind: 'object', description: 'The whole new list: {users: [{id, level, flags}], groups: […]}.' })),
  public: boolean({ description: 'Whether everybody may read.' }),
  publicFlags: json({ kind: 'array', description: 'Flags that everybody has.' }),
  recurse: withDefault(boolean({ description: 'Whether the folders below get the same list.' }), false),
  progress: withDefault(boolean({ description: 'Accepted for the sake of existing clients.' }), false),
};

/** The change that {@link accessQuery} asks for. @throws InvalidError with field `access`. */
export function accessChange(query: {
  access: Record<string, unknown>;
  public: boolean | undefined;
  publicFlags: unknown[] | undefined;
}): AccessChange {
  return {
    access: parseAccessList(query.access, knownFlags),
    public: query.public,
    publicFlags: query.publicFlags && parseFlags(query.publicFlags, knownFlags),
  };
}

/** A document with its list of permissions written out. */
export async function withAccess(context: HostContext, view: object, document: AccessControlled) {
  return { ...view, access: await describeAccessList(context, document) };
}
