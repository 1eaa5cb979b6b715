import { createHash } from 'node:crypto';
import { close, fstat, open, read, type Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { Types } from 'mongoose';
import { InvalidError, announceStep } from '../../larger-host.js';
import type { ListedObject } from '../../s3/index.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { FileDocument, InPlaceState } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { insertHiddenFiles, type NewFileRecord } from './files.js';
import { refreshFileInBucket, type FileInBucket } from './in-bucket.js';
import { announceReplaced } from './replaced-files.js';
import { withTrashed } from '../trash/trash-mark.js';
import { createItems } from '../tree/items.js';
import { checkName } from '../tree/names/checked-name.js';

/** A file on this machine to serve in place. */
export interface InPlaceFile {
  path: string;
  itemName: string;
  creatorId: Types.ObjectId | null;
  /** Whether all other files in the file's folder and below belong to this file. Default false. */
  isTree?: boolean;
  /** If `isTree`: a digest of the other files. */
  tree?: string | undefined;
  /** The stats of the file, if they have just been read. */
  stats?: Stats;
}

/** A file that is served in place. */
export type FileInPlace = FileDocument & { storage: { kind: 'in-place' } };

/** Number of bytes at the start, and at the end, of a file that its digest covers. */
const digestedBytes = 16 * 1024;

/** Whether the digest of a file of this length covers only a part of it. */
export function isDigestPartial(size: number): boolean {
  return size > 2 * digestedBytes;
}

/** File descriptors are used, because file handles take about twice the processor time, and thousands of files may be opened. */
const [openDescriptor, closeDescriptor] = [promisify(open), promisify(close)];
const [statDescriptor, readDescriptor] = [promisify(fstat), promisify(read)];

/** Reads the properties that later identify a file on disk. The digest tells files of the same length apart without reading them whole. */
async function readState(
  path: string,
  stats?: Stats,
): Promise<Pick<InPlaceState, 'modified' | 'inode' | 'digest'> & { size: number }> {
  const descriptor = await openDescriptor(path, 'r');
  try {
    const fileStats = stats ?? (await statDescriptor(descriptor));
    const { size } = fileStats;
    const hash = createHash('sha256').update(`${size}\0`);
    const length = isDigestPartial(size) ? digestedBytes : size;
    for (const position of isDigestPartial(size) ? [0, size - length] : [0]) {
      const { bytesRead, buffer } = await readDescriptor(descriptor, Buffer.allocUnsafe(length), 0, length, position);
      hash.update(buffer.subarray(0, bytesRead));
    }
    return { size, modified: fileStats.mtime, inode: formatInode(fileStats), digest: hash.digest('base64url') };
  } finally {
    await closeDescriptor(descriptor);
  }
}

/** A digest of the length, the start and the end of a file. */
export async function computeDigest(path: string): Promise<string> {
  return (await readState(path)).digest;
}

/** Identifies a file by device and inode, which stay the same when it is moved. */
export function formatInode({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}

/**
 * Makes an item from a file on this machine, without copying it. Its bytes are never written or removed.
 *
 * @throws InvalidError if the path is not a file
 */
export async function registerFileInPlace(
  context: HostContext,
  { path, folder, ...file }: InPlaceFile & { folder: FolderDocument },
): Promise<{ item: ItemDocument; file: FileDocument }> {
  const resolvedPath = await realpath(path);
  if (!(await stat(resolvedPath)).isFile()) throw new InvalidError(`Not a file: ${path}`);
  const [result] = await registerFilesInPlace(context, folder, [{ ...file, path: resolvedPath }]);
  if (result!.status === 'rejected') throw result!.reason;
  const { item, file: newFile } = result!.value;
  return { item: (await context.models.item.findById(item._id).lean<ItemDocument>()) ?? item, file: newFile };
}

/**
 * Makes items of several files as {@link registerFileInPlace} does, with few commands to the database. The paths must lead to files and must
 * not contain symbolic links.
 *
 * @returns one result for each file; it is rejected if the name is invalid or the file cannot be read
 */
export async function registerFilesInPlace(
  context: HostContext,
  folder: FolderDocument,
  files: readonly InPlaceFile[],
): Promise<PromiseSettledResult<{ item: ItemDocument; file: FileDocument }>[]> {
  const preparedItems = await Promise.allSettled(
    files.map(async ({ path, itemName, creatorId, isTree = false, tree, stats }): Promise<NewItemWithFile> => {
      checkName('Item', itemName);
      const { size, ...state } = await readState(path, stats);
      const storage = { kind: 'in-place' as const, path, ...state, ...(isTree && { isTree, tree }) };
      return { name: itemName, creatorId, record: { name: basename(path), size, storage, creatorId } };
    }),
  );
  const registeredItems = await registerItemsWithFiles(
    context,
    folder,
    preparedItems.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])),
  );
  let registeredIndex = 0;
  return preparedItems.map((each) =>
    each.status === 'fulfilled' ? { status: 'fulfilled', value: registeredItems[registeredIndex++]! } : each,
  );
}

/** An item to be made, and its only file. */
interface NewItemWithFile {
  name: string;
  creatorId: Types.ObjectId | null;
  record: NewFileRecord & { size: number };
}

/** Stores items, each with one file, and announces them. */
async function registerItemsWithFiles(
  context: HostContext,
  folder: FolderDocument,
  newItems: readonly NewItemWithFile[],
): Promise<{ item: ItemDocument; file: FileDocument }[]> {
  if (newItems.length === 0) return [];
  const itemIds = newItems.map(() => new Types.ObjectId());
  return context.journal.undertake({ kind: 'registering', ids: itemIds }, async () => {
    const records = newItems.map(({ record }, index) => ({ itemId: itemIds[index]!, record }));
    const files = await insertHiddenFiles(context, records);
    announceStep('in-place:file');
    const items = await createItems(
      context,
      folder,
      newItems.map(({ name, creatorId, record: { size } }, index) => ({ _id: itemIds[index]!, name, creatorId, size })),
    );
    announceStep('in-place:item');
    const added = files.map((file, index) => ({ file: { ...file }, item: { ...items[index]! } }));
    await context.events.emit('files.added', { added });
    return items.map((item, index) => ({ item, file: files[index]! }));
  });
}

/**
 * Updates the record of a file that has changed on disk, and announces the change. If length, start and end of the file are the same as
 * before, only the record is updated; `ContentHashes` compares the other bytes later.
 *
 * @param treeDigest a digest of the other files that belong to the file, if any
 * @returns whether the content has changed
 */
export async function refreshFileInPlace(context: HostContext, file: FileDocument, treeDigest?: string): Promise<boolean> {
  const { storage } = file;
  if (storage.kind !== 'in-place') return false;
  const stats = await stat(storage.path);
  const isSameSizeAndTime = stats.size === file.size && stats.mtime.getTime() === storage.modified?.getTime();
  if (isSameSizeAndTime && storage.inode === formatInode(stats) && storage.tree === (treeDigest ?? storage.tree)) return false;
  const { size, ...state } = await readState(storage.path);
  const hasChangedTree = treeDigest !== undefined && ![undefined, treeDigest].includes(storage.tree);
  // Old records have no digest. Without one, an equal length and time mean that the file is the same.
  const isReplaced = hasChangedTree || (storage.digest !== state.digest && !(isSameSizeAndTime && storage.digest === undefined));
  const refreshedAt = new Date();
  const changes = {
    ...Object.fromEntries(
      Object.entries({ ...state, ...(treeDigest !== undefined && { tree: treeDigest }) }).map(([name, value]) => [
        `storage.${name}`,
        value,
      ]),
    ),
    ...(storage.contents !== undefined && !isReplaced && { 'storage.touched': refreshedAt }),
  };
  const outdatedFieldsUpdate = isReplaced && { $unset: { 'storage.contents': 1, 'storage.touched': 1 } };
  const updatedFile = await context.models.file
    .findOneAndUpdate(
      { _id: file._id, size: file.size },
      { $set: { ...changes, size, ...(isReplaced && { updated: refreshedAt }) }, ...outdatedFieldsUpdate },
      { returnDocument: 'after' },
    )
    .lean<FileDocument>();
  if (updatedFile === null || !isReplaced) return false;
  await announceReplaced(context, updatedFile, { formerSize: file.size ?? 0, replacedAt: refreshedAt });
  return true;
}

/** An object in a bucket, and the name of its item. */
export interface ObjectInPlace {
  object: ListedObject;
  itemName: string;
  /** If all other objects in the object's folder and below belong to the object: a digest of these objects. */
  tree?: string | undefined;
}

/** Makes items whose files are objects in a bucket. The objects are not copied, and never changed. Items that exist already are updated. */
export async function registerObjects(
  context: HostContext,
  folder: FolderDocument,
  { bucket, creatorId, objects }: { bucket: string; creatorId: Types.ObjectId | null; objects: readonly ObjectInPlace[] },
): Promise<void> {
  const { models } = context;
  const keys = objects.map(({ object }) => object.key);
  const existingFiles = await models.file
    .find({ 'storage.kind': 'bucket', 'storage.path': { $in: keys }, 'storage.bucket': bucket, itemId: { $ne: null } })
    .lean<FileInBucket[]>();
  // Objects whose items are in the trash get no other items.
  const items = await models.item
    .find({ _id: { $in: existingFiles.map(({ itemId }) => itemId!) } }, { _id: 1 }, withTrashed)
    .lean();
  const existingItemIds = new Set(items.map(({ _id }) => _id.toHexString()));
  const filesByKey = new Map<string, FileInBucket[]>();
  for (const file of existingFiles) {
    if (!existingItemIds.has(file.itemId!.toHexString())) continue;
    filesByKey.set(file.storage.path, [...(filesByKey.get(file.storage.path) ?? []), file]);
  }
  const newItems: NewItemWithFile[] = [];
  for (const { object, itemName, tree } of objects) {
    const files = filesByKey.get(object.key);
    if (files !== undefined) {
      for (const file of files) await refreshFileInBucket(context, file, { ...object, tree });
      continue;
    }
    const storage = {
      kind: 'bucket' as const,
      bucket,
      path: object.key,
      etag: object.etag,
      ...(tree !== undefined && { isTree: true, tree }),
    };
    newItems.push({
      name: itemName,
      creatorId,
      record: { name: basename(object.key), size: object.size, storage, creatorId },
    });
  }
  await models.item.updateMany(
    { _id: { $in: items.map(({ _id }) => _id) }, fileMissing: { $ne: null } },
    { $unset: { fileMissing: 1 } },
  );
  await registerItemsWithFiles(context, folder, newItems);
}
