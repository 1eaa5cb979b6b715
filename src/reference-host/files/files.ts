import { stat } from 'node:fs/promises';
import { Types } from 'mongoose';
import { InvalidError, UnknownIdError } from '../../index.js';
import type { Readable } from 'node:stream';
import { readBytes } from './byte-store.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { FileDocument, FileStorage } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { checkedName } from '../tree/names/checked-name.js';
import { requireLevel, type Principal } from '../access/access.js';
import { isDuplicateKey } from '../duplicate-key.js';
import { typeOfNewFile } from './mime-type.js';
import { addItemSize } from '../tree/sizes.js';

/** Lower-case parts of a file's name after its first dot. */
export function extensionsOf(name: string): string[] {
  return name.toLowerCase().split('.').slice(1);
}

/** A file on which somebody has a level, through the item or other document it belongs to. */
export async function loadFile(
  context: HostContext,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<FileDocument> {
  const { models } = context;
  const file = await models.file.findById(id).lean<FileDocument>();
  if (file === null) throw new UnknownIdError('file', id);
  const itemId = file.itemId ?? (file.attachedToType === 'item' ? file.attachedToId : undefined);
  const item = itemId === undefined ? null : await models.item.findById(itemId, { folderId: 1 }).lean();
  const folderId = item?.folderId ?? (file.attachedToType === 'folder' ? file.attachedToId : undefined);
  const folder = folderId === undefined ? null : await models.folder.findById(folderId).lean();
  if (folder !== null) requireLevel('folder', folder, principal, level);
  // A file that belongs to nothing that still exists is on its way out.
  else if (!principal.admin) throw new UnknownIdError('file', id);
  return file;
}

/** What a new file record needs beyond its storage. */
export interface FileRecord {
  _id?: Types.ObjectId;
  name: string;
  mimeType?: string;
  size?: number;
  linkUrl?: string;
  storage: FileStorage;
  creatorId: Types.ObjectId | null;
  attached?: boolean;
  fields?: Record<string, unknown>;
}

/** A file record to be stored, and the item it belongs to. */
export interface NewFileOfItem {
  itemId: Types.ObjectId;
  record: FileRecord;
}

/**
 * Records a file of an item, or one attached to it. The bytes must be complete before.
 *
 * @throws InvalidError when the item has been removed meanwhile; no record is left then.
 */
export async function insertFile(context: HostContext, item: ItemDocument, record: FileRecord): Promise<FileDocument> {
  const [inserted] = await insertFiles(context, [{ itemId: item._id, record }]);
  if (inserted!.status === 'rejected') throw inserted!.reason;
  return inserted!.value;
}

/** Records several files as {@link insertFile} does; those whose items have been removed meanwhile are rejected. */
export async function insertFiles(
  context: HostContext,
  files: readonly NewFileOfItem[],
): Promise<PromiseSettledResult<FileDocument>[]> {
  const { models } = context;
  const created = files.map(newFields);
  // Complete as they are: what comes from clients has been checked.
  await models.file.insertMany(created, { lean: true });
  const itemIds = [...new Map(files.map(({ itemId }) => [itemId.toHexString(), itemId])).values()];
  const found = await models.item
    .find({ _id: { $in: itemIds } }, { folderId: 1, baseParentType: 1, baseParentId: 1 })
    .lean<ItemDocument[]>();
  const items = new Map(found.map((item) => [item._id.toHexString(), item]));
  const results: PromiseSettledResult<FileDocument>[] = [];
  for (const [index, { itemId, record }] of files.entries()) {
    const file = created[index]!;
    const item = items.get(itemId.toHexString());
    if (item === undefined) {
      await models.file.deleteOne({ _id: file._id });
      results.push({ status: 'rejected', reason: new InvalidError(`No such item: ${itemId.toHexString()}`, 'id') });
      continue;
    }
    if (record.attached !== true) await addItemSize(context, item, file.size ?? 0);
    await context.events.emit('file.saved', { file: { ...file }, created: true });
    results.push({ status: 'fulfilled', value: file });
  }
  return results;
}

function newFields({ itemId, record }: NewFileOfItem): FileDocument {
  const { attached = false, fields, mimeType, ...rest } = record;
  return {
    _id: new Types.ObjectId(),
    ...fields,
    ...rest,
    mimeType: typeOfNewFile(record.name, mimeType),
    itemId: attached ? null : itemId,
    ...(attached && { attachedToType: 'item', attachedToId: itemId }),
    exts: extensionsOf(record.name),
    created: new Date(),
  };
}

/** Counts one more file record that uses bytes of the store. @throws InvalidError when the bytes are gone. */
export async function shareBytes({ models }: HostContext, storage: FileStorage): Promise<void> {
  if (storage.kind !== 'stored') return;
  const filter = { _id: storage.key, references: { $gte: 1 } };
  const blob = await models.blob.findOneAndUpdate(filter, { $inc: { references: 1 } });
  if (blob === null) throw new InvalidError('The file has been removed meanwhile.');
}

/** Counts one file record less that uses bytes of the store; the last one takes the bytes with it. */
export async function releaseBytes({ models, store }: HostContext, storage: FileStorage): Promise<void> {
  if (storage.kind !== 'stored') return;
  const { key } = storage;
  const blob = await models.blob
    .findOneAndUpdate({ _id: key, references: { $gte: 1 } }, { $inc: { references: -1 } }, { returnDocument: 'after' })
    .lean();
  if (blob === null || blob.references > 0) return;
  const { deletedCount } = await models.blob.deleteOne({ _id: key, references: 0 });
  if (deletedCount === 1) await store.remove(key);
}

/** Registers bytes of the store that one file record will use. Done twice for a key, it does nothing more. */
export async function registerBytes(context: HostContext, key: string, size: number): Promise<void> {
  await registerAllBytes(context, [{ key, size }]);
}

/** {@link registerBytes} for several. */
export async function registerAllBytes({ models }: HostContext, bytes: readonly { key: string; size: number }[]): Promise<void> {
  try {
    await models.blob.insertMany(
      bytes.map(({ key, size }) => ({ _id: key, size, references: 1 })),
      { ordered: false, lean: true },
    );
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

/** Removes a file: record, then bytes. Of several removals at once one does the work. */
export async function removeFile(context: HostContext, fileId: Types.ObjectId): Promise<void> {
  const { models } = context;
  const file = await models.file.findOneAndDelete({ _id: fileId }).lean<FileDocument>();
  if (file === null) return;
  await releaseBytes(context, file.storage);
  const item = file.itemId === null ? null : await models.item.findById(file.itemId).lean<ItemDocument>();
  if (item !== null) await addItemSize(context, item, -(file.size ?? 0));
  const attached = await models.file.find({ attachedToType: 'file', attachedToId: file._id }, { _id: 1 }).lean();
  for (const { _id } of attached) await removeFile(context, _id);
  await context.events.emit('file.removed', { file: { ...file } });
}

/** Changes name or type of a file. */
export async function updateFile(
  context: HostContext,
  file: FileDocument,
  { name, mimeType }: { name?: string | undefined; mimeType?: string | undefined },
): Promise<FileDocument> {
  const checked = name === undefined ? undefined : checkedName('File', name);
  const changes = {
    ...(checked !== undefined && { name: checked, exts: extensionsOf(checked) }),
    ...(mimeType !== undefined && { mimeType }),
    updated: new Date(),
  };
  const updated = await context.models.file
    .findOneAndUpdate({ _id: file._id }, { $set: changes }, { returnDocument: 'after' })
    .lean<FileDocument>();
  if (updated === null) throw new UnknownIdError('file', file._id.toHexString());
  await context.events.emit('file.saved', { file: { ...updated }, created: false });
  return updated;
}

/** A copy of a file in an item; the bytes are shared. */
export async function copyFile(
  context: HostContext,
  source: FileDocument,
  item: ItemDocument,
  creatorId: Types.ObjectId | null,
): Promise<FileDocument> {
  const { _id, itemId: _itemId, exts: _exts, created: _created, updated: _updated, storage, name, size, ...others } = source;
  const { mimeType, linkUrl, creatorId: _creator, ...fields } = others;
  await shareBytes(context, storage);
  try {
    return await insertFile(context, item, {
      name,
      mimeType,
      storage,
      creatorId,
      fields,
      ...(size !== undefined && { size }),
      ...(linkUrl !== undefined && { linkUrl }),
    });
  } catch (error) {
    await releaseBytes(context, storage);
    throw error;
  }
}

/** Path of a file's bytes on this machine; `null` for links. */
export function localPathOf({ store }: HostContext, { storage }: FileDocument): string | null {
  if (storage.kind === 'stored') return store.pathOf(storage.key);
  return storage.kind === 'in-place' ? storage.path : null;
}

/** Length of a file in bytes as it is now: somebody else may have replaced one that is served in place. 0 for links. */
export async function sizeOf({ size = 0, storage }: FileDocument): Promise<number> {
  if (storage.kind !== 'in-place') return size;
  // Reading it says that it is gone.
  return stat(storage.path).then(
    (found) => found.size,
    () => size,
  );
}

/** Bytes of a file from `start` up to, not including, `end`. @throws InvalidError for links. */
export async function readFile(
  context: HostContext,
  file: FileDocument,
  range: { start: number; end: number },
): Promise<Readable> {
  const path = localPathOf(context, file);
  if (path === null)
    throw new InvalidError(`The file ${file.name} is a link; its bytes are at ${file.linkUrl ?? 'its address'}.`);
  return readBytes(path, { start: range.start, end: Math.min(range.end, await sizeOf(file)) });
}
