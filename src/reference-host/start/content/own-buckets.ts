import type { Types } from 'mongoose';
import type { Bucket, ListedObject } from '../../../s3/index.js';
import type { HostContext } from '../../context.js';
import { Buckets } from '../../files/buckets.js';
import { registerFileInBucket } from '../../files/in-place.js';
import { installCommand, isInstalled } from '../../packages.js';
import { ensureCollection, ensureFolder } from './content.js';
import { UsageError, type BucketPrefix } from '../options.js';
import { isShownName } from './own-files.js';

const sdk = '@aws-sdk/client-s3';

/** Asks for one object of each prefix, so that what is wrong is said before anything is begun. @throws UsageError */
export async function requireBuckets(prefixes: readonly BucketPrefix[], signal: AbortSignal): Promise<void> {
  if (prefixes.length === 0) return;
  if (!isInstalled(sdk)) throw new UsageError(`Files in buckets need a package that is not installed: ${installCommand([sdk])}`);
  const buckets = new Buckets();
  try {
    for (const from of prefixes) {
      const listing = listed(await buckets.bucket(from.bucket), from, signal);
      await listing.next();
      await listing.return(undefined);
    }
  } finally {
    await buckets.close();
  }
}

/** The objects below a prefix, a page at a time. @throws UsageError that says why they cannot be listed. */
async function* listed(
  bucket: Bucket,
  { bucket: name, prefix }: BucketPrefix,
  signal?: AbortSignal,
): AsyncGenerator<ListedObject> {
  try {
    yield* bucket.list(prefix, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    const { reasonOf } = await import('../../../s3/index.js');
    throw new UsageError(`s3://${name}/${prefix} cannot be listed: ${reasonOf(error, name)}.`, { cause: error });
  }
}

/** Why an object is not served; `null` where it is. Folders that programs make up in buckets are nobody's file: an empty text. */
function reasonAgainst({ key, size, archived }: ListedObject): string | null {
  if (key.endsWith('/')) return '';
  const names = key.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..'))
    return 'its key has empty names between slashes, or . or ..';
  if (names.some((name) => !isShownName(name))) return 'a name in its key begins with a dot';
  if (archived !== undefined) return `it is archived (${archived}); restore it first`;
  return size === 0 ? 'it is empty' : null;
}

/**
 * Makes objects of buckets items of the collection `Files in buckets`, without copying them; those that are there already are brought up to
 * date.
 *
 * @returns how many there are
 */
export async function addOwnBuckets(
  context: HostContext,
  own: {
    prefixes: readonly BucketPrefix[];
    creatorId: Types.ObjectId | null;
    isPublic: boolean;
    report: (path: string) => void;
    leftOut: (path: string, reason: string) => void;
    signal: AbortSignal;
  },
): Promise<number> {
  if (own.prefixes.length === 0) return 0;
  const { creatorId, signal } = own;
  const collection = await ensureCollection(context, {
    ...own,
    name: 'Files in buckets',
    description: 'Files in buckets, served in place.',
  });
  let count = 0;
  for (const from of own.prefixes) {
    const bucket = await context.buckets.bucket(from.bucket);
    for await (const object of listed(bucket, from, signal)) {
      signal.throwIfAborted();
      const path = `s3://${from.bucket}/${object.key}`;
      const reason = reasonAgainst(object);
      if (reason !== null) {
        if (reason !== '') own.leftOut(path, reason);
        continue;
      }
      own.report(path);
      const names = object.key.split('/');
      const name = names.pop()!;
      try {
        const folder = await ensureFolder(context, collection, [from.bucket, ...names], creatorId);
        await registerFileInBucket(context, { bucket: from.bucket, object, folder, name, creatorId });
        count += 1;
      } catch (error) {
        // A name that no item may have is no reason to leave out the rest.
        if ((error as { code?: unknown }).code !== 'invalid') throw error;
        own.leftOut(path, (error as Error).message);
      }
    }
  }
  return count;
}
