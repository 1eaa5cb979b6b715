import { Types } from 'mongoose';
import { InvalidError, UnknownIdError } from '../../index.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { FileDocument } from '../files/file.model.js';
import type { FolderDocument } from './folder.model.js';
import type { ItemDocument } from './item.model.js';
import { wordsOf } from '../words.js';
import { checkedName } from './names/checked-name.js';
import { requireLevel, type Principal } from '../access/access.js';
import { copyFile, removeFile } from '../files/files.js';
import { newMetadata, writeMetadata, type MetadataUpdate } from './metadata.js';
import { claimFreeName, releaseName } from './names/names.js';
import { addFolderSize, addRootSize } from './sizes.js';
import { discardUploadsOf } from '../uploads/upload-removal.js';

/** An item on which somebody has a level, and its folder. */
export async function loadItem(
  context: HostContext,
  id: string | Types.ObjectId,
  principal: Principal,
  level: GrantedLevel,
): Promise<{ item: ItemDocument; folder: FolderDocument }> {
  const item = await context.models.item.findById(id).lean<ItemDocument>();
  if (item === null) throw new UnknownIdError('item', String(id));
  const folder = await context.models.folder.findById(item.folderId).lean<FolderDocument>();
  if (folder === null) throw new UnknownIdError('item', String(id));
  requireLevel('folder', folder, principal, level);
  return { item, folder };
}

/** What a new item is like. */
export interface NewItem {
  name: string;
  description?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  creatorId: Types.ObjectId | null;
  /** Gives the item of this name, where there is one, instead of a new one. */
  reuseExisting?: boolean | undefined;
  /** Fields of the plugin. */
  fields?: Record<string, unknown> | undefined;
}

/** Makes an item; a name that is taken gets a number behind it. */
export async function createItem(context: HostContext, folder: FolderDocument, item: NewItem): Promise<ItemDocument> {
  const name = checkedName('Item', item.name);
  const metadata = newMetadata(item.metadata);
  if (item.reuseExisting) {
    const existing = await context.models.item.findOne({ folderId: folder._id, name }).lean<ItemDocument>();
    if (existing !== null) return existing;
  }
  return insertItem(context, folder, {
    ...item.fields,
    name,
    description: item.description?.trim() ?? '',
    creatorId: item.creatorId,
    meta: metadata,
  });
}

type ItemStart = Pick<ItemDocument, 'name' | 'description' | 'creatorId' | 'meta'> & { [field: string]: unknown };

async function insertItem(context: HostContext, folder: FolderDocument, start: ItemStart): Promise<ItemDocument> {
  const { models } = context;
  const _id = new Types.ObjectId();
  const place = { parentId: folder._id, ownerType: 'item' as const, ownerId: _id };
  const name = await claimFreeName(context, place, start.name);
  const now = new Date();
  const item: ItemDocument = {
    ...start,
    _id,
    name,
    lowerName: name.toLowerCase(),
    folderId: folder._id,
    baseParentType: folder.baseParentType,
    baseParentId: folder.baseParentId,
    created: now,
    updated: now,
    size: 0,
    words: wordsOf(name, start.description),
  };
  try {
    // Past Mongoose: copies carry fields of the plugin, and metadata may hold what looks like operators.
    await models.item.collection.insertOne(item);
    if ((await models.folder.exists({ _id: folder._id })) === null) {
      await models.item.deleteOne({ _id });
      throw new InvalidError(`No such folder: ${folder._id.toHexString()}`, 'id');
    }
  } catch (error) {
    await releaseName(context, place, name);
    throw error;
  }
  await context.events.emit('item.saved', { item: { ...item } });
  return item;
}

/** What can be changed of an item. */
export interface ItemChanges {
  name?: string | undefined;
  description?: string | undefined;
  /** Metadata to merge. */
  metadata?: MetadataUpdate | undefined;
  /** Where to move it. */
  folder?: FolderDocument | undefined;
}

/** Changes an item; a name that is taken gets a number behind it. */
export async function updateItem(context: HostContext, item: ItemDocument, changes: ItemChanges): Promise<ItemDocument> {
  const { models } = context;
  const folderId = changes.folder?._id ?? item.folderId;
  const wanted = changes.name === undefined ? item.name : checkedName('Item', changes.name);
  const isElsewhere = !folderId.equals(item.folderId);
  const place = { parentId: folderId, ownerType: 'item' as const, ownerId: item._id };
  const name = isElsewhere || wanted !== item.name ? await claimFreeName(context, place, wanted) : item.name;
  const description = changes.description?.trim() ?? item.description;
  const base = changes.folder ?? item;
  const updated = await models.item
    .findOneAndUpdate(
      // A change made by somebody else meanwhile must not be undone half.
      { _id: item._id, folderId: item.folderId, name: item.name },
      {
        $set: {
          name,
          lowerName: name.toLowerCase(),
          description,
          words: wordsOf(name, description),
          folderId,
          baseParentType: base.baseParentType,
          baseParentId: base.baseParentId,
          updated: new Date(),
        },
      },
      { returnDocument: 'after' },
    )
    .lean<ItemDocument>();
  if (updated === null) {
    if (isElsewhere || name !== item.name) await releaseName(context, place, name);
    const current = await models.item.findById(item._id).lean<ItemDocument>();
    if (current === null) throw new UnknownIdError('item', item._id.toHexString());
    return updateItem(context, current, changes);
  }
  if (isElsewhere || name !== item.name) {
    await releaseName(context, { parentId: item.folderId, ownerId: item._id }, item.name);
  }
  if (isElsewhere) {
    await addFolderSize(context, item.folderId, -updated.size);
    await addFolderSize(context, folderId, updated.size);
    await addRootSize(context, item, -updated.size);
    await addRootSize(context, updated, updated.size);
    await context.events.emit('access.changed', {});
  }
  return changes.metadata ? setItemMetadata(context, updated, changes.metadata) : announce(context, updated);
}

/** Changes the metadata of an item. */
export async function setItemMetadata(context: HostContext, item: ItemDocument, update: MetadataUpdate): Promise<ItemDocument> {
  const updated = await writeMetadata(context.models.item, item._id, update);
  if (updated === null) throw new UnknownIdError('item', item._id.toHexString());
  return announce(context, updated);
}

/** Marks an item as changed now. */
export async function touchItem(context: HostContext, id: Types.ObjectId): Promise<void> {
  const updated = await context.models.item
    .findOneAndUpdate({ _id: id }, { $set: { updated: new Date() } }, { returnDocument: 'after' })
    .lean<ItemDocument>();
  if (updated !== null) await announce(context, updated);
}

async function announce(context: HostContext, item: ItemDocument): Promise<ItemDocument> {
  await context.events.emit('item.saved', { item: { ...item } });
  return item;
}

/** Removes an item with its files, attached files and unfinished uploads. Interrupted, it can be done again. */
export async function removeItem(context: HostContext, item: ItemDocument): Promise<void> {
  const { models } = context;
  await discardUploadsOf(context, item._id);
  await removeFilesOf(context, item._id);
  const removed = await models.item.findOneAndDelete({ _id: item._id }).lean<ItemDocument>();
  await releaseName(context, { parentId: item.folderId, ownerId: item._id }, item.name);
  if (removed === null) return;
  // What came in between: the record of a file is only kept while its item exists.
  await removeFilesOf(context, item._id);
  await context.events.emit('item.removed', { item: { ...removed } });
}

async function removeFilesOf(context: HostContext, itemId: Types.ObjectId): Promise<void> {
  const filter = { $or: [{ itemId }, { attachedToType: 'item', attachedToId: itemId }] };
  for await (const file of context.models.file.find(filter, { _id: 1 }).lean().cursor()) await removeFile(context, file._id);
}

/** The ordinary files of an item, by name. */
export async function filesOf({ models }: HostContext, item: Pick<ItemDocument, '_id'>): Promise<FileDocument[]> {
  return models.file.find({ itemId: item._id }).sort({ name: 1, _id: 1 }).lean<FileDocument[]>();
}

/** A copy of an item with its files, metadata and whatever else is written on it. */
export async function copyItem(
  context: HostContext,
  source: ItemDocument,
  folder: FolderDocument,
  {
    name,
    description,
    creatorId,
    copyAnnotations,
  }: {
    name?: string | undefined;
    description?: string | undefined;
    creatorId: Types.ObjectId | null;
    copyAnnotations?: boolean | undefined;
  },
): Promise<ItemDocument> {
  const copy = await insertItem(context, folder, {
    ...source,
    name: name === undefined ? source.name : checkedName('Item', name),
    description: description?.trim() ?? source.description,
    creatorId,
    copyOfItem: source._id,
  });
  const fileIds = new Map<string, string>();
  try {
    for (const file of await filesOf(context, source)) {
      const copied = await copyFile(context, file, copy, creatorId);
      fileIds.set(file._id.toHexString(), copied._id.toHexString());
    }
  } catch (error) {
    await removeItem(context, copy);
    throw error;
  }
  const complete = (await context.models.item.findById(copy._id).lean<ItemDocument>()) ?? copy;
  await context.events.emit('item.copied', {
    source: { ...source },
    item: { ...complete },
    fileIds,
    userId: creatorId?.toHexString() ?? null,
    copyAnnotations: copyAnnotations !== false,
  });
  return (await context.models.item.findById(copy._id).lean<ItemDocument>()) ?? complete;
}
