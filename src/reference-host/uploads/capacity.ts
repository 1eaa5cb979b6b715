import { statfs } from 'node:fs/promises';
import type { Types } from 'mongoose';
import { LargeImageError } from '../../index.js';
import { TooOftenError } from '../../larger-host.js';
import type { HostContext } from '../context.js';

/** How long a request waits at most for another request of the same user, in milliseconds. */
const patienceMs = 10_000;
/** `Retry-After` for a user with too many unfinished uploads. It is unknown when one of them will end. */
const retryAfterSeconds = 60;

/** Bytes of a user's stored files and unfinished uploads (with their announced size), and the number of unfinished uploads. */
async function readUsage({ models }: HostContext, userId: Types.ObjectId): Promise<{ bytes: number; uploadCount: number }> {
  // Uploads are read before files, so that an upload that is completed between the two queries is counted only once.
  const uploads = await models.upload.find({ userId }, { size: 1 }).lean();
  const uploadBytes = uploads.reduce((sum, { size }) => sum + size, 0);
  const ids = uploads.map(({ _id }) => _id.toHexString());
  const [storedTotal] = await models.blob.aggregate<{ size: number }>([
    { $match: { userId, _id: { $nin: ids } } },
    { $group: { _id: null, size: { $sum: '$size' } } },
  ]);
  return { bytes: uploadBytes + (storedTotal?.size ?? 0), uploadCount: uploads.length };
}

/**
 * Calls `register`, which registers bytes of a user, if the user and the disk have capacity for them. Other requests
 * of the user wait until this is done.
 *
 * @throws LargeImageError 429 if the user has too many unfinished uploads, 507 if the quota or the disk has too little capacity.
 */
export async function registerWithinCapacity<T>(
  context: HostContext,
  { userId, bytes, isUpload }: { userId: Types.ObjectId | null; bytes: number; isUpload: boolean },
  register: () => Promise<T>,
): Promise<T> {
  await requireDiskSpace(context, bytes);
  if (userId === null) return register();
  const [maxUploads, quota] = await Promise.all([
    context.setting('core.user_maximum_uploads'),
    context.setting('core.user_quota'),
  ]);
  if (maxUploads === 0 && quota === 0) return register();
  const createBusyError = () => new TooOftenError('Too many uploads are started at the same time. Try again in a moment.', 1);
  return context.claims.run(`capacity/${userId.toHexString()}`, { patienceMs, createBusyError }, async () => {
    const usage = await readUsage(context, userId);
    if (isUpload && maxUploads > 0 && usage.uploadCount >= maxUploads) {
      throw new TooOftenError(
        `This user has ${usage.uploadCount} unfinished uploads; the maximum is ${maxUploads} (core.user_maximum_uploads). ` +
          'Complete or cancel some of them.',
        retryAfterSeconds,
      );
    }
    if (quota > 0 && usage.bytes + bytes > quota) {
      throw new LargeImageError(
        'storage-full',
        `The files of this user may have at most ${quota} bytes (core.user_quota). They have ${usage.bytes} bytes, so there is no space for ${bytes} more bytes.`,
      );
    }
    return register();
  });
}

/** Free and total bytes of the disk with the files; `null` if the disk does not report them, as with some network file systems. */
export async function readDiskCapacity({ store }: HostContext): Promise<{ free: number; total: number } | null> {
  const { blocks, bavail, bsize } = await statfs(store.root);
  return blocks === 0 ? null : { free: bavail * bsize, total: blocks * bsize };
}

async function requireDiskSpace(context: HostContext, bytes: number): Promise<void> {
  const capacity = await readDiskCapacity(context);
  if (capacity === null || capacity.free >= bytes) return;
  throw new LargeImageError('storage-full', 'There is no space left on the disk of the server.');
}
