import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Types } from 'mongoose';
import { LargeImageError, type Caller } from '../../index.js';
import { BadParameterError, InvalidError, UnknownIdError, announceStep } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import type { UploadDocument } from './upload.model.js';
import { checkName } from '../tree/names/checked-name.js';
import { registerWithinCapacity } from './capacity.js';
import { finishUpload } from './upload-finish.js';
import { uploadClaimKey } from './upload-removal.js';

/**
 * Maximum time that a request waits while another request writes to the same upload, in milliseconds. Usually, the other request's client has
 * already disconnected.
 */
const writerPatienceMs = 5_000;
/** Time between two checks whether the other request still writes to the upload, in milliseconds. */
const writerPollMs = 25;

/** Properties of a new upload. */
export type NewUpload = Pick<UploadDocument, 'name' | 'size' | 'parentType' | 'parentId' | 'userId'> & {
  mimeType?: string | undefined;
  reference?: string | undefined;
  fileId?: Types.ObjectId | undefined;
  /**
   * Whether the request that starts the upload also contains bytes. The client then learns the id of the upload only when the
   * request ends.
   */
  hasBytes: boolean;
};

/** The result of a request: the file if the upload is complete, otherwise the upload. */
export type UploadResult = { upload: UploadDocument } | { file: FileDocument };

/** Starts an upload of a known size. */
export async function createUpload(context: HostContext, upload: NewUpload): Promise<UploadDocument> {
  const name = checkName('File', upload.name);
  if (upload.size < 0) throw new InvalidError(`Upload size must be 0 or more, not ${upload.size}.`, 'size');
  const maxBytes = await context.setting('core.upload_maximum_size');
  if (maxBytes > 0 && upload.size > maxBytes) {
    throw new LargeImageError(
      'too-large',
      `A file may have at most ${maxBytes} bytes (core.upload_maximum_size), not ${upload.size} bytes.`,
    );
  }
  const quotaRequest = { userId: upload.userId, bytes: upload.size, isUpload: true };
  return registerWithinCapacity(context, quotaRequest, () => recordUpload(context, { ...upload, name }));
}

async function recordUpload(context: HostContext, upload: NewUpload): Promise<UploadDocument> {
  const now = new Date();
  const [createdUpload] = await context.models.upload.create([
    {
      name: upload.name,
      size: upload.size,
      received: 0,
      mimeType: upload.mimeType || 'application/octet-stream',
      parentType: upload.parentType,
      parentId: upload.parentId,
      userId: upload.userId,
      assetstoreId: context.storeId,
      ...(upload.reference !== undefined && { reference: upload.reference }),
      ...(upload.fileId !== undefined && { fileId: upload.fileId }),
      // Until the client knows the upload's id, the upload is removed if this process ends.
      ...(upload.hasBytes && { startedBy: context.life.id }),
      ...(upload.parentType === 'folder' && { itemId: new Types.ObjectId() }),
      created: now,
      updated: now,
    },
  ]);
  return createdUpload!.toObject<UploadDocument>();
}

/** Records that the client knows the id of an upload, so that it can continue the upload. `startedBy` is set only until then. */
export async function markKnownToClient({ models }: HostContext, { _id }: UploadDocument): Promise<void> {
  await models.upload.updateOne({ _id }, { $unset: { startedBy: '' } });
}

/** Loads an upload. @throws UnknownIdError for unknown and for finished uploads. */
export async function loadUpload({ models }: HostContext, id: string): Promise<UploadDocument> {
  const upload = await models.upload.findById(id).lean<UploadDocument>();
  if (upload === null) throw new UnknownIdError('upload', id);
  return upload;
}

/** Waits for a limited time until no request writes to an upload. @returns the number of the upload's bytes that are on disk */
export async function readUploadOffset(context: HostContext, id: Types.ObjectId): Promise<number> {
  const deadline = Date.now() + writerPatienceMs;
  while ((await context.claims.isTaken(uploadClaimKey(id))) && Date.now() < deadline) await delay(writerPollMs);
  return (await loadWithReceivedBytes(context, id.toHexString())).received;
}

/**
 * Loads an upload and corrects its number of received bytes: if the file is in its final position, all bytes have arrived; otherwise,
 * the number is at most the length of the temporary file.
 */
async function loadWithReceivedBytes(context: HostContext, id: string): Promise<UploadDocument> {
  const upload = await loadUpload(context, id);
  if (upload.published === true && (await context.models.file.exists({ _id: upload.fileId ?? upload._id })) === null) {
    // The upload was complete, and its file has been removed since.
    await context.models.upload.deleteOne({ _id: upload._id });
    throw new UnknownIdError('upload', id);
  }
  if (await context.store.has(id)) return { ...upload, received: upload.size };
  const length = (await context.store.lengthOf(id)) ?? 0;
  return { ...upload, received: Math.min(upload.received, length) };
}

/** Runs `work` while no other request writes to the upload. `confirmClaim` throws if another request may have started to write to it. */
async function runAsOnlyWriter<T>(
  context: HostContext,
  uploadId: Types.ObjectId,
  work: (upload: UploadDocument, confirmClaim: () => void) => Promise<T>,
): Promise<T> {
  const id = uploadId.toHexString();
  const createBusyError = () =>
    new LargeImageError('conflict', `Another request is writing to upload ${id}. Wait until it has finished.`);
  return context.claims.run(uploadClaimKey(uploadId), { patienceMs: writerPatienceMs, createBusyError }, async (confirmClaim) =>
    work(await loadWithReceivedBytes(context, id), confirmClaim),
  );
}

/** Part of an upload's bytes, as sent by a request. */
export interface Chunk {
  offset: number;
  body: Readable;
  /** Length of the body in bytes; `null` if the request does not announce the length. */
  announcedBytes: number | null;
  caller: Caller | null;
  signal: AbortSignal;
}

/**
 * Appends a chunk to an upload. The last chunk completes the upload. If the client disconnects, the bytes that have arrived are kept, and the
 * upload can be continued from there.
 */
export async function receiveChunk(context: HostContext, uploadId: Types.ObjectId, chunk: Chunk): Promise<UploadResult> {
  return runAsOnlyWriter(context, uploadId, async (upload, confirmClaim) => {
    const received = await writeChunk(context, upload, chunk, confirmClaim);
    if (received === upload.size) return { file: await finishUpload(context, upload, chunk.caller) };
    return { upload: await loadUpload(context, uploadId.toHexString()) };
  });
}

/** Appends a chunk to an upload. @returns the number of bytes of the upload that are on disk. */
async function writeChunk(
  context: HostContext,
  upload: UploadDocument,
  { offset, body, announcedBytes, signal }: Chunk,
  confirmClaim: () => void,
): Promise<number> {
  const id = upload._id.toHexString();
  if (offset !== upload.received) {
    throw new BadParameterError(`Server has received ${upload.received} bytes, but client sent offset ${offset}.`);
  }
  const createTooManyBytesError = () => new InvalidError('Received too many bytes.');
  if (announcedBytes !== null && offset + announcedBytes > upload.size) throw createTooManyBytesError();
  const minChunkBytes = await context.setting('core.upload_minimum_chunk_size');
  const isTooShort = (chunkBytes: number) => offset + chunkBytes < upload.size && chunkBytes < minChunkBytes;
  const createTooShortError = () => new InvalidError('Chunk is smaller than the minimum size.');
  if (announcedBytes !== null && isTooShort(announcedBytes)) throw createTooShortError();
  // If all bytes had arrived before this request, the file may already be in its final position, where it must not be written to.
  if (offset === upload.size) return (await isStreamEmpty(body)) ? offset : Promise.reject(createTooManyBytesError());
  const writeResult = await context.store.write(id, {
    offset,
    uploadSize: upload.size,
    source: body,
    signal,
    checkPermission: confirmClaim,
  });
  announceStep('upload:written');
  if (writeResult.isTooLong) throw createTooManyBytesError();
  const isInterrupted = writeResult.failure !== undefined;
  if (!isInterrupted && isTooShort(writeResult.received - offset)) {
    await context.store.truncate(id, offset);
    throw createTooShortError();
  }
  confirmClaim();
  await recordReceived(context, upload._id, writeResult.received);
  announceStep('upload:received');
  if (!isInterrupted) return writeResult.received;
  throw new BadParameterError(`The chunk ended after ${writeResult.received - offset} bytes.`, { cause: writeResult.failure });
}

async function isStreamEmpty(body: Readable): Promise<boolean> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    if (chunk.byteLength > 0) return false;
  }
  return true;
}

/**
 * Records the number of received bytes. If the upload was discarded while this request wrote to it, removes the bytes instead.
 *
 * @throws UnknownIdError if the upload was discarded
 */
async function recordReceived({ models, store }: HostContext, _id: Types.ObjectId, received: number): Promise<void> {
  const { matchedCount } = await models.upload.updateOne({ _id }, { $set: { received, updated: new Date() } });
  if (matchedCount > 0) return;
  await store.discard(_id.toHexString());
  throw new UnknownIdError('upload', _id.toHexString());
}

/** Completes an upload whose bytes have all arrived. @throws BadParameterError if bytes are missing. */
export async function completeUpload(
  context: HostContext,
  uploadId: Types.ObjectId,
  caller: Caller | null,
): Promise<FileDocument> {
  return runAsOnlyWriter(context, uploadId, async (upload) => {
    if (upload.received !== upload.size) {
      throw new BadParameterError(
        `Server has only received ${upload.received} bytes, but the file should be ${upload.size} bytes.`,
      );
    }
    const id = uploadId.toHexString();
    if (upload.size === 0 && !(await context.store.has(id))) await context.store.createEmpty(id);
    return finishUpload(context, upload, caller);
  });
}
