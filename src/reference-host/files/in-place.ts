import { realpath, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Types } from 'mongoose';
import { InvalidError, step } from '../../larger-host.js';
import type { ListedObject } from '../../s3/index.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { FileDocument } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { addItemSize } from '../tree/sizes.js';
import { insertFile } from './files.js';
import { refreshFileInBucket, type FileInBucket } from './in-bucket.js';
import { createItem } from '../tree/items.js';

/** A file on this machine to serve in place. */
export interface InPlaceFile {
  path: string;
  folder: FolderDocument;
  itemName: string;
  creatorId: Types.ObjectId | null;
}

/**
 * Makes an item whose file is a file on this machine, without copying it. Its bytes are never written or removed.
 *
 * @throws InvalidError when the path is no file
 */
export async function registerFileInPlace(
  context: HostContext,
  { path, folder, itemName, creatorId }: InPlaceFile,
): Promise<{ item: ItemDocument; file: FileDocument }> {
  const resolved = await realpath(path);
  const found = await stat(resolved);
  if (!found.isFile()) throw new InvalidError(`Not a file: ${path}`);
  const _id = new Types.ObjectId();
  return context.journal.undertake({ kind: 'making', type: 'item', id: _id }, async () => {
    const item = await createItem(context, folder, { _id, name: itemName, creatorId });
    step('in-place:item');
    const name = basename(path);
    const storage = { kind: 'in-place' as const, path: resolved, modified: found.mtime };
    const file = await insertFile(context, item, { name, size: found.size, storage, creatorId });
    return { item: (await context.models.item.findById(_id).lean<ItemDocument>()) ?? item, file };
  });
}

/** Updates the record of a file that was replaced on disk, and announces the change. */
export async function refreshFileInPlace(context: HostContext, file: FileDocument): Promise<void> {
  const { models, events } = context;
  const { storage } = file;
  if (storage.kind !== 'in-place') return;
  const found = await stat(storage.path);
  if (found.size === file.size && found.mtime.getTime() === storage.modified?.getTime()) return;
  const changes = { size: found.size, 'storage.modified': found.mtime, updated: new Date() };
  const updated = await models.file
    .findOneAndUpdate({ _id: file._id, size: file.size }, { $set: changes }, { returnDocument: 'after' })
    .lean<FileDocument>();
  if (updated === null) return;
  const item = updated.itemId === null ? null : await models.item.findById(updated.itemId).lean<ItemDocument>();
  if (item !== null) await addItemSize(context, item, found.size - (file.size ?? 0));
  await events.emit('file.saved', { file: { ...updated }, created: false });
}

/** Makes an item whose file is an object in a bucket. The object is neither copied nor ever changed. An item that exists already is updated. */
export async function registerFileInBucket(
  context: HostContext,
  {
    bucket,
    object,
    folder,
    name,
    creatorId,
  }: {
    bucket: string;
    object: ListedObject;
    folder: FolderDocument;
    name: string;
    creatorId: Types.ObjectId | null;
  },
): Promise<void> {
  const { models } = context;
  const known = await models.file
    .find({ 'storage.kind': 'bucket', 'storage.path': object.key, 'storage.bucket': bucket })
    .lean<FileInBucket[]>();
  const itemIds = known.flatMap(({ itemId }) => (itemId === null ? [] : [itemId]));
  const isThere = itemIds.length > 0 && (await models.item.exists({ _id: { $in: itemIds }, folderId: folder._id })) !== null;
  if (isThere) {
    for (const file of known) await refreshFileInBucket(context, file, object);
    return;
  }
  const _id = new Types.ObjectId();
  await context.journal.undertake({ kind: 'making', type: 'item', id: _id }, async () => {
    const item = await createItem(context, folder, { _id, name, creatorId });
    step('in-place:item');
    const storage = { kind: 'bucket' as const, bucket, path: object.key, etag: object.etag };
    await insertFile(context, item, { name, size: object.size, storage, creatorId });
  });
}
