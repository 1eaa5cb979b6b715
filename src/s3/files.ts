import type { S3Client } from '@aws-sdk/client-s3';
import { randomBytes } from 'node:crypto';
import { groupInBatches } from '../core/database/id-batches.js';
import { announceStep } from '../core/steps.js';
import type { HostFiles, HostLogger, NewFile, StoredDocument } from '../host.js';
import { NotFoundError } from '../errors.js';
import { Bucket, type ObjectState } from './bucket.js';
import { ReplacedObjectError, reasonOf, statusOf } from './errors.js';

/** The object with the bytes of a file. */
export interface FileObject {
  key: string;
  /** Entity tag of the recorded object. If the object with this key has a different tag, the recorded object was replaced. */
  etag?: string | undefined;
}

/** Functions that you provide for {@link s3Files}. They read and change the records of files, which your server stores. */
export interface S3FileRecords {
  /** The object of a file; `null` for files that are not in the bucket. */
  object(file: StoredDocument): FileObject | null;
  /** Records a file whose bytes are complete. @returns the record. */
  insert(file: NewFile, object: Required<FileObject>): Promise<StoredDocument>;
  /** Removes the record of a file. It is not an error if the record does not exist. */
  remove(file: StoredDocument): Promise<void>;
  /**
   * Returns the keys, among `keys`, that a record refers to. If this function and {@link S3FilesOptions.owner} are set, leftovers
   * of killed processes are removed.
   */
  known?(keys: readonly string[]): Promise<readonly string[]>;
  /** Moves a file to another item. Its object does not change. */
  move?(file: StoredDocument, itemId: string): Promise<void>;
  /**
   * Called when the recorded object of a file was replaced or removed. `current` is the state of the object that now has the key,
   * or `null` if no object has the key. The server should record the new size and entity tag through the model (or emit
   * `file.saved`), so that the image is reopened.
   */
  replaced?(file: StoredDocument, current: ObjectState | null): Promise<void>;
}

/** Options of {@link s3Files}. */
export interface S3FilesOptions {
  client: S3Client;
  bucket: string;
  /** Prefix of the keys of new objects, such as `slides/`. By default empty. */
  prefix?: string;
  /**
   * Name of the database that contains the records. The name is stored with each object. If the name is set, objects of this owner
   * that no record refers to are removed at startup and daily.
   */
  owner?: string;
  /** Age in milliseconds from which objects without a record and incomplete multipart uploads are removed; by default a day. */
  graceMs?: number;
  records: S3FileRecords;
  /** Logs objects that the store did not remove although their files were removed. By default nothing is logged. */
  logger?: HostLogger;
  /** Returns the path from which clients can download a file. By default there is none. */
  downloadPath?: HostFiles['downloadPath'];
}

const dayMs = 24 * 60 * 60_000;
/** Number of random bytes in a key. */
const keyBytes = 16;
/** Number of keys in one call of {@link S3FileRecords.known}. */
const keysAtOnce = 500;
/** Number of records that are removed at the same time. */
const maxConcurrentRemovals = 8;

/**
 * The member `files` of a host whose files are objects in a bucket of an S3-compatible store.
 *
 * Interrupted reads are resumed and never mix two objects. Nothing remains of an upload that fails or is aborted.
 */
export function s3Files(options: S3FilesOptions): HostFiles {
  const { client, bucket: name, prefix = '', owner, graceMs = dayMs, records, logger, downloadPath } = options;
  const bucket = new Bucket(client, name);
  const nameOf = (file: StoredDocument, { key }: FileObject) => (typeof file.name === 'string' ? file.name : key);
  const announceReplacement = async (file: StoredDocument, { key }: FileObject) => {
    try {
      await records.replaced?.(file, await bucket.state(key));
    } catch (error) {
      // Other errors say nothing about the object, so nothing is announced.
      if (statusOf(error) === 404) await records.replaced?.(file, null);
    }
  };
  // The records have already been removed, so nobody sees an object that cannot be removed. The failure is only logged.
  const removeObjects = async (keys: readonly string[]) => {
    try {
      if (keys.length === 1) await bucket.remove(keys[0]!);
      else await bucket.removeMany(keys);
    } catch (err) {
      logger?.warn({ err, keys: keys.slice(0, 10), count: keys.length, reason: reasonOf(err, name) }, 'Bucket:ObjectsKept');
    }
  };
  return {
    localPath: async () => null,
    async read(file, range, { signal } = {}) {
      const object = records.object(file);
      if (object === null) throw new NotFoundError('The bytes of this file are not in a bucket.');
      try {
        return await bucket.read({ ...object, name: nameOf(file, object) }, range, signal);
      } catch (error) {
        if (error instanceof ReplacedObjectError || error instanceof NotFoundError) await announceReplacement(file, object);
        throw error;
      }
    },
    async create(file, content, { signal } = {}) {
      const key = `${prefix}${randomBytes(keyBytes).toString('hex')}`;
      const { name: fileName, mimeType, size } = file;
      const { etag } = await bucket.write(key, { name: fileName, mimeType, size, content, owner }, signal);
      announceStep('bucket:written');
      try {
        signal?.throwIfAborted();
        return await records.insert(file, { key, etag });
      } catch (error) {
        await bucket.remove(key).catch(() => undefined);
        throw error;
      }
    },
    async remove(file) {
      const object = records.object(file);
      await records.remove(file);
      announceStep('bucket:unrecorded');
      if (object !== null) await removeObjects([object.key]);
    },
    async removeMany(files) {
      for (let from = 0; from < files.length; from += maxConcurrentRemovals) {
        await Promise.all(files.slice(from, from + maxConcurrentRemovals).map((file) => records.remove(file)));
      }
      await removeObjects(files.flatMap((file) => records.object(file)?.key ?? []));
    },
    ...(records.known &&
      owner !== undefined && {
        sweep: ({ signal }) => sweep({ bucket, prefix, owner, graceMs, filterKnown: (keys) => records.known!(keys) }, signal),
      }),
    ...(records.move && { move: (file, itemId) => records.move!(file, itemId) }),
    ...(downloadPath && { downloadPath }),
  };
}

interface SweepOptions extends Required<Pick<S3FilesOptions, 'prefix' | 'owner' | 'graceMs'>> {
  bucket: Bucket;
  filterKnown: NonNullable<S3FileRecords['known']>;
}

/** Removes objects of this owner that no record refers to, and aborts old multipart uploads. @returns the number of each. */
async function sweep(
  { bucket, prefix, owner, graceMs, filterKnown }: SweepOptions,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const before = new Date(Date.now() - graceMs);
  const iterateOldKeys = async function* () {
    for await (const { key, modified } of bucket.list(prefix, { signal })) {
      if (isOwnKey(key.slice(prefix.length)) && modified !== undefined && modified <= before) yield key;
    }
  };
  let bucketObjects = 0;
  for await (const keys of groupInBatches(iterateOldKeys(), keysAtOnce)) {
    const recordedKeys = new Set(await filterKnown(keys));
    for (const key of keys) {
      signal.throwIfAborted();
      if (recordedKeys.has(key) || (await ownerOf(bucket, key, signal)) !== owner) continue;
      await bucket.remove(key);
      bucketObjects += 1;
    }
  }
  const bucketUploads = prefix === '' ? 0 : await bucket.endUploads(prefix, before, signal);
  return { bucketObjects, bucketUploads };
}

/** Whether a key without its prefix has the form of the keys of new objects. */
function isOwnKey(key: string): boolean {
  return key.length === 2 * keyBytes && Buffer.from(key, 'hex').length === keyBytes;
}

async function ownerOf(bucket: Bucket, key: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await bucket.state(key, signal)).owner;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}
