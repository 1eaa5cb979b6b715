import type { Readable } from 'node:stream';
import type { ObjectState } from '../../s3/index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import { announceReplaced } from './replaced-files.js';

/** A file whose bytes are an object in a bucket. */
export type FileInBucket = FileDocument & { storage: { kind: 'bucket' } };

/** Whether the bytes of a file are an object in a bucket. */
export function isInBucket(file: FileDocument): file is FileInBucket {
  return file.storage.kind === 'bucket';
}

/** Bytes of a file in a bucket from `start` to `end`, not including `end`. If the object was replaced, the record is updated. */
export async function readInBucket(
  context: HostContext,
  file: FileInBucket,
  range: { start: number; end: number },
  signal?: AbortSignal,
): Promise<Readable> {
  const { bucket: name, path: key, etag } = file.storage;
  const bucket = await context.buckets.openBucket(name);
  try {
    return await bucket.read({ key, etag, name: file.name }, range, signal);
  } catch (error) {
    const { ReplacedObjectError } = await import('../../s3/index.js');
    if (error instanceof ReplacedObjectError) {
      const currentState = await bucket.state(key).catch(() => null);
      if (currentState !== null) await refreshFileInBucket(context, file, currentState);
    }
    throw error;
  }
}

/**
 * Updates the record of a file after its object, or another object of its Zarr, was replaced, and announces the change.
 *
 * The third parameter is the current state of the object, with a digest of the objects of its Zarr if they were listed.
 */
export async function refreshFileInBucket(
  context: HostContext,
  file: FileInBucket,
  { size, etag, tree = file.storage.tree }: ObjectState & { tree?: string | undefined },
): Promise<void> {
  const { models } = context;
  const isSameObject = size === file.size && etag === file.storage.etag;
  if (isSameObject && tree === file.storage.tree) return;
  const isReplaced = !isSameObject || file.storage.tree !== undefined;
  const replacedAt = new Date();
  const updatedFile = await models.file
    .findOneAndUpdate(
      { _id: file._id, 'storage.etag': file.storage.etag },
      {
        $set: {
          size,
          'storage.etag': etag,
          ...(tree !== undefined && { 'storage.tree': tree }),
          ...(isReplaced && { updated: replacedAt }),
        },
      },
      { returnDocument: 'after' },
    )
    .lean<FileDocument>();
  if (updatedFile === null || !isReplaced) return;
  await announceReplaced(context, updatedFile, { formerSize: file.size ?? 0, replacedAt });
}
