import type { Model, Types } from 'mongoose';
import { eachInSlices, withoutReadLimit } from '../../index.js';
import type { HostContext } from '../context.js';
import type { BlobDocument } from '../files/blob.model.js';
import type { FileStorage } from '../files/file.model.js';
import { releaseBytes, type StoredReference } from '../files/blobs.js';
import { folderSums, itemSums, recount, rootSums, type SumOf } from '../tree/recount.js';
import { discardStaleUploads } from '../uploads/upload-removal.js';

/** Documents, or files, that are looked at together. */
const batchSize = 500;
/** A process that lives and has not recorded a file after this never will. */
const recordedWithinMs = 24 * 60 * 60 * 1000;

/** How a sweep goes about. */
export interface SweepOptions {
  /** Milliseconds after which an upload that nobody continues is forgotten. */
  uploadLifetimeMs: number;
  signal: AbortSignal;
}

/** What a sweep found. */
export interface Swept {
  /** Unfinished uploads that nobody continues. */
  uploads: number;
  /** Registrations of bytes for files that never came to be, or are gone. */
  registrations: number;
  /** Files in the data folder that belong to nothing. */
  bytes: number;
  /** Sizes of items, folders, collections and users that were wrong. */
  sizes: number;
  /** Files whose bytes are not in the data folder. They are left as they are: the folder may be the wrong one. */
  missing: number;
}

/**
 * Removes what processes left that died, and what users left lying: everything that belongs to nothing. What others are just writing is
 * registered before it is there, and stays.
 */
export async function sweep(context: HostContext, { uploadLifetimeMs, signal }: SweepOptions): Promise<Swept> {
  const { models, life, store, storeId } = context;
  const uploads = await discardStaleUploads(context, new Date(Date.now() - uploadLifetimeMs));
  const { registrations, missing } = await sweepRegistrations(context, signal);
  const bytes = (await store.belongsTo(storeId.toHexString())) ? await sweepBytes(context, signal) : 0;
  const sizes =
    (await recountAll(models.item as never, itemSums(context), signal)) +
    (await recountAll(models.folder as never, folderSums(context), signal)) +
    (await recountAll(models.collection as never, rootSums(context), signal)) +
    (await recountAll(models.user as never, rootSums(context), signal));
  for (const id of await life.dead()) {
    await models.claim.deleteMany({ process: id });
    await life.forget(id);
  }
  return { uploads, registrations, bytes, sizes, missing };
}

async function sweepRegistrations(context: HostContext, signal: AbortSignal): Promise<Pick<Swept, 'registrations' | 'missing'>> {
  const { models, store } = context;
  const alive = new Map<string, Promise<boolean>>();
  const isAlive = (id: string) => {
    if (!alive.has(id)) alive.set(id, context.life.isAlive(id));
    return alive.get(id)!;
  };
  let registrations = 0;
  let missing = 0;
  const all = models.blob.find({}, null, withoutReadLimit).lean();
  for await (const blobs of inBatches(eachInSlices<BlobDocument>(all), signal)) {
    const keys = blobs.map(({ _id }) => _id);
    const unfinished = await uploadsAmong(context, keys);
    const files = await models.file.find({ 'storage.key': { $in: keys } }, { storage: 1 }).lean();
    const recorded = new Set(
      files.map(({ _id, storage }) => (storage.kind === 'stored' ? `${storage.key}/${_id.toHexString()}` : '')),
    );
    const leftOver: StoredReference[] = [];
    for (const { _id: key, references } of blobs) {
      if (unfinished.has(key)) continue;
      const lost: StoredReference[] = [];
      const isRecorded = references.some(({ fileId }) => recorded.has(`${key}/${fileId.toHexString()}`));
      for (const { fileId, process, since } of references) {
        if (recorded.has(`${key}/${fileId.toHexString()}`)) continue;
        const isComing = Date.now() - since.getTime() < recordedWithinMs && (await isAlive(process));
        if (!isComing) lost.push({ fileId, storage: { kind: 'stored', key } });
      }
      if (references.length === 0) await models.blob.deleteOne({ _id: key, 'references.0': { $exists: false } });
      // Others may be about to store them, or have removed the file by now.
      else if (isRecorded && !(await store.has(key)) && (await models.file.exists({ 'storage.key': key })) !== null) missing++;
      leftOver.push(...lost);
      if (lost.length > 0 || references.length === 0) registrations++;
    }
    await releaseBytes(context, leftOver);
  }
  return { registrations, missing };
}

/** Files in the data folder that neither an upload nor a registration has. */
async function sweepBytes(context: HostContext, signal: AbortSignal): Promise<number> {
  const { models, store } = context;
  let count = 0;
  for await (const found of inBatches(store.list(), signal)) {
    const keys = found.map(({ key }) => key);
    // In this order: bytes are registered before their upload is forgotten.
    const unfinished = await uploadsAmong(context, keys);
    const registered = await models.blob.find({ _id: { $in: keys } }, { _id: 1 }).lean();
    const used = await models.file.find({ 'storage.key': { $in: keys } }, { storage: 1 }).lean();
    const known = new Set([...registered.map(({ _id }) => _id), ...used.map(({ storage }) => keyOf(storage))]);
    for (const { key, remove } of found) {
      if (unfinished.has(key) || known.has(key)) continue;
      await remove();
      count++;
    }
  }
  return count;
}

const keyOf = (storage: FileStorage) => (storage.kind === 'stored' ? storage.key : '');

async function uploadsAmong({ models }: HostContext, keys: readonly string[]): Promise<Set<string>> {
  const ids = keys.filter((key) => key.length === 24);
  return new Set((await models.upload.find({ _id: { $in: ids } }, { _id: 1 }).lean()).map(({ _id }) => _id.toHexString()));
}

async function recountAll(model: Model<never>, sumOf: SumOf, signal: AbortSignal): Promise<number> {
  let count = 0;
  const ids = (model as unknown as Model<{ _id: Types.ObjectId }>).find({}, { _id: 1 }, withoutReadLimit).lean();
  for await (const batch of inBatches(eachInSlices<{ _id: Types.ObjectId }>(ids), signal)) {
    count += await recount(
      model,
      sumOf,
      batch.map(({ _id }) => _id),
    );
  }
  return count;
}

async function* inBatches<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T[]> {
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
