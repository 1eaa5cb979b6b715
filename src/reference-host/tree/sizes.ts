import type { Model, Types } from 'mongoose';
import type { HostContext } from '../context.js';
import type { RootType } from './folder.model.js';
import type { ItemPosition } from './item.model.js';

/** Adds bytes to an item, to its folder, and to the collection or user at the root. */
export async function addItemSize(context: HostContext, item: ItemPosition, bytes: number): Promise<void> {
  if (bytes === 0) return;
  await context.models.item.updateOne({ _id: item._id }, { $inc: { size: bytes } });
  await addFolderSize(context, item.folderId, bytes);
  await addRootSize(context, item, bytes);
}

/** Adds bytes to a folder, which counts the items that lie directly in it. */
export async function addFolderSize({ models }: HostContext, folderId: Types.ObjectId, bytes: number): Promise<void> {
  if (bytes !== 0) await models.folder.updateOne({ _id: folderId }, { $inc: { size: bytes } });
}

/** Adds bytes to a collection or user, which count everything below them. */
export async function addRootSize(
  context: HostContext,
  { baseParentType, baseParentId }: { baseParentType: RootType; baseParentId: Types.ObjectId },
  bytes: number,
): Promise<void> {
  if (bytes !== 0) await rootModel(context, baseParentType).updateOne({ _id: baseParentId }, { $inc: { size: bytes } });
}

/** The model of what the topmost folders lie in. */
export function rootModel({ models }: HostContext, type: RootType): Model<{ size: number }> {
  // Both have a size, and nothing else of them is used.
  return (type === 'collection' ? models.collection : models.user) as unknown as Model<{ size: number }>;
}
