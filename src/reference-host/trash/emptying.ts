import type { Types } from 'mongoose';
import { batches, eachInSlices, step } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { findFolderOrItem, removeFolderOrItem, treeModel, type FolderOrItem } from '../tree/tree-documents.js';
import { withTrashed, type TrashedDocument } from './trash-mark.js';

const dayMs = 24 * 60 * 60 * 1000;

/** Removes folders and items that are in the trash for good. If it takes longer than clients wait, it continues after this returns. */
export function removeFromTrash(context: HostContext, named: readonly TrashedDocument[]): Promise<void> {
  return context.journal.finish({ kind: 'trash-removal', named: [...named] }, () => finishRemoval(context, named));
}

/** Removes documents that are still in the trash, unless they are being restored. Can be repeated. */
export async function finishRemoval(context: HostContext, named: readonly TrashedDocument[]): Promise<void> {
  for (const { type, id } of named) {
    // A document whose contents are still being hidden is left alone.
    const filter = { _id: id, 'trashed.root': id, 'trashed.size': { $ne: null }, 'trashed.restoring': null };
    const change = { $set: { 'trashed.removing': true } };
    const doc = await treeModel(context, type).findOneAndUpdate(filter, change, withTrashed).lean();
    if (doc !== null) await removeFolderOrItem(context, { type, doc } as unknown as FolderOrItem);
    step('trash-removal:removed');
  }
}

/** The folders and items that were put into the trash, by a condition on them. Folders come first. */
async function* trashedDocuments(context: HostContext, condition: Record<string, unknown>): AsyncGenerator<TrashedDocument> {
  for (const type of ['folder', 'item'] as const) {
    const found = treeModel(context, type)
      .find({ 'trashed.entry': { $ne: null }, ...condition }, { _id: 1 }, withTrashed)
      .lean();
    for await (const { _id } of eachInSlices<{ _id: Types.ObjectId }>(found)) yield { type, id: _id };
  }
}

/** Removes folders and items that have been in the trash for longer than the setting allows. @returns their number, without their contents */
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

/** Removes everything that a removed user had in the trash. */
export async function removeTrashOf(context: HostContext, userId: Types.ObjectId): Promise<void> {
  for await (const each of trashedDocuments(context, { baseParentId: userId })) {
    const found = await findFolderOrItem(context, each);
    if (found !== null) await removeFolderOrItem(context, found);
  }
}
