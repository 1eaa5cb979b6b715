import type { Readable } from 'node:stream';
import type { ObjectState } from '../../s3/index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { addItemSize } from '../tree/sizes.js';

/** A file whose bytes are an object in a bucket. */
export type FileInBucket = FileDocument & { storage: { kind: 'bucket' } };

/** Whether the bytes of a file are an object in a bucket. */
export function isInBucket(file: FileDocument): file is FileInBucket {
  return file.storage.kind === 'bucket';
}

/** Bytes of such a file from `start` up to, not including, `end`. If the object was replaced, the record is updated. */
export async function readInBucket(
  context: HostContext,
  file: FileInBucket,
  range: { start: number; end: number },
  signal?: AbortSignal,
): Promise<Readable> {
  const { bucket: name, path: key, etag } = file.storage;
  const bucket = await context.buckets.bucket(name);
  try {
    return await bucket.read({ key, etag, name: file.name }, range, signal);
  } catch (error) {
    const { ReplacedObjectError } = await import('../../s3/index.js');
    if (error instanceof ReplacedObjectError) {
      const now = await bucket.state(key).catch(() => null);
      if (now !== null) await refreshFileInBucket(context, file, now);
    }
    throw error;
  }
}

/** Updates the record of a file whose object was replaced, and announces the change. */
export async function refreshFileInBucket(context: HostContext, file: FileInBucket, { size, etag }: ObjectState): Promise<void> {
  const { models, events } = context;
  if (size === file.size && etag === file.storage.etag) return;
  const updated = await models.file
    .findOneAndUpdate(
      { _id: file._id, 'storage.etag': file.storage.etag },
      { $set: { size, 'storage.etag': etag, updated: new Date() } },
      { returnDocument: 'after' },
    )
    .lean<FileDocument>();
  if (updated === null) return;
  const item = updated.itemId === null ? null : await models.item.findById(updated.itemId).lean<ItemDocument>();
  if (item !== null) await addItemSize(context, item, size - (file.size ?? 0));
  await events.emit('file.saved', { file: { ...updated }, created: false });
}
