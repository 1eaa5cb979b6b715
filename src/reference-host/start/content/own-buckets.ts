import type { Types } from 'mongoose';
import type { Bucket, ListedObject } from '../../../s3/index.js';
import { eachInSlices } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import { Buckets } from '../../files/buckets.js';
import { registerObjects, type ObjectInPlace } from '../../files/in-place.js';
import { TreeDigest } from '../../files/tree-digest.js';
import { checkedName } from '../../tree/names/checked-name.js';
import { isInstalled, notInstalled } from '../../../optional-packages.js';
import { ensureCollection, ensureFolder } from './content.js';
import { UsageError, type BucketPrefix } from '../options.js';
import { isShownName, isZarrName, zarrDescriptions } from './own-files.js';
import { filesTogether, setMissing } from './served-files.js';
import type { FileInBucket } from '../../files/in-bucket.js';

const sdk = '@aws-sdk/client-s3';

/** Requests one object of each prefix, so that problems are reported before anything starts. @throws UsageError */
export async function requireBuckets(prefixes: readonly BucketPrefix[], signal: AbortSignal): Promise<void> {
  if (prefixes.length === 0) return;
  if (!isInstalled(sdk)) throw new UsageError(`Files in buckets cannot be read: ${notInstalled(sdk)}.`);
  const buckets = new Buckets();
  try {
    for (const from of prefixes) {
      const listing = listObjects(await buckets.bucket(from.bucket), from, signal);
      await listing.next();
      await listing.return(undefined);
    }
  } finally {
    await buckets.close();
  }
}

/** The objects below a prefix, a page at a time. @throws UsageError that says why they cannot be listed. */
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
 * The reason why an object is not served; `null` if it is. An empty text for the empty objects that programs create for folders.
 */
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
 * Makes objects of buckets items of the collection `Files in buckets`, without copying them, and updates existing items.
 *
 * @returns how many there are, and how many are missing
 */
export async function addOwnBuckets(
  context: HostContext,
  options: {
    prefixes: readonly BucketPrefix[];
    creatorId: Types.ObjectId | null;
    isPublic: boolean;
    report: () => void;
    leftOut: (path: string, reason: string) => void;
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
  let count = 0;
  let missing = 0;
  for (const from of options.prefixes) {
    const bucket = await context.buckets.bucket(from.bucket);
    const listedKeys = new Set<string>();
    const trees = new Map<string, ListedTree>();
    let names: readonly string[] = [];
    let objects: ObjectInPlace[] = [];
    const register = async () => {
      const batch = objects;
      objects = [];
      if (batch.length === 0) return;
      const folder = await ensureFolder(context, collection, [from.bucket, ...names], creatorId);
      await registerObjects(context, folder, { bucket: from.bucket, creatorId, objects: batch });
      count += batch.length;
    };
    const addObject = async (place: Place, object: ListedObject, digest?: string) => {
      options.report();
      // Objects of a folder follow one another.
      if (objects.length >= filesTogether || place.names.join('/') !== names.join('/')) await register();
      ({ names } = place);
      objects.push({ object, itemName: place.name, tree: digest });
      listedKeys.add(object.key);
    };
    for await (const object of listObjects(bucket, from, signal)) {
      signal.throwIfAborted();
      const path = `s3://${from.bucket}/${object.key}`;
      const reason = reasonAgainst(object) ?? reasonAgainstName(object.key);
      if (reason !== null) {
        if (reason !== '') options.leftOut(path, reason);
        continue;
      }
      const place = placeOf(object.key);
      if (place.tree === undefined) await addObject(place, object);
      else addToTree(trees, place.tree, object);
    }
    for (const [path, { description, digest }] of trees) {
      if (description !== null) await addObject(nameAndFolders(path), description, digest.toString());
    }
    await register();
    missing += await markMissing(context, from, listedKeys);
  }
  return { files: count, missing };
}

/** The reason why folders and items cannot have the names in a key; `null` if they can. */
function reasonAgainstName(key: string): string | null {
  try {
    for (const name of key.split('/')) checkedName('Item', name);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The folders and the name of an item. */
interface Place {
  names: string[];
  name: string;
}

/** A folder `*.zarr`, whose objects together are one item. */
interface ListedTree {
  /** The object that describes it, if it has been listed. */
  description: ListedObject | null;
  digest: TreeDigest;
}

function nameAndFolders(path: string): Place {
  const names = path.split('/');
  return { names: names.slice(0, -1), name: names.at(-1)! };
}

/** The place of an object's item. For an object of a Zarr, `tree` is the path of the Zarr's folder. */
function placeOf(key: string): Place & { tree?: string } {
  const place = nameAndFolders(key);
  const at = place.names.findIndex(isZarrName);
  return at < 0 ? place : { ...place, tree: place.names.slice(0, at + 1).join('/') };
}

function addToTree(trees: Map<string, ListedTree>, folder: string, object: ListedObject): void {
  const tree = trees.get(folder) ?? { description: null, digest: new TreeDigest() };
  trees.set(folder, tree);
  const path = object.key.slice(folder.length + 1);
  tree.digest.add(path, object.size, object.etag);
  if (zarrDescriptions.includes(path)) tree.description ??= object;
}

/** Marks the items of objects below a prefix that were not listed. @returns how many there are */
async function markMissing(context: HostContext, { bucket, prefix }: BucketPrefix, seen: ReadonlySet<string>): Promise<number> {
  const query = { 'storage.kind': 'bucket' as const, 'storage.bucket': bucket, itemId: { $ne: null } };
  const files = eachInSlices<FileInBucket>(context.models.file.find(query, { itemId: 1, 'storage.path': 1 }).lean());
  const missing: Types.ObjectId[] = [];
  for await (const { itemId, storage } of files) {
    if (itemId !== null && storage.path.startsWith(prefix) && !seen.has(storage.path)) missing.push(itemId);
  }
  await setMissing(context, missing, new Date());
  return missing.length;
}
