import type { Types } from 'mongoose';
import { InvalidError, announceStep } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { BlobDocument, BlobReference } from './blob.model.js';
import type { FileStorage } from './file.model.js';
import { isDuplicateKey } from '../duplicate-key.js';

/** Number of removals at the same time. */
const maxConcurrentRemovals = 8;

/** The id and the storage of a file record. */
export interface FileReference {
  fileId: Types.ObjectId;
  storage: FileStorage;
}

/** Bytes that are about to be stored, for one file record. */
export interface NewBytes {
  key: string;
  size: number;
  fileId: Types.ObjectId;
  userId: Types.ObjectId | null;
}

function createReference({ life }: HostContext, fileId: Types.ObjectId): BlobReference {
  return { fileId, process: life.id, since: new Date() };
}

/** Registers bytes before they are stored. Repeating it for the same key does nothing. */
export async function registerBytes(context: HostContext, bytes: readonly NewBytes[]): Promise<void> {
  const blobs = bytes.map(({ key, size, fileId, userId }): BlobDocument => {
    return { _id: key, size, userId, references: [createReference(context, fileId)] };
  });
  try {
    await context.models.blob.insertMany(blobs, { ordered: false, lean: true });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

/** Lets another file record use stored bytes too. @throws InvalidError if the bytes no longer exist. */
export async function shareBytes(context: HostContext, { fileId, storage }: FileReference): Promise<void> {
  if (storage.kind !== 'stored') return;
  const filter = { _id: storage.key, 'references.0': { $exists: true } };
  const { matchedCount } = await context.models.blob.updateOne(filter, {
    $push: { references: createReference(context, fileId) },
  });
  if (matchedCount === 0) throw new InvalidError('The file has been removed.');
}

/** Records that files no longer use their bytes, and removes bytes that no file uses. Can be repeated. */
export async function releaseBytes({ models, store }: HostContext, references: readonly FileReference[]): Promise<void> {
  const storedReferences = references.flatMap(({ fileId, storage }) =>
    storage.kind === 'stored' ? [{ fileId, key: storage.key }] : [],
  );
  if (storedReferences.length === 0) return;
  const _id = { $in: [...new Set(storedReferences.map(({ key }) => key))] };
  await models.blob.updateMany(
    { _id },
    { $pull: { references: { fileId: { $in: storedReferences.map(({ fileId }) => fileId) } } } },
  );
  announceStep('bytes:released');
  // From now on no other file record can start to use the bytes.
  const unusedFilter = { _id, 'references.0': { $exists: false } };
  const unusedKeys = (await models.blob.find(unusedFilter, { _id: 1 }).lean()).map((blob) => blob._id);
  await models.blob.deleteMany({ _id: { $in: unusedKeys }, 'references.0': { $exists: false } });
  announceStep('bytes:forgotten');
  for (let start = 0; start < unusedKeys.length; start += maxConcurrentRemovals) {
    await Promise.all(unusedKeys.slice(start, start + maxConcurrentRemovals).map((key) => store.remove(key)));
  }
}
