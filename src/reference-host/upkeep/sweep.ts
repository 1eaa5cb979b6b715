import type { Model, Types } from 'mongoose';
import { iterateInSlices, withoutReadLimit } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { BlobDocument } from '../files/blob.model.js';
import type { FileStorage } from '../files/file.model.js';
import { releaseBytes, type FileReference } from '../files/blobs.js';
import { indexMissingTerms } from '../tree/finding/index-terms.js';
import {
  createFolderSizeComputer,
  createItemSizeComputer,
  correctSizes,
  createRootSizeComputer,
  type ComputeSizes,
} from '../tree/recount.js';
import { removeExpiredTrash } from '../trash/emptying.js';
import { withTrashed } from '../trash/trash-mark.js';
import { discardStaleUploads } from '../uploads/upload-removal.js';

/** Number of documents, or of files, that are checked together. */
const batchSize = 500;
/** A file is recorded within this time after its bytes were registered, or never. */
const maxRecordingMs = 24 * 60 * 60 * 1000;

/** Options of a sweep. */
export interface SweepOptions {
  /** Time in milliseconds after which an upload that is not continued is removed. */
  uploadLifetimeMs: number;
  signal: AbortSignal;
}

/** Counts of what a sweep removed, corrected, and found missing. */
export interface SweepCounts {
  /** Removed unfinished uploads. */
  uploads: number;
  /** Removed folders and items that were in the trash for too long. */
  trash: number;
  /** Removed registrations of bytes whose files were never created or no longer exist. */
  registrations: number;
  /** Removed files in the data folder to which no record refers. */
  bytes: number;
  /** Corrected sizes of items, folders, collections and users. */
  sizes: number;
  /** Documents whose search terms were added or updated. */
  indexed: number;
  /** Files whose bytes are not in the data folder. They are not removed, because the server may have been started with the wrong folder. */
  missing: number;
}

/**
 * Removes leftovers of processes that died, uploads that users have abandoned, and everything that was in the trash for too long. Corrects
 * sizes and search terms. Bytes are registered before they are stored, so bytes that are being written are kept.
 */
export async function sweep(context: HostContext, { uploadLifetimeMs, signal }: SweepOptions): Promise<SweepCounts> {
  const { models, life, store, storeId } = context;
  const uploads = await discardStaleUploads(context, new Date(Date.now() - uploadLifetimeMs));
  const trash = await removeExpiredTrash(context, signal);
  const { registrations, missing } = await sweepRegistrations(context, signal);
  const bytes = (await store.belongsTo(storeId.toHexString())) ? await sweepBytes(context, signal) : 0;
  const sizes =
    (await correctAllSizes(models.item as never, createItemSizeComputer(context), signal)) +
    (await correctAllSizes(models.folder as never, createFolderSizeComputer(context), signal)) +
    (await correctAllSizes(models.collection as never, createRootSizeComputer(context), signal)) +
    (await correctAllSizes(models.user as never, createRootSizeComputer(context), signal));
  const indexed = await indexMissingTerms([models.item, models.folder, models.collection] as never, signal);
  for (const id of await life.findDeadProcesses()) {
    await models.claim.deleteMany({ process: id });
    await life.forgetProcess(id);
  }
  return { uploads, trash, registrations, bytes, sizes, indexed, missing };
}

async function sweepRegistrations(
  context: HostContext,
  signal: AbortSignal,
): Promise<Pick<SweepCounts, 'registrations' | 'missing'>> {
  const { models, store } = context;
  const isAliveByProcess = new Map<string, Promise<boolean>>();
  const isAlive = (id: string) => {
    if (!isAliveByProcess.has(id)) isAliveByProcess.set(id, context.life.isAlive(id));
    return isAliveByProcess.get(id)!;
  };
  let registrations = 0;
  let missing = 0;
  const registeredBlobs = models.blob.find({}, null, withoutReadLimit).lean();
  for await (const blobs of readInBatches(iterateInSlices<BlobDocument>(registeredBlobs), signal)) {
    const keys = blobs.map(({ _id }) => _id);
    const uploadKeys = await findUploadKeys(context, keys);
    const files = await models.file.find({ 'storage.key': { $in: keys } }, { storage: 1 }).lean();
    const recordedReferences = new Set(
      files.map(({ _id, storage }) => (storage.kind === 'stored' ? `${storage.key}/${_id.toHexString()}` : '')),
    );
    const allUnusedReferences: FileReference[] = [];
    for (const { _id: key, references } of blobs) {
      if (uploadKeys.has(key)) continue;
      const unusedReferences: FileReference[] = [];
      const isRecorded = references.some(({ fileId }) => recordedReferences.has(`${key}/${fileId.toHexString()}`));
      for (const { fileId, process, since } of references) {
        if (recordedReferences.has(`${key}/${fileId.toHexString()}`)) continue;
        const mayStillBeRecorded = Date.now() - since.getTime() < maxRecordingMs && (await isAlive(process));
        if (!mayStillBeRecorded) unusedReferences.push({ fileId, storage: { kind: 'stored', key } });
      }
      if (references.length === 0) await models.blob.deleteOne({ _id: key, 'references.0': { $exists: false } });
      // The bytes may be about to be stored, or the file may have been removed since its record was read.
      else if (isRecorded && !(await store.has(key)) && (await models.file.exists({ 'storage.key': key })) !== null) missing++;
      allUnusedReferences.push(...unusedReferences);
      if (unusedReferences.length > 0 || references.length === 0) registrations++;
    }
    await releaseBytes(context, allUnusedReferences);
  }
  return { registrations, missing };
}

/** Removes bytes in the data folder that belong to no upload, registration or recorded file. @returns the number of removed files */
async function sweepBytes(context: HostContext, signal: AbortSignal): Promise<number> {
  const { models, store } = context;
  let removedCount = 0;
  for await (const storedFiles of readInBatches(store.list(), signal)) {
    const keys = storedFiles.map(({ key }) => key);
    // Uploads are read before registrations, because bytes are registered before their upload is removed.
    const uploadKeys = await findUploadKeys(context, keys);
    const registeredBlobs = await models.blob.find({ _id: { $in: keys } }, { _id: 1 }).lean();
    const files = await models.file.find({ 'storage.key': { $in: keys } }, { storage: 1 }).lean();
    const knownKeys = new Set([...registeredBlobs.map(({ _id }) => _id), ...files.map(({ storage }) => storageKeyOf(storage))]);
    for (const { key, remove } of storedFiles) {
      if (uploadKeys.has(key) || knownKeys.has(key)) continue;
      await remove();
      removedCount++;
    }
  }
  return removedCount;
}

const storageKeyOf = (storage: FileStorage) => (storage.kind === 'stored' ? storage.key : '');

async function findUploadKeys({ models }: HostContext, keys: readonly string[]): Promise<Set<string>> {
  const ids = keys.filter((key) => key.length === 24);
  return new Set((await models.upload.find({ _id: { $in: ids } }, { _id: 1 }).lean()).map(({ _id }) => _id.toHexString()));
}

async function correctAllSizes(model: Model<never>, computeSizes: ComputeSizes, signal: AbortSignal): Promise<number> {
  let correctedCount = 0;
  const documents = (model as unknown as Model<{ _id: Types.ObjectId }>)
    .find({}, { _id: 1 }, { ...withoutReadLimit, ...withTrashed })
    .lean();
  for await (const batch of readInBatches(iterateInSlices<{ _id: Types.ObjectId }>(documents), signal)) {
    correctedCount += await correctSizes(
      model,
      computeSizes,
      batch.map(({ _id }) => _id),
    );
  }
  return correctedCount;
}

async function* readInBatches<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const each of source) {
    signal.throwIfAborted();
    batch.push(each);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
