import { isDeepStrictEqual } from 'node:util';
import type { Types } from 'mongoose';
import { batches, readInSlices, UnknownIdError, announceStep } from '../../larger-host.js';
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
export function createAccessUpdate({ access, public: isPublic, publicFlags }: AccessChange): Partial<AccessControlled> {
  return { access, ...(isPublic !== undefined && { public: isPublic }), ...(publicFlags !== undefined && { publicFlags }) };
}

/**
 * Replaces the permissions of a folder, and of the folders below it that `administrator` administers. If `administrator` is `null`, only
 * the folder itself is changed.
 */
export async function setFolderAccess(
  context: HostContext,
  folder: FolderDocument,
  change: AccessChange,
  administrator: Principal | null,
): Promise<FolderDocument> {
  return setAccessRecursively(context, { type: 'folder', id: folder._id, change, administrator }, async () => {
    const updatedFolder = await context.models.folder
      .findOneAndUpdate({ _id: folder._id }, { $set: createAccessUpdate(change) }, { returnDocument: 'after' })
      .lean<FolderDocument>();
    if (updatedFolder === null) throw new UnknownIdError('folder', folder._id.toHexString());
    return updatedFolder;
  });
}

/** A change of the permissions of a document, and possibly of folders below it. */
export interface RecursiveAccessChange {
  type: 'folder' | 'collection';
  id: Types.ObjectId;
  change: AccessChange;
  /**
   * Folders below the document are changed if this principal, who need not be a site administrator, administers them. `null` changes only the
   * document itself.
   */
  administrator: Rights | null;
}

/**
 * Calls `changeDocument`, which changes the permissions of one document. If `administrator` is not `null`, then changes the permissions of the
 * folders below the document that this principal administers. An interrupted change is completed later.
 */
export async function setAccessRecursively<D>(
  context: HostContext,
  recursiveChange: RecursiveAccessChange,
  changeDocument: () => Promise<D>,
): Promise<D> {
  const { administrator } = recursiveChange;
  const changeDocumentAndFolders = async () => {
    const updatedDocument = await changeDocument();
    announceStep('access:set');
    if (administrator !== null) await setAccessBelow(context, { ...recursiveChange, administrator });
    return updatedDocument;
  };
  const updatedDocument = await (administrator === null
    ? changeDocumentAndFolders()
    : context.journal.undertake(
        { kind: 'access', ...recursiveChange, change: withoutUndefined(recursiveChange.change), administrator },
        changeDocumentAndFolders,
      ));
  await context.events.emit('access.changed', {});
  return updatedDocument;
}

/** A change without undefined members, which the database would store as null. */
function withoutUndefined(change: AccessChange): AccessChange {
  return { access: change.access, ...createAccessUpdate(change) };
}

/**
 * Replaces the permissions of the folders below a document. A folder that `administrator` does not administer is skipped, with everything
 * below it. If `isRepeated`, a folder that already has the new permissions is not skipped, because the first attempt may have ended the
 * principal's right to administer it.
 */
export async function setAccessBelow(
  { models }: HostContext,
  { id, change, administrator }: RecursiveAccessChange & { administrator: Rights },
  isRepeated = false,
): Promise<void> {
  let parentIds = [id];
  while (parentIds.length > 0) {
    const changedIds: Types.ObjectId[] = [];
    for (const parents of batches(parentIds)) {
      const children = await readInSlices<FolderDocument>(
        models.folder.find({ parentId: { $in: [...parents] } }, { meta: 0 }).lean(),
      );
      const changedFolders = children.filter(
        (child) => levelOn(child, administrator) >= 2 || (isRepeated && accessMatches(child, change)),
      );
      for (const batch of batches(changedFolders.map(({ _id }) => _id))) {
        await models.folder.updateMany({ _id: { $in: [...batch] } }, { $set: createAccessUpdate(change) });
        announceStep('access:spread');
        changedIds.push(...batch);
      }
    }
    parentIds = changedIds;
  }
}

/** Whether a document already has the permissions of a change. */
export function accessMatches(document: AccessControlled, change: AccessChange): boolean {
  return isDeepStrictEqual(toComparableAccess({ ...document, ...createAccessUpdate(change) }), toComparableAccess(document));
}

function toComparableAccess({ access, public: isPublic, publicFlags = [] }: AccessControlled): unknown {
  return JSON.parse(JSON.stringify({ access, isPublic, publicFlags }));
}
