import { realpath, stat } from 'node:fs/promises';
import type { Types } from 'mongoose';
import { InvalidError } from '../index.js';
import type { HostContext } from './context.js';
import type { FolderDocument } from './models/folder.js';
import type { FileDocument } from './models/file.js';
import type { ItemDocument } from './models/item.js';
import { insertFile } from './services/files.js';
import { createItem, removeItem } from './services/items.js';
import { basename } from 'node:path';

/** A file on this machine that is to be served where it lies. */
export interface InPlaceFile {
  path: string;
  folder: FolderDocument;
  itemName: string;
  creatorId: Types.ObjectId | null;
}

/**
 * Makes an item whose file is a file on this machine, without copying it. Its bytes are never written or removed.
 *
 * @throws InvalidError when the path is no file
 */
export async function registerFileInPlace(
  context: HostContext,
  { path, folder, itemName, creatorId }: InPlaceFile,
): Promise<{ item: ItemDocument; file: FileDocument }> {
  const resolved = await realpath(path);
  const found = await stat(resolved);
  if (!found.isFile()) throw new InvalidError(`Not a file: ${path}`);
  const item = await createItem(context, folder, { name: itemName, creatorId });
  try {
    const name = basename(path);
    const storage = { kind: 'in-place' as const, path: resolved };
    const file = await insertFile(context, item, { name, size: found.size, storage, creatorId });
    return { item: (await context.models.item.findById(item._id).lean<ItemDocument>()) ?? item, file };
  } catch (error) {
    await removeItem(context, item);
    throw error;
  }
}
