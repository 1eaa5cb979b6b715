import type { Types } from 'mongoose';
import type { Bucket, ListedObject } from '../../../s3/index.js';
import { iterateInSlices } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import { Buckets } from '../../files/buckets.js';
import { registerObjects, type ObjectInPlace } from '../../files/in-place.js';
import { TreeDigest } from '../../files/tree-digest.js';
import { checkName } from '../../tree/names/checked-name.js';
import { isInstalled, describeMissingPackages } from '../../../optional-packages.js';
import { ensureCollection, ensureFolder } from './content.js';
import { UsageError, type BucketPrefix } from '../options.js';
import { isShownName, isZarrName, zarrDescriptions } from './local-files.js';
import { maxGroupFiles, setMissingSince } from './served-files.js';
import type { FileInBucket } from '../../files/in-bucket.js';

const sdkName = '@aws-sdk/client-s3';

/** Requests one object of each prefix, so that problems are reported before anything starts. @throws UsageError */
export async function requireBuckets(prefixes: readonly BucketPrefix[], signal: AbortSignal): Promise<void> {
  if (prefixes.length === 0) return;
  if (!isInstalled(sdkName)) throw new UsageError(`Files in buckets cannot be read: ${describeMissingPackages(sdkName)}.`);
  const buckets = new Buckets();
  try {
    for (const bucketPrefix of prefixes) {
      const listing = listObjects(await buckets.openBucket(bucketPrefix.bucket), bucketPrefix, signal);
      await listing.next();
      await listing.return(undefined);
    }
  } finally {
    await buckets.close();
  }
}

/** Lists the objects below a prefix, page by page. @throws UsageError that says why they cannot be listed. */
async function* listObjects(
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

/**
 * Finds the reason why an object is not served; `null` if it is served. The reason is '' for the empty objects that programs create for
 * folders, because these are left out without a message.
 */
function findReasonToLeaveOut({ key, size, archived }: ListedObject): string | null {
  if (key.endsWith('/')) return '';
  const names = key.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..'))
    return 'its key has empty names between slashes, or . or ..';
  if (names.some((name) => !isShownName(name))) return 'a name in its key begins with a dot';
  if (archived !== undefined) return `it is archived (${archived}); restore it first`;
  return size === 0 ? 'it is empty' : null;
}

/**
 * Adds objects of buckets to the collection `Files in buckets` as items, without copying them, and updates existing items.
 *
 * @returns the number of objects that have items, and the number of missing objects
 */
export async function addBucketObjects(
  context: HostContext,
  options: {
    prefixes: readonly BucketPrefix[];
    creatorId: Types.ObjectId | null;
    isPublic: boolean;
    onObject: () => void;
    onLeftOut: (path: string, reason: string) => void;
    signal: AbortSignal;
  },
): Promise<{ files: number; missing: number }> {
  if (options.prefixes.length === 0) return { files: 0, missing: 0 };
  const { creatorId, signal } = options;
  const collection = await ensureCollection(context, {
    ...options,
    name: 'Files in buckets',
    description: 'Files in buckets, served in place.',
  });
  let registeredCount = 0;
  let missingCount = 0;
  for (const bucketPrefix of options.prefixes) {
    const bucket = await context.buckets.openBucket(bucketPrefix.bucket);
    const listedKeys = new Set<string>();
    const zarrsByFolder = new Map<string, ListedZarr>();
    let batchFolderNames: readonly string[] = [];
    let pendingObjects: ObjectInPlace[] = [];
    const registerPending = async () => {
      const batch = pendingObjects;
      pendingObjects = [];
      if (batch.length === 0) return;
      const folder = await ensureFolder(context, collection, [bucketPrefix.bucket, ...batchFolderNames], creatorId);
      await registerObjects(context, folder, { bucket: bucketPrefix.bucket, creatorId, objects: batch });
      registeredCount += batch.length;
    };
    const addObject = async (itemPath: ItemPath, object: ListedObject, treeDigest?: string) => {
      options.onObject();
      // The listing is sorted, so the objects of a folder follow one another.
      if (pendingObjects.length >= maxGroupFiles || itemPath.folderNames.join('/') !== batchFolderNames.join('/'))
        await registerPending();
      ({ folderNames: batchFolderNames } = itemPath);
      pendingObjects.push({ object, itemName: itemPath.name, tree: treeDigest });
      listedKeys.add(object.key);
    };
    for await (const object of listObjects(bucket, bucketPrefix, signal)) {
      signal.throwIfAborted();
      const path = `s3://${bucketPrefix.bucket}/${object.key}`;
      const reason = findReasonToLeaveOut(object) ?? findReasonToRefuseNames(object.key);
      if (reason !== null) {
        if (reason !== '') options.onLeftOut(path, reason);
        continue;
      }
      const itemPath = itemPathOf(object.key);
      if (itemPath.zarrFolder === undefined) await addObject(itemPath, object);
      else addToZarr(zarrsByFolder, itemPath.zarrFolder, object);
    }
    for (const [path, { description, digest }] of zarrsByFolder) {
      if (description !== null) await addObject(splitPath(path), description, digest.toString());
    }
    await registerPending();
    missingCount += await markMissing(context, bucketPrefix, listedKeys);
  }
  return { files: registeredCount, missing: missingCount };
}

/** Finds the reason why folders and items cannot have the names in a key; `null` if they can. */
function findReasonToRefuseNames(key: string): string | null {
  try {
    for (const name of key.split('/')) checkName('Item', name);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The folders and the name of an item. */
interface ItemPath {
  folderNames: string[];
  name: string;
}

/** A folder `*.zarr`, whose objects together are one item. */
interface ListedZarr {
  /** The object that describes the Zarr, if it has been listed. */
  description: ListedObject | null;
  digest: TreeDigest;
}

function splitPath(path: string): ItemPath {
  const names = path.split('/');
  return { folderNames: names.slice(0, -1), name: names.at(-1)! };
}

/** The folders and the name of an object's item. For an object of a Zarr, `zarrFolder` is the path of the Zarr's folder. */
function itemPathOf(key: string): ItemPath & { zarrFolder?: string } {
  const itemPath = splitPath(key);
  const zarrIndex = itemPath.folderNames.findIndex(isZarrName);
  return zarrIndex < 0 ? itemPath : { ...itemPath, zarrFolder: itemPath.folderNames.slice(0, zarrIndex + 1).join('/') };
}

function addToZarr(zarrsByFolder: Map<string, ListedZarr>, folder: string, object: ListedObject): void {
  const zarr = zarrsByFolder.get(folder) ?? { description: null, digest: new TreeDigest() };
  zarrsByFolder.set(folder, zarr);
  const path = object.key.slice(folder.length + 1);
  zarr.digest.add(path, object.size, object.etag);
  if (zarrDescriptions.includes(path)) zarr.description ??= object;
}

/** Marks items as missing whose objects are below a prefix but were not listed. @returns the number of these items */
async function markMissing(
  context: HostContext,
  { bucket, prefix }: BucketPrefix,
  listedKeys: ReadonlySet<string>,
): Promise<number> {
  const query = { 'storage.kind': 'bucket' as const, 'storage.bucket': bucket, itemId: { $ne: null } };
  const files = iterateInSlices<FileInBucket>(context.models.file.find(query, { itemId: 1, 'storage.path': 1 }).lean());
  const missingItemIds: Types.ObjectId[] = [];
  for await (const { itemId, storage } of files) {
    if (itemId !== null && storage.path.startsWith(prefix) && !listedKeys.has(storage.path)) missingItemIds.push(itemId);
  }
  await setMissingSince(context, missingItemIds, new Date());
  return missingItemIds.length;
}
