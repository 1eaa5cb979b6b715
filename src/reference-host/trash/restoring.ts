import type { Types } from 'mongoose';
import { LargeImageError } from '../../index.js';
import { batches, searchWords, announceStep, UnknownIdError } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import type { CollectionDocument } from '../tree/collection.model.js';
import { listFoldersBelow, setRootOfTree } from '../tree/folder-trees.js';
import type { FolderDocument, FolderParentType } from '../tree/folder.model.js';
import { createFolder, rootOf, type FolderParent } from '../tree/folders.js';
import { indexTerms, createUnindexedMark } from '../tree/finding/index-terms.js';
import type { ItemDocument } from '../tree/item.model.js';
import { computeSortableNames } from '../tree/names/checked-name.js';
import { claimFreeName } from '../tree/names/names.js';
import { findFolderOrItem, treeModel, type FolderOrItem } from '../tree/tree-documents.js';
import { addFolderSize, addRootSize } from '../tree/sizes.js';
import { notInTrashError, withTrashed, type RestoredLocation, type TrashedDocument } from './trash-mark.js';
import { announceItems } from './trashing.js';

/** Name of the folder, in each user's folders, for restored documents whose own folder no longer exists. */
const restoredFolderName = 'Restored';

/** Where and how a folder or item was restored from the trash. */
export interface RestoredDocument extends TrashedDocument, RestoredLocation {
  /** Whether the document was renamed, because its name was taken. */
  isRenamed: boolean;
  /** Whether the document is in another folder than before. */
  isMoved: boolean;
}

/**
 * Restores an item, or a folder with everything that was put into the trash with it. The document is restored to `target`, or if `target` is
 * `null`, to its former folder. If the former folder no longer exists, the document is restored to a folder of the user. If its name is taken,
 * a number is appended. If making all contents of a folder visible again takes longer than clients wait, this continues in the background.
 *
 * @throws LargeImageError `unknown-id` if the document is not in the trash; LargeImageError `conflict` if it is still being moved to the trash
 */
export async function restoreFromTrash(
  context: HostContext,
  resource: FolderOrItem,
  { target, userId }: { target: FolderParent | null; userId: Types.ObjectId },
): Promise<RestoredDocument> {
  const { type, doc } = resource;
  const id = doc._id;
  let chosenLocation: RestoredLocation | null = null;
  const location = await context.journal.undertakeOrReturnPartialResult(
    { kind: 'restoring', type, id },
    async () => {
      if (doc.trashed?.size === undefined) {
        throw new LargeImageError('conflict', 'It is still being moved to the trash. Try again in a moment.');
      }
      const parent = target ?? (await findFormerParent(context, resource)) ?? (await ensureRestoredFolder(context, userId));
      await claimForRestoring(context, resource, { parentType: parent.type, parentId: parent.doc._id, name: '' });
      const rememberLocation = (newLocation: RestoredLocation) => void (chosenLocation = newLocation);
      const restoredLocation = await finishRestoring(context, { type, id }, rememberLocation);
      if (restoredLocation === null) throw notInTrashError(type, id.toHexString());
      return restoredLocation;
    },
    () => chosenLocation,
  );
  const formerId = resource.type === 'item' ? resource.doc.folderId : resource.doc.parentId;
  return { type, id, ...location, isRenamed: location.name !== doc.name, isMoved: !location.parentId.equals(formerId) };
}

async function findFormerParent(context: HostContext, resource: FolderOrItem): Promise<FolderParent | null> {
  const { type, doc } = resource;
  return type === 'item' ? findParent(context, 'folder', doc.folderId) : findParent(context, doc.parentCollection, doc.parentId);
}

async function findParent({ models }: HostContext, type: FolderParentType, id: Types.ObjectId): Promise<FolderParent | null> {
  const doc = await (type === 'folder'
    ? models.folder.findById(id).lean<FolderDocument>()
    : type === 'collection'
      ? models.collection.findById(id).lean<CollectionDocument>()
      : models.user.findById(id).lean<UserDocument>());
  // The cast is safe: the document was read from the model of its type.
  return doc === null ? null : ({ type, doc } as FolderParent);
}

/** Finds or creates the folder of a user for restored documents whose own folder no longer exists. */
async function ensureRestoredFolder(context: HostContext, userId: Types.ObjectId): Promise<FolderParent> {
  const user = await findParent(context, 'user', userId);
  if (user === null) throw new UnknownIdError('user', userId.toHexString());
  const doc = await createFolder(context, user, { name: restoredFolderName, creatorId: userId, reuseExisting: true });
  return { type: 'folder', doc };
}

/** Stores where the document will be restored to. Of several simultaneous requests to restore or remove it, one succeeds. */
async function claimForRestoring(context: HostContext, { type, doc }: FolderOrItem, location: RestoredLocation): Promise<void> {
  const filter = {
    _id: doc._id,
    'trashed.entry': doc.trashed!.entry,
    'trashed.restoring': null,
    'trashed.removing': null,
  };
  const change = { $set: { 'trashed.restoring': location } };
  const { matchedCount } = await treeModel(context, type).updateOne(filter, change, withTrashed);
  if (matchedCount === 0) throw notInTrashError(type, doc._id.toHexString());
  announceStep('restore:claimed');
}

/**
 * Restores a document after {@link claimForRestoring} has stored its new location. Can be repeated.
 *
 * @param onLocationChosen called with the folder and name as soon as they are certain, before the document is moved.
 * @returns `null` if the document does not exist, or nobody has claimed it for restoring.
 */
export async function finishRestoring(
  context: HostContext,
  { type, id }: TrashedDocument,
  onLocationChosen?: (location: RestoredLocation) => void,
): Promise<RestoredLocation | null> {
  const document = await findFolderOrItem(context, { type, id });
  if (document === null) return null;
  const { trashed } = document.doc;
  let location: RestoredLocation;
  if (trashed !== undefined) {
    if (trashed.restoring === undefined) return null;
    location = await chooseLocation(context, document, trashed.restoring);
    onLocationChosen?.(location);
    await (document.type === 'item' ? placeItem(context, document.doc, location) : placeFolder(context, document.doc, location));
  } else if (document.type === 'item') {
    const { folderId, name } = document.doc;
    location = { parentType: 'folder', parentId: folderId, name };
  } else {
    const { parentCollection, parentId, name } = document.doc;
    location = { parentType: parentCollection, parentId, name };
  }
  announceStep('restore:placed');
  await context.events.emit('access.changed', {});
  // A process may have died before it announced the items, so all of them are announced again.
  if (type === 'item') await announceItems(context, 'item.shown', { _id: id });
  else {
    for (const batch of batches([id, ...(await listFoldersBelow(context, { _id: id })).map(({ _id }) => _id)])) {
      await announceItems(context, 'item.shown', { folderId: { $in: [...batch] }, trashed: null });
    }
  }
  return location;
}

/** Claims a free name in the claimed folder, or in another one if that folder no longer exists, and stores the result. */
async function chooseLocation(
  context: HostContext,
  { type, doc }: FolderOrItem,
  claimedLocation: RestoredLocation,
): Promise<RestoredLocation> {
  // The folder may have been removed since it was claimed. Then a folder of the user who trashed the document replaces it.
  const parent = await findParent(context, claimedLocation.parentType, claimedLocation.parentId);
  const trashedBy = doc.trashed?.by;
  const { type: parentType, doc: parentDocument } =
    parent ??
    (trashedBy
      ? await ensureRestoredFolder(context, trashedBy)
      : { type: claimedLocation.parentType, doc: { _id: claimedLocation.parentId } });
  const nameOwner = { parentId: parentDocument._id, ownerType: type, ownerId: doc._id };
  const location = { parentType, parentId: parentDocument._id, name: await claimFreeName(context, nameOwner, doc.name) };
  const change = { $set: { 'trashed.restoring': location } };
  const filter = { _id: doc._id, 'trashed.root': doc._id };
  await treeModel(context, type).updateOne(filter, change, withTrashed);
  announceStep('restore:named');
  return location;
}

/** The fields of a document that depend on its name. */
const createNameFields = ({ description }: { description: string }, name: string) => ({
  name,
  ...computeSortableNames(name),
  words: searchWords(name, description),
  ...createUnindexedMark(),
});

async function placeItem(context: HostContext, item: ItemDocument, { parentId, name }: RestoredLocation): Promise<void> {
  const { models } = context;
  const folder = await findParent(context, 'folder', parentId);
  const root = folder === null ? {} : rootOf(folder);
  const placedItem = await models.item
    .findOneAndUpdate(
      { _id: item._id, 'trashed.root': item._id },
      { $set: { ...createNameFields(item, name), folderId: parentId, ...root }, $unset: { trashed: 1 } },
      { returnDocument: 'after', ...withTrashed },
    )
    .lean<ItemDocument>();
  if (placedItem === null) return;
  await indexTerms(models.item, placedItem);
  if (placedItem.folderId.equals(item.folderId)) return;
  await addFolderSize(context, item.folderId, -item.size);
  await addFolderSize(context, placedItem.folderId, item.size);
  await addRootSize(context, item, -item.size);
  await addRootSize(context, placedItem, item.size);
}

async function placeFolder(context: HostContext, folder: FolderDocument, location: RestoredLocation): Promise<void> {
  const { models } = context;
  const contentsFilter = { 'trashed.root': folder._id, _id: { $ne: folder._id } };
  const markRemoval = { $unset: { trashed: 1 } };
  await models.folder.updateMany(contentsFilter, markRemoval as object, withTrashed);
  await models.item.updateMany(contentsFilter, markRemoval as object, withTrashed);
  announceStep('restore:contents');
  const parent = await findParent(context, location.parentType, location.parentId);
  const root = parent === null ? null : rootOf(parent);
  const placedFolder = await models.folder
    .findOneAndUpdate(
      { _id: folder._id, 'trashed.root': folder._id },
      {
        $set: {
          ...createNameFields(folder, location.name),
          parentId: location.parentId,
          parentCollection: location.parentType,
          ...root,
        },
        ...markRemoval,
      } as object,
      { returnDocument: 'after', ...withTrashed },
    )
    .lean<FolderDocument>();
  if (placedFolder === null) return;
  await indexTerms(models.folder, placedFolder);
  if (root === null || root.baseParentId.equals(folder.baseParentId)) return;
  const bytes = await setRootOfTree(context, placedFolder, root);
  await addRootSize(context, folder, -bytes);
  await addRootSize(context, root, bytes);
}
