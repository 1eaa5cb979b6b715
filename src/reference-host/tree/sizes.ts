import type { Types } from 'mongoose';
import type { HostContext } from '../context.js';
import type { RootType } from './folder.model.js';
import type { ItemDocument } from './item.model.js';

/** Adds bytes to an item, to its folder, and to the collection or user at the root. */
export async function addItemSize(context: HostContext, item: ItemDocument, bytes: number): Promise<void> {
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
  { models }: HostContext,
  { baseParentType, baseParentId }: { baseParentType: RootType; baseParentId: Types.ObjectId },
  bytes: number,
): Promise<void> {
  if (bytes === 0) return;
  const update = { $inc: { size: bytes } };
  if (baseParentType === 'collection') await models.collection.updateOne({ _id: baseParentId }, update);
  else await models.user.updateOne({ _id: baseParentId }, update);
}
