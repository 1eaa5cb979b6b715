import { isDeepStrictEqual } from 'node:util';
import type { Types } from 'mongoose';
import { batches, readInSlices, UnknownIdError, step } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { AccessControlled, AccessList } from './access-list.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import { levelOn, type Principal, type Rights } from './access.js';

/** A change of the permissions of a folder or collection. */
export interface AccessChange {
  access: AccessList;
  public?: boolean | undefined;
  publicFlags?: string[] | undefined;
}

/** The update for a change of permissions. */
export function accessUpdate({ access, public: isPublic, publicFlags }: AccessChange): Partial<AccessControlled> {
  return { access, ...(isPublic !== undefined && { public: isPublic }), ...(publicFlags !== undefined && { publicFlags }) };
}

/** Replaces the permissions of a folder and, optionally, of the folders below it that the principal administers. */
export async function setFolderAccess(
  context: HostContext,
  folder: FolderDocument,
  change: AccessChange,
  recurse: Principal | null,
): Promise<FolderDocument> {
  return spreadAccess(context, { type: 'folder', id: folder._id, change, administrator: recurse }, async () => {
    const updated = await context.models.folder
      .findOneAndUpdate({ _id: folder._id }, { $set: accessUpdate(change) }, { returnDocument: 'after' })
      .lean<FolderDocument>();
    if (updated === null) throw new UnknownIdError('folder', folder._id.toHexString());
    return updated;
  });
}

/** A change of permissions that also applies to the folders below that the principal administers. */
export interface SpreadingAccess {
  type: 'folder' | 'collection';
  id: Types.ObjectId;
  change: AccessChange;
  /** `null` if it applies only to the one document. */
  administrator: Rights | null;
}

/** Changes the permissions of one document by `set`, then those below it. Afterwards no former permissions are left. */
export async function spreadAccess<D>(context: HostContext, spreading: SpreadingAccess, set: () => Promise<D>): Promise<D> {
  const { administrator } = spreading;
  const setAll = async () => {
    const updated = await set();
    step('access:set');
    if (administrator !== null) await setAccessBelow(context, { ...spreading, administrator });
    return updated;
  };
  const updated = await (administrator === null
    ? setAll()
    : context.journal.undertake(
        { kind: 'access', ...spreading, change: withoutUndefined(spreading.change), administrator },
        setAll,
      ));
  await context.events.emit('access.changed', {});
  return updated;
}

/** A change without undefined members, which the database would store as null. */
function withoutUndefined(change: AccessChange): AccessChange {
  return { access: change.access, ...accessUpdate(change) };
}

/**
 * Replaces the permissions of the folders below a document that the principal administers. `isRepeated`: some folders may have the
 * new permissions already, so the principal may no longer administer them.
 */
export async function setAccessBelow(
  { models }: HostContext,
  { id, change, administrator }: SpreadingAccess & { administrator: Rights },
  isRepeated = false,
): Promise<void> {
  let level = [id];
  while (level.length > 0) {
    const below: Types.ObjectId[] = [];
    for (const parents of batches(level)) {
      const children = await readInSlices<FolderDocument>(
        models.folder.find({ parentId: { $in: [...parents] } }, { meta: 0 }).lean(),
      );
      const changed = children.filter((child) => levelOn(child, administrator) >= 2 || (isRepeated && hasAccess(child, change)));
      for (const batch of batches(changed.map(({ _id }) => _id))) {
        await models.folder.updateMany({ _id: { $in: [...batch] } }, { $set: accessUpdate(change) });
        step('access:spread');
        below.push(...batch);
      }
    }
    level = below;
  }
}

/** Whether a change of permissions has been made. */
export function hasAccess(document: AccessControlled, change: AccessChange): boolean {
  return isDeepStrictEqual(plainAccess({ ...document, ...accessUpdate(change) }), plainAccess(document));
}

function plainAccess({ access, public: isPublic, publicFlags = [] }: AccessControlled): unknown {
  return JSON.parse(JSON.stringify({ access, isPublic, publicFlags }));
}
