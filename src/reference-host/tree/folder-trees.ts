import type { Types } from 'mongoose';
import { InvalidError } from '../../index.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from './folder.model.js';
import type { ItemDocument } from './item.model.js';
import { discardUploadsOf } from '../uploads/upload-removal.js';
import { ancestorsOf, createFolder, placeFolder, rootOf, type FolderParent } from './folders.js';
import { copyItem, removeItem } from './items.js';
import { releaseName } from './names/names.js';
import { addRootSize } from './sizes.js';

/** Removes a folder with everything in it. Interrupted, it can be done again. */
export async function removeFolder(context: HostContext, folder: FolderDocument): Promise<void> {
  const { models } = context;
  await emptyFolder(context, folder);
  const removed = await models.folder.findOneAndDelete({ _id: folder._id }).lean<FolderDocument>();
  await releaseName(context, { parentId: folder.parentId, ownerId: folder._id }, folder.name);
  if (removed === null) return;
  // What came in between: items and folders are only kept while their folder exists.
  await emptyFolder(context, folder);
  await context.events.emit('folder.removed', { folder: { ...removed } });
}

/** Removes everything in a folder, but not the folder. */
export async function emptyFolder(context: HostContext, folder: FolderDocument): Promise<void> {
  await discardUploadsOf(context, folder._id);
  const items = context.models.item.find({ folderId: folder._id }).lean<ItemDocument>().cursor();
  for await (const item of items) await removeItem(context, item);
  await removeFoldersIn(context, folder._id);
}

/** Removes the folders that lie directly in a folder, collection or user. */
export async function removeFoldersIn(context: HostContext, parentId: Types.ObjectId): Promise<void> {
  for (const child of await context.models.folder.find({ parentId }).lean<FolderDocument[]>()) await removeFolder(context, child);
}

/** The folders below a folder, parents before children. */
async function foldersBelow({ models }: HostContext, folder: FolderDocument): Promise<FolderDocument[]> {
  const found: FolderDocument[] = [];
  const seen = new Set([folder._id.toHexString()]);
  let parents = [folder._id];
  while (parents.length > 0) {
    const next: Types.ObjectId[] = [];
    for (const parentId of parents) {
      for (const child of await models.folder.find({ parentId }).lean<FolderDocument[]>()) {
        const key = child._id.toHexString();
        if (seen.has(key)) continue;
        seen.add(key);
        found.push(child);
        next.push(child._id);
      }
    }
    parents = next;
  }
  return found;
}

/** @throws InvalidError when a target is a folder or lies below it. */
async function refuseCircle(context: HostContext, folder: FolderDocument, target: FolderParent): Promise<void> {
  if (target.type !== 'folder') return;
  const doc = (await context.models.folder.findById(target.doc._id).lean<FolderDocument>()) ?? target.doc;
  const above = [target, ...(await ancestorsOf(context, doc))];
  if (above.some((parent) => parent.doc._id.equals(folder._id))) {
    throw new InvalidError('You may not move a folder underneath itself.');
  }
}

/** Moves a folder. @throws InvalidError when the target lies in the folder itself, or the name is taken there. */
export async function moveFolder(context: HostContext, folder: FolderDocument, target: FolderParent): Promise<FolderDocument> {
  const { models } = context;
  await refuseCircle(context, folder, target);
  const root = rootOf(target);
  const moved = await placeFolder(context, folder, { parentId: target.doc._id, parentCollection: target.type, ...root });
  try {
    // Once more: of two moves at once, each may have put its folder below the other's.
    await refuseCircle(context, folder, target);
  } catch (error) {
    const { parentId, parentCollection, baseParentId, baseParentType } = folder;
    await placeFolder(context, moved, { parentId, parentCollection, baseParentId, baseParentType });
    throw error;
  }
  if (!root.baseParentId.equals(folder.baseParentId)) {
    let bytes = 0;
    for (const { _id, size } of [moved, ...(await foldersBelow(context, moved))]) {
      bytes += size;
      await models.folder.updateOne({ _id }, { $set: root });
      await models.item.updateMany({ folderId: _id }, { $set: root });
    }
    await addRootSize(context, folder, -bytes);
    await addRootSize(context, root, bytes);
  }
  await context.events.emit('access.changed', {});
  return moved;
}

/** A copy of a folder with everything in it. A name that is taken gets a number behind it. */
export async function copyFolder(
  context: HostContext,
  source: FolderDocument,
  target: FolderParent,
  options: {
    name?: string | undefined;
    description?: string | undefined;
    public?: boolean | undefined;
    creatorId: Types.ObjectId | null;
    /** Whether the annotations of the items are copied too. Default true. */
    copyAnnotations?: boolean | undefined;
    /** Which folders are copied; others are left out with what is in them. */
    isReadable(folder: FolderDocument): boolean;
  },
): Promise<FolderDocument> {
  // Listed before anything is made: a folder can be copied into itself.
  const below = await foldersBelow(context, source);
  const { creatorId, copyAnnotations } = options;
  const copy = await createFolder(context, target, {
    name: options.name ?? source.name,
    description: options.description ?? source.description,
    public: options.public ?? source.public,
    copiedMetadata: source.meta,
    creatorId,
    allowRename: true,
  });
  const copies = new Map([[source._id.toHexString(), copy]]);
  const itemIds = new Map<string, Types.ObjectId[]>();
  for (const folder of [source, ...below]) {
    const items = await context.models.item.find({ folderId: folder._id }, { _id: 1 }).lean();
    itemIds.set(
      folder._id.toHexString(),
      items.map((item) => item._id),
    );
  }
  for (const folder of [source, ...below]) {
    const key = folder._id.toHexString();
    if (!copies.has(key)) {
      const parent = copies.get(folder.parentId.toHexString());
      if (parent === undefined || !options.isReadable(folder)) continue;
      const { name, description, meta } = folder;
      const made = { name, description, public: folder.public, copiedMetadata: meta, creatorId, allowRename: true };
      copies.set(key, await createFolder(context, { type: 'folder', doc: parent }, made));
    }
    for (const id of itemIds.get(key) ?? []) {
      const item = await context.models.item.findById(id).lean<ItemDocument>();
      if (item !== null) await copyItem(context, item, copies.get(key)!, { creatorId, copyAnnotations });
    }
  }
  return copy;
}
