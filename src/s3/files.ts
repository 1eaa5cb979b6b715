import type { S3Client } from '@aws-sdk/client-s3';
import { randomBytes } from 'node:crypto';
import { inParts } from '../core/database/id-batches.js';
import { step } from '../core/steps.js';
import type { HostFiles, HostLogger, NewFile, StoredDocument } from '../host.js';
import { NotFoundError } from '../errors.js';
import { Bucket, type ObjectState } from './bucket.js';
import { ReplacedObjectError, reasonOf, statusOf } from './errors.js';

/** Which object the bytes of a file are. */
export interface FileObject {
  key: string;
  /** Entity tag of the object as it was recorded: another object under the key is not taken for it. */
  etag?: string | undefined;
}

/** What {@link s3Files} asks of the server whose files lie in a bucket: the records of the files, which it keeps itself. */
export interface S3FileRecords {
  /** Which object a file is; `null` for files that are none. */
  object(file: StoredDocument): FileObject | null;
  /** Records a file whose bytes are complete. @returns the record. */
  insert(file: NewFile, object: Required<FileObject>): Promise<StoredDocument>;
  /** Removes the record of a file. One that is gone already is no error. */
  remove(file: StoredDocument): Promise<void>;
  /** Those of some keys that a record names. With it, and {@link S3FilesOptions.owner}, what killed processes have left is swept. */
  known?(keys: readonly string[]): Promise<readonly string[]>;
  /** Makes a file one of another item; its bytes stay where they are. */
  move?(file: StoredDocument, itemId: string): Promise<void>;
  /**
   * Is told that another object lies under the key of a file, `null` where none does: record its size and entity tag, and save the record through
   * the model (or emit `file.saved`), and the image is made anew.
   */
  replaced?(file: StoredDocument, now: ObjectState | null): Promise<void>;
}

/** What {@link s3Files} works with. */
export interface S3FilesOptions {
  client: S3Client;
  bucket: string;
  /** What keys of new objects begin with, such as `slides/`. Default: nothing. */
  prefix?: string;
  /**
   * Names the database that has the records, and is kept with each object. Where it is given, objects that say so and that no record names are
   * removed at start and daily.
   */
  owner?: string;
  /** How long objects without a record, and uploads in parts, are left alone, because they may yet be completed, in milliseconds. Default a day. */
  graceMs?: number;
  records: S3FileRecords;
  /** Is told of objects that the store keeps although their files were removed. Default: nobody is. */
  logger?: HostLogger;
  /** Where clients can fetch the bytes of a file themselves. Default: nowhere. */
  downloadPath?: HostFiles['downloadPath'];
}

const dayMs = 24 * 60 * 60_000;
/** Length of the random part of a key. */
const keyBytes = 16;
/** Keys that are asked about together. */
const keysAtOnce = 500;
/** Records removed at the same time. */
const concurrency = 8;

/**
 * The `files` of a host whose files lie in a bucket of an S3-compatible store.
 *
 * Reads are taken up again where a connection breaks, and never mix two objects; new objects are sent in parts, and what fails or is aborted
 * leaves nothing.
 */
export function s3Files(options: S3FilesOptions): HostFiles {
  const { client, bucket: name, prefix = '', owner, graceMs = dayMs, records, logger, downloadPath } = options;
  const bucket = new Bucket(client, name);
  const nameOf = (file: StoredDocument, { key }: FileObject) => (typeof file.name === 'string' ? file.name : key);
  const announce = async (file: StoredDocument, { key }: FileObject) => {
    try {
      await records.replaced?.(file, await bucket.state(key));
    } catch (error) {
      // What a store does not say is not known.
      if (statusOf(error) === 404) await records.replaced?.(file, null);
    }
  };
  // Nobody sees a file any more whose record is gone.
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
      if (object === null) throw new NotFoundError('The bytes of this file lie in no bucket.');
      try {
        return await bucket.read({ ...object, name: nameOf(file, object) }, range, signal);
      } catch (error) {
        if (error instanceof ReplacedObjectError || error instanceof NotFoundError) await announce(file, object);
        throw error;
      }
    },
    async create(file, content, { signal } = {}) {
      const key = `${prefix}${randomBytes(keyBytes).toString('hex')}`;
      const { name: fileName, mimeType, size } = file;
      const { etag } = await bucket.write(key, { name: fileName, mimeType, size, content, owner }, signal);
      step('bucket:written');
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
      step('bucket:unrecorded');
      if (object !== null) await removeObjects([object.key]);
    },
    async removeMany(files) {
      for (let from = 0; from < files.length; from += concurrency) {
        await Promise.all(files.slice(from, from + concurrency).map((file) => records.remove(file)));
      }
      await removeObjects(files.flatMap((file) => records.object(file)?.key ?? []));
    },
    ...(records.known &&
      owner !== undefined && {
        sweep: ({ signal }) => sweep({ bucket, prefix, owner, graceMs, known: (keys) => records.known!(keys) }, signal),
      }),
    ...(records.move && { move: (file, itemId) => records.move!(file, itemId) }),
    ...(downloadPath && { downloadPath }),
  };
}

interface Sweeping extends Required<Pick<S3FilesOptions, 'prefix' | 'owner' | 'graceMs'>> {
  bucket: Bucket;
  known: NonNullable<S3FileRecords['known']>;
}

/** Removes objects of this owner that no record names, and ends uploads in parts that nobody completes. */
async function sweep({ bucket, prefix, owner, graceMs, known }: Sweeping, signal: AbortSignal): Promise<Record<string, number>> {
  const before = new Date(Date.now() - graceMs);
  const oldKeys = async function* () {
    for await (const { key, modified } of bucket.list(prefix, { signal })) {
      if (isOwnKey(key.slice(prefix.length)) && modified !== undefined && modified <= before) yield key;
    }
  };
  let bucketObjects = 0;
  for await (const keys of inParts(oldKeys(), keysAtOnce)) {
    const named = new Set(await known(keys));
    for (const key of keys) {
      signal.throwIfAborted();
      if (named.has(key) || (await ownerOf(bucket, key, signal)) !== owner) continue;
      await bucket.remove(key);
      bucketObjects += 1;
    }
  }
  const bucketUploads = prefix === '' ? 0 : await bucket.endUploads(prefix, before, signal);
  return { bucketObjects, bucketUploads };
}

/** Whether a key is like those that new objects get. */
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
