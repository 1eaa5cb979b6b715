import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Types } from 'mongoose';
import { BadParameterError, InvalidError, LargeImageError, UnknownIdError, type Caller } from '../../index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { UploadDocument } from './upload.model.js';
import { checkedName } from '../tree/names/checked-name.js';
import { isDuplicateKey } from '../duplicate-key.js';
import { insertFile, registerBytes, releaseBytes } from '../files/files.js';
import { createItem, touchItem } from '../tree/items.js';
import { addItemSize } from '../tree/sizes.js';
import { discardUpload } from './upload-removal.js';

/** A writer that stops renewing its claim has died; others may go on after this time. */
const writerLeaseMs = 30_000;
/** How long a request waits for another one on the same upload to end, mostly one whose client has gone. */
const writerPatienceMs = 5_000;
const writerPollMs = 25;

/** What a new upload is like. */
export type NewUpload = Pick<UploadDocument, 'name' | 'size' | 'parentType' | 'parentId' | 'userId'> & {
  mimeType?: string | undefined;
  reference?: string | undefined;
  fileId?: Types.ObjectId | undefined;
};

/** What an upload has become: a file when it is complete. */
export type UploadResult = { upload: UploadDocument } | { file: FileDocument };

/** Announces a file of a known size. */
export async function createUpload(context: HostContext, upload: NewUpload): Promise<UploadDocument> {
  const name = checkedName('File', upload.name);
  if (upload.size < 0) throw new InvalidError(`Upload size must be 0 or more, not ${upload.size}.`, 'size');
  const now = new Date();
  const [created] = await context.models.upload.create([
    {
      name,
      size: upload.size,
      received: 0,
      mimeType: upload.mimeType || 'application/octet-stream',
      parentType: upload.parentType,
      parentId: upload.parentId,
      userId: upload.userId,
      assetstoreId: context.storeId,
      ...(upload.reference !== undefined && { reference: upload.reference }),
      ...(upload.fileId !== undefined && { fileId: upload.fileId }),
      created: now,
      updated: now,
    },
  ]);
  return created!.toObject<UploadDocument>();
}

/** An upload by id. @throws BadParameterError `Invalid upload id (…).` also for a finished one. */
export async function loadUpload({ models }: HostContext, id: string): Promise<UploadDocument> {
  const upload = await models.upload.findById(id).lean<UploadDocument>();
  if (upload === null) throw new UnknownIdError('upload', id);
  return upload;
}

/** How many bytes of an upload are safely on disk, once nobody writes to it. */
export async function uploadOffset(context: HostContext, id: string): Promise<number> {
  const deadline = Date.now() + writerPatienceMs;
  for (;;) {
    const upload = await loadUpload(context, id);
    if (!isBeingWritten(upload) || Date.now() > deadline) return upload.received;
    await delay(writerPollMs);
  }
}

function isBeingWritten({ writer }: UploadDocument): boolean {
  return writer !== null && writer !== undefined && writer.until.getTime() > Date.now();
}

interface Writer {
  upload: UploadDocument;
  id: string;
  stopRenewing(): void;
}

/** Makes the caller the only one who writes to an upload. */
async function becomeWriter(context: HostContext, uploadId: Types.ObjectId): Promise<Writer> {
  const { models, logger } = context;
  const id = randomUUID();
  const deadline = Date.now() + writerPatienceMs;
  const until = () => new Date(Date.now() + writerLeaseMs);
  for (;;) {
    const free = { _id: uploadId, $or: [{ writer: null }, { 'writer.until': { $lt: new Date() } }] };
    const upload = await models.upload
      .findOneAndUpdate(free, { $set: { writer: { id, until: until() } } }, { returnDocument: 'after' })
      .lean<UploadDocument>();
    if (upload !== null) {
      const renew = () => {
        models.upload
          .updateOne({ _id: uploadId, 'writer.id': id }, { $set: { 'writer.until': until() } })
          .catch((error: unknown) => logger.warn({ err: error, uploadId }, 'Upload:Renew:Failed'));
      };
      const timer = setInterval(renew, writerLeaseMs / 3);
      timer.unref();
      return { upload, id, stopRenewing: () => clearInterval(timer) };
    }
    await loadUpload(context, uploadId.toHexString());
    if (Date.now() > deadline) {
      throw new LargeImageError('conflict', `Another request is writing to upload ${uploadId.toHexString()}.`);
    }
    await delay(writerPollMs);
  }
}

/** One stretch of an upload's bytes as a request brings it. */
export interface Chunk {
  offset: number;
  body: Readable;
  /** What the request says about its length, in bytes. */
  announced: number | null;
  caller: Caller | null;
  signal: AbortSignal;
}

/**
 * Appends a chunk to an upload; the last one completes it. When the client goes away half way, what has arrived stays, and the
 * upload can be continued from there.
 */
export async function receiveChunk(context: HostContext, uploadId: Types.ObjectId, chunk: Chunk): Promise<UploadResult> {
  const writer = await becomeWriter(context, uploadId);
  let received = writer.upload.received;
  try {
    received = await writeChunk(context, writer.upload, chunk, (length) => (received = length));
    const upload = { ...writer.upload, received };
    if (received === upload.size) return { file: await finishUpload(context, upload, chunk.caller) };
  } finally {
    writer.stopRenewing();
    await letGo(context, writer, received);
  }
  return { upload: await loadUpload(context, uploadId.toHexString()) };
}

/** Ends the claim on an upload and records how much of it is on disk. Bytes of an upload that is gone meanwhile are removed. */
async function letGo({ models, store }: HostContext, writer: Writer, received: number): Promise<void> {
  const { _id } = writer.upload;
  const { matchedCount } = await models.upload.updateOne(
    { _id, 'writer.id': writer.id },
    { $set: { received, updated: new Date(), writer: null } },
  );
  if (matchedCount === 0 && (await models.upload.exists({ _id })) === null) await store.discard(_id.toHexString());
}

async function writeChunk(
  context: HostContext,
  upload: UploadDocument,
  { offset, body, announced, signal }: Chunk,
  onProgress: (received: number) => void,
): Promise<number> {
  const id = upload._id.toHexString();
  if (offset !== upload.received) {
    throw new BadParameterError(`Server has received ${upload.received} bytes, but client sent offset ${offset}.`);
  }
  const tooMany = () => new InvalidError('Received too many bytes.');
  if (announced !== null && offset + announced > upload.size) throw tooMany();
  const minimum = await context.setting('core.upload_minimum_chunk_size');
  const tooShort = (length: number) => offset + length < upload.size && length < minimum;
  const shortChunk = () => new InvalidError('Chunk is smaller than the minimum size.');
  if (announced !== null && tooShort(announced)) throw shortChunk();
  const written = await context.store.write(id, { offset, size: upload.size, source: body, signal });
  if (written.tooMany) throw tooMany();
  onProgress(written.received);
  if (written.failure !== undefined) {
    // The disk is full, or fails: not the client's mistake.
    if ((written.failure as NodeJS.ErrnoException).syscall === 'write') throw written.failure;
    throw new BadParameterError(`The chunk stopped after ${written.received - offset} bytes.`, { cause: written.failure });
  }
  if (tooShort(written.received - offset)) {
    await context.store.truncate(id, offset);
    onProgress(offset);
    throw shortChunk();
  }
  return written.received;
}

/** Completes an upload whose bytes have all arrived. @throws BadParameterError when some are missing. */
export async function completeUpload(
  context: HostContext,
  uploadId: Types.ObjectId,
  caller: Caller | null,
): Promise<FileDocument> {
  const writer = await becomeWriter(context, uploadId);
  const { upload } = writer;
  try {
    if (upload.received !== upload.size) {
      throw new BadParameterError(
        `Server has only received ${upload.received} bytes, but the file should be ${upload.size} bytes.`,
      );
    }
    if (upload.size === 0) await context.store.createEmpty(uploadId.toHexString());
    return await finishUpload(context, upload, caller);
  } finally {
    writer.stopRenewing();
    await letGo(context, writer, upload.received);
  }
}

async function finishUpload(context: HostContext, upload: UploadDocument, caller: Caller | null): Promise<FileDocument> {
  const { models, store, events } = context;
  // The same key and the same record id when this is done once more after a crash.
  const key = upload._id.toHexString();
  await store.commit(key, key);
  await registerBytes(context, key, upload.size);
  let file: FileDocument;
  try {
    file =
      upload.fileId === undefined ? await fileOfUpload(context, upload) : await replaceContents(context, upload, upload.fileId);
  } catch (error) {
    // What was lost may be the reply and not the record, which then needs its bytes; the upload can be completed once more.
    if ((await models.file.exists({ _id: upload.fileId ?? upload._id, 'storage.key': key })) === null) {
      await releaseBytes(context, { kind: 'stored', key });
      await discardUpload(context, upload._id);
    }
    throw error;
  }
  await models.upload.deleteOne({ _id: upload._id });
  const { reference } = upload;
  await events.emit('upload.finished', { file: { ...file }, caller, ...(reference !== undefined && { reference }) });
  return file;
}

async function fileOfUpload(context: HostContext, upload: UploadDocument): Promise<FileDocument> {
  const { models } = context;
  const made = await models.file.findById(upload._id).lean<FileDocument>();
  if (made !== null) return made;
  const item = await itemOfUpload(context, upload);
  try {
    return await insertFile(context, item, {
      _id: upload._id,
      name: upload.name,
      mimeType: upload.mimeType,
      size: upload.size,
      storage: { kind: 'stored', key: upload._id.toHexString() },
      creatorId: upload.userId,
    });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return (await models.file.findById(upload._id).lean<FileDocument>())!;
  }
}

async function itemOfUpload(context: HostContext, upload: UploadDocument): Promise<ItemDocument> {
  const { models } = context;
  const { parentId, parentType, name, userId } = upload;
  const noParent = () => new InvalidError(`No such ${parentType}: ${parentId.toHexString()}`, 'id');
  if (parentType === 'item') {
    const item = await models.item.findById(parentId).lean<ItemDocument>();
    if (item === null) throw noParent();
    return item;
  }
  const folder = await models.folder.findById(parentId).lean<FolderDocument>();
  if (folder === null) throw noParent();
  return createItem(context, folder, { name, creatorId: userId });
}

async function replaceContents(context: HostContext, upload: UploadDocument, fileId: Types.ObjectId): Promise<FileDocument> {
  const { models, events } = context;
  const key = upload._id.toHexString();
  const changes = {
    storage: { kind: 'stored' as const, key },
    size: upload.size,
    created: new Date(),
    creatorId: upload.userId,
  };
  const before = await models.file
    .findOneAndUpdate({ _id: fileId }, { $set: changes, $unset: { linkUrl: '' } }, { returnDocument: 'before' })
    .lean<FileDocument>();
  if (before === null) throw new UnknownIdError('file', fileId.toHexString());
  const isRepeated = before.storage.kind === 'stored' && before.storage.key === key;
  if (!isRepeated) {
    await releaseBytes(context, before.storage);
    const item = before.itemId === null ? null : await models.item.findById(before.itemId).lean<ItemDocument>();
    if (item !== null) {
      await addItemSize(context, item, upload.size - (before.size ?? 0));
      // What was made of the old bytes is known by this date.
      await touchItem(context, item._id);
    }
  }
  const { linkUrl: _linkUrl, ...kept } = before;
  const file: FileDocument = { ...kept, ...changes };
  await events.emit('file.saved', { file: { ...file }, created: false });
  return file;
}
