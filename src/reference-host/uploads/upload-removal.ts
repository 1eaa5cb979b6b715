import type { Types } from 'mongoose';
import type { HostContext } from '../context.js';

/** Forgets an upload: record, then bytes. A request that still writes to it finds out and cleans up behind itself. */
export async function discardUpload({ models, store }: HostContext, id: Types.ObjectId): Promise<void> {
  await models.upload.deleteOne({ _id: id });
  await store.discard(id.toHexString());
}

/** Forgets the unfinished uploads into an item or folder. */
export async function discardUploadsOf(context: HostContext, parentId: Types.ObjectId): Promise<void> {
  for (const { _id } of await context.models.upload.find({ parentId }, { _id: 1 }).lean()) await discardUpload(context, _id);
}

/** Forgets uploads that nobody has continued for a while, and bytes that belong to no upload. */
export async function discardStaleUploads(context: HostContext, untouchedSince: Date): Promise<number> {
  const { models, store } = context;
  const stale = await models.upload.find({ updated: { $lt: untouchedSince } }, { _id: 1 }).lean();
  for (const { _id } of stale) await discardUpload(context, _id);
  for (const id of await store.idleUploads(untouchedSince)) {
    if ((await models.upload.exists({ _id: id })) === null) await store.discard(id);
  }
  return stale.length;
}
