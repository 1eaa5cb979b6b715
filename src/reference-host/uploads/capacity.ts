import { statfs } from 'node:fs/promises';
import type { Types } from 'mongoose';
import { LargeImageError, TooOftenError } from '../../index.js';
import type { HostContext } from '../context.js';

/** How long requests of one user wait for each other while capacity is counted. */
const patienceMs = 10_000;
/** Unfinished uploads end when somebody ends them: there is no better time to name. */
const retryAfterSeconds = 60;

/** Bytes that a user has brought and that are still there, and how many uploads are unfinished, whose bytes count as announced. */
async function usageOf({ models }: HostContext, userId: Types.ObjectId): Promise<{ bytes: number; uploads: number }> {
  // In this order: the bytes of an upload that is completed meanwhile are counted once.
  const uploads = await models.upload.find({ userId }, { size: 1 }).lean();
  const announced = uploads.reduce((sum, { size }) => sum + size, 0);
  const ids = uploads.map(({ _id }) => _id.toHexString());
  const [stored] = await models.blob.aggregate<{ size: number }>([
    { $match: { userId, _id: { $nin: ids } } },
    { $group: { _id: null, size: { $sum: '$size' } } },
  ]);
  return { bytes: announced + (stored?.size ?? 0), uploads: uploads.length };
}

/**
 * Registers bytes that a user brings, by `register`, while no other request of the user is counted.
 *
 * @throws LargeImageError 429 when too many uploads of the user are unfinished, 507 when the quota or the disk has no room for them.
 */
export async function withCapacity<T>(
  context: HostContext,
  { userId, bytes, isUpload }: { userId: Types.ObjectId | null; bytes: number; isUpload: boolean },
  register: () => Promise<T>,
): Promise<T> {
  await requireDisk(context, bytes);
  if (userId === null) return register();
  const [most, quota] = await Promise.all([context.setting('core.user_maximum_uploads'), context.setting('core.user_quota')]);
  if (most === 0 && quota === 0) return register();
  const busy = () => new TooOftenError('Too many uploads are started at the same time. Try again in a moment.', 1);
  return context.claims.run(`capacity/${userId.toHexString()}`, { patienceMs, busy }, async () => {
    const usage = await usageOf(context, userId);
    if (isUpload && most > 0 && usage.uploads >= most) {
      throw new TooOftenError(
        `There are ${usage.uploads} unfinished uploads of this user, and may be ${most} (core.user_maximum_uploads). ` +
          'Complete or cancel some of them.',
        retryAfterSeconds,
      );
    }
    if (quota > 0 && usage.bytes + bytes > quota) {
      throw new LargeImageError(
        'storage-full',
        `The files of this user may have ${quota} bytes (core.user_quota). They have ${usage.bytes}, and ${bytes} more do not fit.`,
      );
    }
    return register();
  });
}

/** Bytes of the disk that files are kept on; `null` where it does not say how large it is, as some network file systems. */
export async function diskCapacity({ store }: HostContext): Promise<{ free: number; total: number } | null> {
  const { blocks, bavail, bsize } = await statfs(store.root);
  return blocks === 0 ? null : { free: bavail * bsize, total: blocks * bsize };
}

async function requireDisk(context: HostContext, bytes: number): Promise<void> {
  const capacity = await diskCapacity(context);
  if (capacity === null || capacity.free >= bytes) return;
  throw new LargeImageError('storage-full', 'There is no space left on the disk of the server.');
}
