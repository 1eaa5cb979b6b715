import type { Model } from 'mongoose';
import type { HostContext } from '../context.js';
import { withTrashed, type TrashedDocument, type TrashMark } from '../trash/trash-mark.js';
import { removeFolder } from './folder-trees.js';
import type { FolderDocument, TreeDocument } from './folder.model.js';
import type { ItemDocument } from './item.model.js';
import { removeItem } from './item-removals.js';

/** A folder or an item. */
export type FolderOrItem = { type: 'folder'; doc: FolderDocument } | { type: 'item'; doc: ItemDocument };

/** The model of folders or of items, with the members that both have. */
export function treeModel({ models }: Pick<HostContext, 'models'>, type: FolderOrItem['type']) {
  return models[type] as unknown as Model<TreeDocument & { trashed?: TrashMark }>;
}

/** Reads a folder or an item, in the trash or not; `null` if it does not exist. */
export async function findFolderOrItem(context: HostContext, { type, id }: TrashedDocument): Promise<FolderOrItem | null> {
  const doc = await treeModel(context, type).findById(id, null, withTrashed).lean();
  // The cast is safe: the document was read from the model of its type.
  return doc === null ? null : ({ type, doc } as unknown as FolderOrItem);
}

/** Removes an item, or a folder with everything in it. */
export function removeFolderOrItem(context: HostContext, { type, doc }: FolderOrItem): Promise<void> {
  return type === 'item' ? removeItem(context, doc) : removeFolder(context, doc);
}
