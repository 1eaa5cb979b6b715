import type { Types } from 'mongoose';
import { batches, iterateInSlices, idsPerQuery, groupInBatches, announceStep, withoutReadLimit } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { removeFolder } from '../tree/folder-trees.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { removeItems, withoutLargeFields } from '../tree/item-removals.js';
import { findFolderOrItem, removeFolderOrItem, treeModel, type FolderOrItem } from '../tree/tree-documents.js';
import { withTrashed, type TrashedDocument } from './trash-mark.js';
import { countTrashed } from './trashing.js';

const dayMs = 24 * 60 * 60 * 1000;

/** Permanently removes folders and items that are in the trash. If this takes longer than clients wait, it continues in the background. */
export function removeFromTrash(context: HostContext, documents: readonly TrashedDocument[]): Promise<void> {
  return context.journal.undertakeWithoutUndo({ kind: 'trash-removal', named: [...documents] }, () =>
    finishTrashRemoval(context, documents),
  );
}

/**
 * Removes documents that are still in the trash, unless they are being restored or removed. Can be repeated.
 *
 * @param resumesRemovals whether to continue removals that have begun
 */
export async function finishTrashRemoval(
  context: HostContext,
  documents: readonly TrashedDocument[],
  resumesRemovals = false,
): Promise<void> {
  const idsOf = (requestedType: FolderOrItem['type']) =>
    documents.flatMap(({ type, id }) => (type === requestedType ? [id] : []));
  for (const ids of batches(idsOf('folder'))) {
    for (const folder of await claimForRemoval<FolderDocument>(context, 'folder', ids, resumesRemovals)) {
      await removeTrashedFolder(context, folder);
      announceStep('trash-removal:removed');
    }
  }
  for (const ids of batches(idsOf('item'))) {
    await removeItems(context, await claimForRemoval<ItemDocument>(context, 'item', ids, resumesRemovals));
    announceStep('trash-removal:removed');
  }
}

/** Marks documents as being removed, so that they can no longer be restored. @returns the marked documents. */
async function claimForRemoval<D extends FolderDocument | ItemDocument>(
  context: HostContext,
  type: FolderOrItem['type'],
  ids: readonly Types.ObjectId[],
  resumesRemovals: boolean,
): Promise<D[]> {
  const model = treeModel(context, type);
  // Documents whose contents are still being hidden are left alone.
  const removableCondition = { 'trashed.entry': { $ne: null }, 'trashed.size': { $ne: null }, 'trashed.restoring': null };
  const filter = { _id: { $in: [...ids] }, ...removableCondition, ...(!resumesRemovals && { 'trashed.removing': null }) };
  const documents = await model.find(filter, { _id: 1 }, withTrashed).lean();
  const claimableFilter = { _id: { $in: documents.map(({ _id }) => _id) }, ...removableCondition };
  await model.updateMany(claimableFilter, { $set: { 'trashed.removing': true } }, withTrashed);
  return model.find({ ...claimableFilter, 'trashed.removing': true }, withoutLargeFields, withTrashed).lean<D[]>();
}

/** Removes a folder from the trash. Until its items are removed, the folder stays in the trash and shows how many items are left. */
async function removeTrashedFolder(context: HostContext, folder: FolderDocument): Promise<void> {
  const { models } = context;
  const { _id } = folder;
  let { items: remainingItems, size: remainingBytes } = await countTrashed(context, _id);
  const trashedItems = models.item
    .find({ 'trashed.root': _id }, withoutLargeFields, { ...withTrashed, ...withoutReadLimit })
    .lean();
  for await (const batch of groupInBatches(iterateInSlices<ItemDocument>(trashedItems), idsPerQuery)) {
    await removeItems(context, batch);
    remainingItems -= batch.length;
    for (const item of batch) remainingBytes -= item.size;
    const remainingCounts = { 'trashed.items': remainingItems, 'trashed.size': remainingBytes };
    await models.folder.updateOne({ _id }, { $set: remainingCounts }, withTrashed);
    announceStep('trash-removal:items');
  }
  await removeFolder(context, folder);
}

/** The folders and items in the trash that satisfy a condition, folders first, without the contents of trashed folders. */
async function* findTrashedDocuments(context: HostContext, condition: Record<string, unknown>): AsyncGenerator<TrashedDocument> {
  for (const type of ['folder', 'item'] as const) {
    const documents = treeModel(context, type)
      .find({ 'trashed.entry': { $ne: null }, ...condition }, { _id: 1 }, withTrashed)
      .lean();
    for await (const { _id } of iterateInSlices<{ _id: Types.ObjectId }>(documents)) yield { type, id: _id };
  }
}

/**
 * Removes folders and items that have been in the trash for longer than the setting allows. @returns their number, not counting the contents
 * of folders
 */
export async function removeExpiredTrash(context: HostContext, signal: AbortSignal): Promise<number> {
  const days = await context.setting('core.trash_days');
  if (days === 0) return 0;
  const expiredDocuments: TrashedDocument[] = [];
  const trashedBefore = new Date(Date.now() - days * dayMs);
  for await (const each of findTrashedDocuments(context, { 'trashed.entry': { $lte: trashedBefore } }))
    expiredDocuments.push(each);
  for (const batch of batches(expiredDocuments)) {
    signal.throwIfAborted();
    await context.journal.undertake({ kind: 'trash-removal', named: [...batch] }, () => finishTrashRemoval(context, batch));
  }
  return expiredDocuments.length;
}

/** Removes everything that a removed user had in the trash. */
export async function removeTrashOfUser(context: HostContext, userId: Types.ObjectId): Promise<void> {
  for await (const each of findTrashedDocuments(context, { baseParentId: userId })) {
    const document = await findFolderOrItem(context, each);
    if (document !== null) await removeFolderOrItem(context, document);
  }
}
