import { LargeImageError, type Caller } from '../../index.js';
import { InvalidError, UnknownIdError, announceStep } from '../../larger-host.js';
import { MissingBytesError } from '../files/byte-store.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { UploadDocument } from './upload.model.js';
import { registerBytes, releaseBytes } from '../files/blobs.js';
import { insertFile, insertHiddenFiles } from '../files/files.js';
import { createItem, touchItem } from '../tree/items.js';
import { correctSizesAround } from '../tree/recount.js';
import { addItemSize } from '../tree/sizes.js';
import { withTrashed } from '../trash/trash-mark.js';

/**
 * Turns an upload whose bytes have all arrived into a file. Each step can be repeated, so that a client can complete the upload after a
 * crash. To make this possible, the id of the upload is also the key of its bytes and the id of a new file.
 */
export async function finishUpload(context: HostContext, upload: UploadDocument, caller: Caller | null): Promise<FileDocument> {
  const { models, store, events } = context;
  const { size, userId, reference } = upload;
  const key = upload._id.toHexString();
  const fileReference = { fileId: upload.fileId ?? upload._id, storage: { kind: 'stored' as const, key } };
  await registerBytes(context, [{ key, size, userId, fileId: fileReference.fileId }]);
  announceStep('upload:registered');
  let file: FileDocument;
  try {
    await store.commit(key, { key, size });
    announceStep('upload:moved');
    file = await createOrReplaceFile(context, upload);
  } catch (error) {
    // Other errors may be temporary, and the upload can be completed later.
    if (!isPermanentFailure(error)) throw error;
    await releaseBytes(context, [fileReference]);
    await models.upload.deleteOne({ _id: upload._id });
    await store.discard(key);
    throw error instanceof MissingBytesError ? new UnknownIdError('upload', key) : error;
  }
  // A listener that reads the reference may remove the file. This mark shows that the upload was complete anyway.
  if (reference !== undefined) await models.upload.updateOne({ _id: upload._id }, { $set: { published: true } });
  announceStep('upload:published');
  await events.emit('upload.finished', { id: key, file: { ...file }, caller, ...(reference !== undefined && { reference }) });
  announceStep('upload:announced');
  await models.upload.deleteOne({ _id: upload._id });
  announceStep('upload:forgotten');
  return file;
}

/** Whether an upload can never be completed, because its parent was removed or the upload was discarded. */
function isPermanentFailure(error: unknown): boolean {
  return (
    error instanceof MissingBytesError ||
    (error instanceof LargeImageError && (error.code === 'invalid' || error.code === 'unknown-id'))
  );
}

function createOrReplaceFile(context: HostContext, upload: UploadDocument): Promise<FileDocument> {
  if (upload.fileId !== undefined) return replaceContents(context, upload);
  return upload.parentType === 'item' ? addToItem(context, upload) : createItemWithFile(context, upload);
}

function createFileRecord(upload: UploadDocument) {
  const { _id, name, mimeType, size, userId } = upload;
  return { _id, name, mimeType, size, storage: { kind: 'stored' as const, key: _id.toHexString() }, creatorId: userId };
}

async function addToItem(context: HostContext, upload: UploadDocument): Promise<FileDocument> {
  const { models, events } = context;
  const existingFile = await models.file.findById(upload._id).lean<FileDocument>();
  // The file has been moved to another item, and its first item may no longer exist.
  if (existingFile !== null && existingFile.itemId?.equals(upload.parentId) !== true) return existingFile;
  const item = await models.item.findById(upload.parentId).lean<ItemDocument>();
  if (item === null) throw new InvalidError(`No such item: ${upload.parentId.toHexString()}`, 'id');
  if (existingFile === null) return insertFile(context, item, createFileRecord(upload));
  await correctSizesAround(context, item);
  await events.emit('file.saved', { file: { ...existingFile }, created: true });
  return existingFile;
}

/** Creates the file and then its item. The item makes the file visible. */
async function createItemWithFile(context: HostContext, upload: UploadDocument): Promise<FileDocument> {
  const { models, events } = context;
  const itemId = upload.itemId!;
  // The item is read before the file. If the item is missing because the file was moved to another item, the file that is read next names the
  // other item.
  const existingItem = await models.item.findById(itemId, null, withTrashed).lean<ItemDocument>();
  const file =
    (await models.file.findById(upload._id).lean<FileDocument>()) ??
    (await insertHiddenFiles(context, [{ itemId, record: createFileRecord(upload) }]))[0]!;
  if (file.itemId?.equals(itemId) !== true) return file;
  if (existingItem === null) {
    try {
      const folder = await models.folder.findById(upload.parentId).lean<FolderDocument>();
      if (folder === null) throw new InvalidError(`No such folder: ${upload.parentId.toHexString()}`, 'id');
      const { name, size, userId } = upload;
      await createItem(context, folder, { _id: itemId, name, size, creatorId: userId });
    } catch (error) {
      if (isPermanentFailure(error)) await models.file.deleteOne({ _id: file._id });
      throw error;
    }
  } else await correctSizesAround(context, existingItem);
  await events.emit('file.saved', { file: { ...file }, created: true });
  // A listener of the event may have moved the file to another item.
  return (await models.file.findById(file._id).lean<FileDocument>()) ?? file;
}

async function replaceContents(context: HostContext, upload: UploadDocument): Promise<FileDocument> {
  const { models, events } = context;
  const fileId = upload.fileId!;
  const key = upload._id.toHexString();
  const changes = {
    storage: { kind: 'stored' as const, key },
    size: upload.size,
    created: new Date(),
    creatorId: upload.userId,
  };
  const formerFile = await models.file
    .findOneAndUpdate({ _id: fileId }, { $set: changes, $unset: { linkUrl: '' } }, { returnDocument: 'before' })
    .lean<FileDocument>();
  if (formerFile === null) throw new UnknownIdError('file', fileId.toHexString());
  announceStep('upload:replaced');
  const isRepeated = formerFile.storage.kind === 'stored' && formerFile.storage.key === key;
  const item = formerFile.itemId === null ? null : await models.item.findById(formerFile.itemId).lean<ItemDocument>();
  if (!isRepeated) {
    await releaseBytes(context, [{ fileId, storage: formerFile.storage }]);
    if (item !== null) await addItemSize(context, item, upload.size - (formerFile.size ?? 0));
    announceStep('upload:counted');
  } else if (item !== null) await correctSizesAround(context, item);
  // Caches detect from this date that the bytes have changed.
  if (item !== null) await touchItem(context, item._id);
  const { linkUrl: _linkUrl, ...otherFields } = formerFile;
  const file: FileDocument = { ...otherFields, ...changes };
  await events.emit('file.saved', { file: { ...file }, created: false });
  return file;
}
