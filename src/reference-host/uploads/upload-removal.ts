import type { Types } from 'mongoose';
import type { HostContext } from '../context.js';
import type { UploadDocument } from './upload.model.js';
import { releaseBytes } from '../files/blobs.js';
import { withTrashed } from '../trash/trash-mark.js';

/** Key of the claim that a request has while it writes to an upload or completes it. */
export const uploadClaimKey = (id: Types.ObjectId): string => `upload/${id.toHexString()}`;

class UploadInUse extends Error {}

/**
 * Removes the record of an upload, then its bytes. A request that still writes to the upload notices this, and removes the bytes. A file
 * that was made from the upload stays.
 */
export async function discardUpload(context: HostContext, upload: UploadDocument): Promise<void> {
  const { models, store, claims } = context;
  const claimOptions = { patienceMs: 0, createBusyError: () => new UploadInUse() };
  try {
    await claims.run(uploadClaimKey(upload._id), claimOptions, () => undoCompletion(context, upload));
  } catch (error) {
    if (!(error instanceof UploadInUse)) throw error;
  }
  await models.upload.deleteOne({ _id: upload._id });
  await store.discard(upload._id.toHexString());
}

/** Undoes the steps of completing an upload if they were interrupted. */
async function undoCompletion(context: HostContext, { _id, fileId, itemId }: UploadDocument): Promise<void> {
  const { models } = context;
  const key = _id.toHexString();
  const isItemMissing = itemId !== undefined && (await models.item.exists({ _id: itemId }).setOptions(withTrashed)) === null;
  if (isItemMissing) await models.file.deleteOne({ _id, itemId });
  if ((await models.file.exists({ _id: fileId ?? _id, 'storage.key': key })) !== null) return;
  await releaseBytes(context, [{ fileId: fileId ?? _id, storage: { kind: 'stored', key } }]);
}

/** Removes the unfinished uploads to items or folders. */
export async function discardUploadsOf(context: HostContext, parentIds: readonly Types.ObjectId[]): Promise<void> {
  for (const upload of await context.models.upload.find({ parentId: { $in: [...parentIds] } }).lean<UploadDocument[]>()) {
    await discardUpload(context, upload);
  }
}

/**
 * Removes uploads that were not continued since a date. Uploads whose first request was interrupted are removed, too, because no client knows
 * their ids.
 *
 * @returns the number of removed uploads
 */
export async function discardStaleUploads(context: HostContext, untouchedSince: Date): Promise<number> {
  const { models, life } = context;
  const staleFilter = { $or: [{ updated: { $lt: untouchedSince } }, { startedBy: { $ne: null } }] };
  let discardedCount = 0;
  for (const upload of await models.upload.find(staleFilter).lean<UploadDocument[]>()) {
    const { startedBy, updated } = upload;
    if (updated >= untouchedSince && startedBy != null && (await life.isAlive(startedBy))) continue;
    await discardUpload(context, upload);
    discardedCount++;
  }
  return discardedCount;
}
