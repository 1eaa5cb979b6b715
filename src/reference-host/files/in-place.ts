import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Types } from 'mongoose';
import { InvalidError, step } from '../../larger-host.js';
import type { ListedObject } from '../../s3/index.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { FileDocument, InPlaceState } from './file.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { insertFile } from './files.js';
import { refreshFileInBucket, type FileInBucket } from './in-bucket.js';
import { announceReplaced } from './replaced-files.js';
import { createItem } from '../tree/items.js';

/** A file on this machine to serve in place. */
export interface InPlaceFile {
  path: string;
  folder: FolderDocument;
  itemName: string;
  creatorId: Types.ObjectId | null;
  /** Whether the files in its folder and below belong to it. Default false. */
  isTree?: boolean;
}

/** A file that is served in place. */
export type FileInPlace = FileDocument & { storage: { kind: 'in-place' } };

/** Number of bytes at the start, and at the end, of a file that are hashed. */
const hashedBytes = 64 * 1024;

/** Distinguishes files of the same length without reading all of them. */
export async function digestOf(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const hash = createHash('sha256').update(`${size}\0`);
    for (const start of new Set([0, Math.max(0, size - hashedBytes)])) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(hashedBytes, size)), { position: start });
      hash.update(buffer.subarray(0, bytesRead));
    }
    return hash.digest('base64url');
  } finally {
    await handle.close();
  }
}

/** Identifies a file in its file system, whatever its path. */
export function inodeOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}

/** The stored properties by which a file on disk is recognized. */
async function stateOf(path: string, found: Stats): Promise<Omit<InPlaceState, 'isTree'>> {
  return { modified: found.mtime, inode: inodeOf(found), digest: await digestOf(path) };
}

/**
 * Makes an item from a file on this machine, without copying it. Its bytes are never written or removed.
 *
 * @throws InvalidError if the path is not a file
 */
export async function registerFileInPlace(
  context: HostContext,
  { path, folder, itemName, creatorId, isTree = false }: InPlaceFile,
): Promise<{ item: ItemDocument; file: FileDocument }> {
  const resolved = await realpath(path);
  const found = await stat(resolved);
  if (!found.isFile()) throw new InvalidError(`Not a file: ${path}`);
  const state = await stateOf(resolved, found);
  const _id = new Types.ObjectId();
  return context.journal.undertake({ kind: 'making', type: 'item', id: _id }, async () => {
    const item = await createItem(context, folder, { _id, name: itemName, creatorId });
    step('in-place:item');
    const name = basename(path);
    const storage = { kind: 'in-place' as const, path: resolved, ...state, ...(isTree && { isTree }) };
    const file = await insertFile(context, item, { name, size: found.size, storage, creatorId });
    return { item: (await context.models.item.findById(_id).lean<ItemDocument>()) ?? item, file };
  });
}

/**
 * Updates the record of a file that was replaced on disk, and announces the change. If the content is the same as before, only the
 * record changes.
 *
 * @returns whether the content has changed
 */
export async function refreshFileInPlace(context: HostContext, file: FileDocument): Promise<boolean> {
  const { storage } = file;
  if (storage.kind !== 'in-place') return false;
  const found = await stat(storage.path);
  const isSame = found.size === file.size && found.mtime.getTime() === storage.modified?.getTime();
  if (isSame && storage.inode === inodeOf(found)) return false;
  const state = await stateOf(storage.path, found);
  const isReplaced = storage.digest !== state.digest && !(isSame && storage.digest === undefined);
  const now = new Date();
  const changes = Object.fromEntries(Object.entries(state).map(([name, value]) => [`storage.${name}`, value]));
  const updated = await context.models.file
    .findOneAndUpdate(
      { _id: file._id, size: file.size },
      { $set: { ...changes, size: found.size, ...(isReplaced && { updated: now }) } },
      { returnDocument: 'after' },
    )
    .lean<FileDocument>();
  if (updated === null || !isReplaced) return false;
  await announceReplaced(context, updated, { formerSize: file.size ?? 0, at: now });
  return true;
}

/** Makes an item from an object in a bucket. The object is neither copied nor changed. An existing item is updated. */
export async function registerFileInBucket(
  context: HostContext,
  {
    bucket,
    object,
    folder,
    name,
    creatorId,
    isTree = false,
  }: {
    bucket: string;
    object: ListedObject;
    folder: FolderDocument;
    name: string;
    creatorId: Types.ObjectId | null;
    /** Whether the objects with longer keys in the same folder belong to it. Default false. */
    isTree?: boolean;
  },
): Promise<void> {
  const { models } = context;
  const known = await models.file
    .find({ 'storage.kind': 'bucket', 'storage.path': object.key, 'storage.bucket': bucket })
    .lean<FileInBucket[]>();
  const itemIds = known.flatMap(({ itemId }) => (itemId === null ? [] : [itemId]));
  if (itemIds.length > 0 && (await models.item.exists({ _id: { $in: itemIds } })) !== null) {
    for (const file of known) await refreshFileInBucket(context, file, object);
    await models.item.updateMany({ _id: { $in: itemIds }, fileMissing: { $ne: null } }, { $unset: { fileMissing: 1 } });
    return;
  }
  const _id = new Types.ObjectId();
  await context.journal.undertake({ kind: 'making', type: 'item', id: _id }, async () => {
    const item = await createItem(context, folder, { _id, name, creatorId });
    step('in-place:item');
    const storage = { kind: 'bucket' as const, bucket, path: object.key, etag: object.etag, ...(isTree && { isTree }) };
    await insertFile(context, item, { name: basename(object.key), size: object.size, storage, creatorId });
  });
}
