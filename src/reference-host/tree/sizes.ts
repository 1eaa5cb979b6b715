import type { Model, Types } from 'mongoose';
import type { HostContext } from '../context.js';
import { withTrashed } from '../trash/trash-mark.js';
import type { RootType } from './folder.model.js';
import type { ItemLocation } from './item.model.js';

/** Adds bytes to the sizes of an item, its folder and its root. */
export async function addItemSize(context: HostContext, item: ItemLocation, bytes: number): Promise<void> {
  if (bytes === 0) return;
  await context.models.item.updateOne({ _id: item._id }, { $inc: { size: bytes } }, withTrashed);
  await addFolderSize(context, item.folderId, bytes);
  await addRootSize(context, item, bytes);
}

/** Adds bytes to the size of a folder, which is the sum over the items directly in it. */
export async function addFolderSize({ models }: HostContext, folderId: Types.ObjectId, bytes: number): Promise<void> {
  if (bytes !== 0) await models.folder.updateOne({ _id: folderId }, { $inc: { size: bytes } }, withTrashed);
}

/** Adds bytes to the size of a collection or user, which is the sum over everything below it. */
export async function addRootSize(
  context: HostContext,
  { baseParentType, baseParentId }: { baseParentType: RootType; baseParentId: Types.ObjectId },
  bytes: number,
): Promise<void> {
  if (bytes !== 0) await rootModel(context, baseParentType).updateOne({ _id: baseParentId }, { $inc: { size: bytes } });
}

/** The model of collections or of users, the roots of trees of folders. */
export function rootModel({ models }: HostContext, type: RootType): Model<{ size: number }> {
  // The cast is safe: only the size is used, which the documents of both models have.
  return (type === 'collection' ? models.collection : models.user) as unknown as Model<{ size: number }>;
}
