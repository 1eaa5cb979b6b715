import type { Types } from 'mongoose';
import { batches, eachInSlices, step } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { removeFolder } from '../tree/folder-trees.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { removeItem } from '../tree/items.js';
import { withTrashed, type TrashedDocument } from './trash-mark.js';

const dayMs = 24 * 60 * 60 * 1000;

/** Removes folders and items that are in the trash for good. If it takes longer than clients wait, it continues after this returns. */
export function removeFromTrash(context: HostContext, named: readonly TrashedDocument[]): Promise<void> {
  return context.journal.finish({ kind: 'trash-removal', named: [...named] }, () => finishRemoval(context, named));
}

/** Removes documents that are still in the trash, unless they are being restored. Can be repeated. */
export async function finishRemoval(context: HostContext, named: readonly TrashedDocument[]): Promise<void> {
  const { models } = context;
  for (const { type, id } of named) {
    // A document whose contents are still being hidden is left alone.
    const filter = { _id: id, 'trashed.root': id, 'trashed.size': { $ne: null }, 'trashed.restoring': null };
    const change = { $set: { 'trashed.removing': true } };
    if (type === 'item') {
      const item = await models.item.findOneAndUpdate(filter, change, withTrashed).lean<ItemDocument>();
      if (item !== null) await removeItem(context, item);
    } else {
      const folder = await models.folder.findOneAndUpdate(filter, change, withTrashed).lean<FolderDocument>();
      if (folder !== null) await removeFolder(context, folder);
    }
    step('trash-removal:removed');
  }
}

/** What has been put into the trash, by a condition on these documents. Folders come first. */
async function* trashedDocuments({ models }: HostContext, condition: Record<string, unknown>): AsyncGenerator<TrashedDocument> {
  for (const type of ['folder', 'item'] as const) {
    const model = models[type] as typeof models.folder;
    const found = model.find({ 'trashed.entry': { $ne: null }, ...condition }, { _id: 1 }, withTrashed).lean();
    for await (const { _id } of eachInSlices<{ _id: Types.ObjectId }>(found)) yield { type, id: _id };
  }
}

/** Removes what has been in the trash for longer than the setting allows. @returns how many folders and items that were put there. */
export async function removeExpired(context: HostContext, signal: AbortSignal): Promise<number> {
  const days = await context.setting('core.trash_days');
  if (days === 0) return 0;
  const expired: TrashedDocument[] = [];
  const before = new Date(Date.now() - days * dayMs);
  for await (const each of trashedDocuments(context, { 'trashed.entry': { $lte: before } })) expired.push(each);
  for (const some of batches(expired)) {
    signal.throwIfAborted();
    await finishRemoval(context, some);
  }
  return expired.length;
}

/** Removes what a removed user had in the trash. */
export async function removeTrashOf(context: HostContext, userId: Types.ObjectId): Promise<void> {
  const { models } = context;
  for await (const { type, id } of trashedDocuments(context, { baseParentId: userId })) {
    if (type === 'item') {
      const item = await models.item.findById(id, null, withTrashed).lean<ItemDocument>();
      if (item !== null) await removeItem(context, item);
    } else {
      const folder = await models.folder.findById(id, null, withTrashed).lean<FolderDocument>();
      if (folder !== null) await removeFolder(context, folder);
    }
  }
}
