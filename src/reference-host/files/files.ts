import { stat } from 'node:fs/promises';
import { Types } from 'mongoose';
import {
  iterateInSlices,
  idsPerQuery,
  InvalidError,
  groupInBatches,
  UnknownIdError,
  announceStep,
  withoutReadLimit,
} from '../../larger-host.js';
import type { Readable } from 'node:stream';
import { readBytes } from './byte-store.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { FileDocument, FileStorage } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { checkName } from '../tree/names/checked-name.js';
import { requireLevel, type Principal } from '../access/access.js';
import { releaseBytes, shareBytes } from './blobs.js';
import { isInBucket, readInBucket } from './in-bucket.js';
import { typeOfNewFile } from './mime-type.js';
import { correctSizesAround } from '../tree/recount.js';
import { removeWithBelongings } from '../upkeep/removal.js';
import { addItemSize } from '../tree/sizes.js';
import { withTrashed } from '../trash/trash-mark.js';

/** Lower-case parts of a file's name after its first dot. */
function extensionsOf(name: string): string[] {
  return name.toLowerCase().split('.').slice(1);
}

/** Loads a file if the caller has this level on the item or other document that it belongs to. */
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
  // Only administrators can load a file whose document no longer exists. Nobody can load it if the document is in the trash.
  else if (!principal.admin || (await isInTrash(context, itemId ?? folderId))) throw new UnknownIdError('file', id);
  return file;
}

async function isInTrash({ models }: HostContext, _id: Types.ObjectId | undefined): Promise<boolean> {
  if (_id === undefined) return false;
  const existenceQueries = [
    models.item.exists({ _id }).setOptions(withTrashed),
    models.folder.exists({ _id }).setOptions(withTrashed),
  ];
  return (await Promise.all(existenceQueries)).some((each) => each !== null);
}

/** The fields of a new file record. */
export interface NewFileRecord {
  _id?: Types.ObjectId;
  name: string;
  mimeType?: string;
  size?: number;
  linkUrl?: string;
  storage: FileStorage;
  creatorId: Types.ObjectId | null;
  /** Whether the file is attached to the item instead of being one of its files. */
  attached?: boolean;
  /** Further fields, which the plugin adds. */
  fields?: Record<string, unknown>;
}

/** A file record to be stored, and the item it belongs to. */
export interface NewFileOfItem {
  itemId: Types.ObjectId;
  record: NewFileRecord;
}

/**
 * Stores the record of a file that belongs to an item, or is attached to it. The bytes of the file must be stored before.
 *
 * @throws InvalidError if the item no longer exists; then no record is left.
 */
export async function insertFile(context: HostContext, item: ItemDocument, record: NewFileRecord): Promise<FileDocument> {
  const [result] = await insertFiles(context, [{ itemId: item._id, record }]);
  if (result!.status === 'rejected') throw result!.reason;
  return result!.value;
}

/** Stores the records of several files as {@link insertFile} does. Files whose items no longer exist are rejected. */
export async function insertFiles(
  context: HostContext,
  files: readonly NewFileOfItem[],
): Promise<PromiseSettledResult<FileDocument>[]> {
  const { models } = context;
  const createdFiles = files.map(toFileDocument);
  // The records are stored without casting, because values from clients have been checked.
  await models.file.insertMany(createdFiles, { lean: true });
  announceStep('file:recorded');
  const itemIds = [...new Map(files.map(({ itemId }) => [itemId.toHexString(), itemId])).values()];
  const itemDocuments = await models.item
    .find({ _id: { $in: itemIds } }, { folderId: 1, baseParentType: 1, baseParentId: 1 })
    .lean<ItemDocument[]>();
  const itemsById = new Map(itemDocuments.map((item) => [item._id.toHexString(), item]));
  const results: PromiseSettledResult<FileDocument>[] = [];
  for (const [index, { itemId, record }] of files.entries()) {
    const file = createdFiles[index]!;
    const item = itemsById.get(itemId.toHexString());
    if (item === undefined) {
      await models.file.deleteOne({ _id: file._id });
      results.push({ status: 'rejected', reason: new InvalidError(`No such item: ${itemId.toHexString()}`, 'id') });
      continue;
    }
    if (record.attached !== true) await addItemSize(context, item, file.size ?? 0);
    announceStep('file:counted');
    await context.events.emit('file.saved', { file: { ...file }, created: true });
    results.push({ status: 'fulfilled', value: file });
  }
  return results;
}

/** Stores the records of files before the records of their items. Until the items are stored, nobody can see the files. */
export async function insertHiddenFiles({ models }: HostContext, files: readonly NewFileOfItem[]): Promise<FileDocument[]> {
  const createdFiles = files.map(toFileDocument);
  await models.file.insertMany(createdFiles, { lean: true });
  announceStep('file:recorded');
  return createdFiles;
}

function toFileDocument({ itemId, record }: NewFileOfItem): FileDocument {
  const { attached = false, fields, mimeType, ...otherFields } = record;
  return {
    _id: new Types.ObjectId(),
    ...fields,
    ...otherFields,
    mimeType: typeOfNewFile(record.name, mimeType),
    itemId: attached ? null : itemId,
    ...(attached && { attachedToType: 'item', attachedToId: itemId }),
    exts: extensionsOf(record.name),
    created: new Date(),
  };
}

/** Removes a file: first the record, then the bytes. If several processes remove the file at the same time, only one of them does the work. */
export async function removeFile(context: HostContext, fileId: Types.ObjectId): Promise<void> {
  const file = await context.models.file.findById(fileId).lean<FileDocument>();
  if (file === null) return;
  // An attached file can be removed without the journal: no item is served from it, and a sweep removes bytes without a record.
  if (file.itemId === null) await removeFilesInBatches(context, [file]);
  else await removeWithBelongings(context, 'file', file, (removed) => removeFileLeftovers(context, removed));
}

/** Removes attached files, or files whose items no longer exist. The records of a batch are removed before the bytes. Can be repeated. */
export async function removeFilesInBatches(
  context: HostContext,
  files: AsyncIterable<FileDocument> | Iterable<FileDocument>,
): Promise<void> {
  for await (const batch of groupInBatches(files, idsPerQuery)) {
    await context.models.file.deleteMany({ _id: { $in: batch.map(({ _id }) => _id) } });
    announceStep('file-removal:hidden');
    await removeBytesAndAttachments(context, batch);
  }
}

/**
 * Removes everything that belonged to a file after its record was removed.
 *
 * @param isRepeated whether an earlier call may have done a part of this
 */
export async function removeFileLeftovers(context: HostContext, file: FileDocument, isRepeated = false): Promise<void> {
  const item =
    file.itemId === null ? null : await context.models.item.findById(file.itemId, null, withTrashed).lean<ItemDocument>();
  if (item !== null && !isRepeated) await addItemSize(context, item, -(file.size ?? 0));
  announceStep('file-removal:counted');
  await removeBytesAndAttachments(context, [file]);
  if (item !== null && isRepeated) await correctSizesAround(context, item);
}

async function removeBytesAndAttachments(context: HostContext, files: readonly FileDocument[]): Promise<void> {
  await releaseBytes(
    context,
    files.map(({ _id, storage }) => ({ fileId: _id, storage })),
  );
  const attachedFilter = { attachedToType: 'file', attachedToId: { $in: files.map(({ _id }) => _id) } };
  await removeFilesInBatches(
    context,
    iterateInSlices<FileDocument>(context.models.file.find(attachedFilter, null, withoutReadLimit).lean()),
  );
  await context.events.emit('files.removed', { files: files.map((file) => ({ ...file })) });
}

/** Changes name or type of a file. */
export async function updateFile(
  context: HostContext,
  file: FileDocument,
  { name, mimeType }: { name?: string | undefined; mimeType?: string | undefined },
): Promise<FileDocument> {
  const newName = name === undefined ? undefined : checkName('File', name);
  const changes = {
    ...(newName !== undefined && { name: newName, exts: extensionsOf(newName) }),
    ...(mimeType !== undefined && { mimeType }),
    updated: new Date(),
  };
  const updatedFile = await context.models.file
    .findOneAndUpdate({ _id: file._id }, { $set: changes }, { returnDocument: 'after' })
    .lean<FileDocument>();
  if (updatedFile === null) throw new UnknownIdError('file', file._id.toHexString());
  await context.events.emit('file.saved', { file: { ...updatedFile }, created: false });
  return updatedFile;
}

/** Copies a file to an item. Both files share the bytes. */
export async function copyFile(
  context: HostContext,
  source: FileDocument,
  item: ItemDocument,
  creatorId: Types.ObjectId | null,
): Promise<FileDocument> {
  const { _id, itemId: _itemId, exts: _exts, created: _created, updated: _updated, storage, name, size, ...others } = source;
  const { mimeType, linkUrl, creatorId: _creator, ...fields } = others;
  const fileId = new Types.ObjectId();
  await shareBytes(context, { fileId, storage });
  announceStep('file-copy:shared');
  try {
    return await insertFile(context, item, {
      _id: fileId,
      name,
      mimeType,
      storage,
      creatorId,
      fields,
      ...(size !== undefined && { size }),
      ...(linkUrl !== undefined && { linkUrl }),
    });
  } catch (error) {
    await releaseBytes(context, [{ fileId, storage }]);
    throw error;
  }
}

/** Path of a file's bytes on this machine; `null` for links and objects in buckets. */
export function localPath({ store }: HostContext, { storage }: FileDocument): string | null {
  if (storage.kind === 'stored') return store.pathOf(storage.key);
  return storage.kind === 'in-place' ? storage.path : null;
}

/**
 * The length of a file in bytes; 0 for links. If the file is served in place, the length is read from the disk, because the file may have been
 * replaced.
 */
export async function readCurrentSize({ size = 0, storage }: FileDocument): Promise<number> {
  if (storage.kind !== 'in-place') return size;
  // If the file no longer exists, reading it reports that.
  return stat(storage.path).then(
    (stats) => stats.size,
    () => size,
  );
}

/** Bytes of a file from `start` to `end`, not including `end`. @throws InvalidError for links. */
export async function readFile(
  context: HostContext,
  file: FileDocument,
  range: { start: number; end: number },
  signal?: AbortSignal,
): Promise<Readable> {
  if (isInBucket(file)) return readInBucket(context, file, range, signal);
  const path = localPath(context, file);
  if (path === null)
    throw new InvalidError(`The file ${file.name} is a link; its bytes are at ${file.linkUrl ?? 'its address'}.`);
  return readBytes(path, { start: range.start, end: Math.min(range.end, await readCurrentSize(file)) });
}

/** Moves a file to another item. */
export async function moveFile(
  context: HostContext,
  { _id, itemId, size = 0 }: FileDocument,
  targetItemId: Types.ObjectId,
): Promise<void> {
  const { models } = context;
  if (itemId === null || itemId.equals(targetItemId)) return;
  const parentFields = { folderId: 1, baseParentType: 1, baseParentId: 1 };
  const items = await models.item.find({ _id: { $in: [itemId, targetItemId] } }, parentFields).lean<ItemDocument[]>();
  await context.journal.undertake({ kind: 'file-move', items }, async () => {
    const { modifiedCount } = await models.file.updateOne({ _id, itemId }, { $set: { itemId: targetItemId } });
    if (modifiedCount === 0) return;
    announceStep('file:moved');
    for (const item of items) await addItemSize(context, item, item._id.equals(targetItemId) ? size : -size);
  });
}
