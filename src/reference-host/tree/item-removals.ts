import type { Types } from 'mongoose';
import { batches, iterateInSlices, announceStep, withoutReadLimit } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import { removeFilesInBatches } from '../files/files.js';
import { withTrashed } from '../trash/trash-mark.js';
import { selectRecordedFields, unrecordedFields, removeWithBelongings } from '../upkeep/removal.js';
import { discardUploadsOf } from '../uploads/upload-removal.js';
import type { ItemDocument } from './item.model.js';
import { releaseNames } from './names/names.js';
import { createFolderSizeComputer, correctSizes, createRootSizeComputer } from './recount.js';
import { addFolderSize, addRootSize, rootModel } from './sizes.js';

/** Projection that leaves out fields that may be large and are not needed to remove an item. */
export const withoutLargeFields = Object.fromEntries(unrecordedFields.map((name) => [name, 0]));

/** Removes an item with its files, attached files and unfinished uploads. */
export function removeItem(context: HostContext, item: ItemDocument): Promise<void> {
  return removeWithBelongings(context, 'item', item, (removed) => removeItemLeftovers(context, [removed]));
}

/**
 * Removes items as {@link removeItem} does, but in batches, so that each step is one command to the database. An interrupted batch is
 * finished later. The batches after it are removed later only if the caller has recorded the whole removal.
 */
export async function removeItems(context: HostContext, items: readonly ItemDocument[]): Promise<void> {
  for (const batch of batches(items)) {
    await context.journal.undertake({ kind: 'item-removals', items: batch.map(selectRecordedFields) }, async () => {
      const ids = batch.map(({ _id }) => _id);
      const { deletedCount } = await context.models.item.deleteMany({ _id: { $in: ids } }, withTrashed);
      announceStep('item-removals:hidden');
      // If other requests have removed some of these items first, sizes are counted again. If other requests have removed all of them, those
      // requests also remove the leftovers.
      if (deletedCount > 0) await removeItemLeftovers(context, batch, deletedCount < batch.length);
    });
  }
}

/** Finishes an interrupted removal of items. Items that still exist are left alone. Can be repeated. */
export async function finishItemRemovals(context: HostContext, items: readonly ItemDocument[]): Promise<void> {
  for (const batch of batches(items)) {
    const ids = batch.map(({ _id }) => _id);
    const documents = await context.models.item.find({ _id: { $in: ids } }, { _id: 1 }, withTrashed).lean();
    const existingIds = new Set(documents.map(({ _id }) => _id.toHexString()));
    const removedItems = batch.filter(({ _id }) => !existingIds.has(_id.toHexString()));
    if (removedItems.length > 0) await removeItemLeftovers(context, removedItems, true);
  }
}

/**
 * Removes everything that belonged to items whose records were removed. The items must fit into one batch.
 *
 * @param recountSizes whether sizes are counted again instead of reduced, because an earlier call may have reduced some of them
 */
export async function removeItemLeftovers(
  context: HostContext,
  items: readonly ItemDocument[],
  recountSizes = false,
): Promise<void> {
  const { models } = context;
  const ids = items.map(({ _id }) => _id);
  await releaseNames(context, ids);
  await discardUploadsOf(context, ids);
  for (const filter of [{ itemId: { $in: ids } }, { attachedToType: 'item', attachedToId: { $in: ids } }]) {
    await removeFilesInBatches(context, iterateInSlices<FileDocument>(models.file.find(filter, null, withoutReadLimit).lean()));
  }
  announceStep('item-removal:emptied');
  for (const [item, size] of sumSizesBy(items, ({ folderId }) => folderId)) {
    if (recountSizes) await correctSizes(models.folder as never, createFolderSizeComputer(context), [item.folderId]);
    else await addFolderSize(context, item.folderId, -size);
  }
  for (const [item, size] of sumSizesBy(items, ({ baseParentId }) => baseParentId)) {
    if (recountSizes)
      await correctSizes(rootModel(context, item.baseParentType) as never, createRootSizeComputer(context), [item.baseParentId]);
    else await addRootSize(context, item, -size);
  }
  await context.events.emit('items.removed', { items: items.map((item) => ({ ...item })) });
}

/** Groups items by an id, and adds up the sizes of each group. @returns an item of each group, and the size of the group in bytes */
function sumSizesBy(
  items: readonly ItemDocument[],
  idOf: (item: ItemDocument) => Types.ObjectId,
): Iterable<[ItemDocument, number]> {
  const totals = new Map<string, [ItemDocument, number]>();
  for (const item of items) {
    const key = idOf(item).toHexString();
    totals.set(key, [item, (totals.get(key)?.[1] ?? 0) + item.size]);
  }
  return totals.values();
}
