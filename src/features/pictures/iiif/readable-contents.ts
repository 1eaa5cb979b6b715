import type { FolderRecord, ItemRecord } from '../../../core/host/records.js';
import type { Caller } from '../../../host.js';
import type { PictureContext } from '../context.js';
import { findFoldersIn, findImagesIn } from './folder-contents.model.js';

/** Maximum number of images, and of folders, that a collection lists. */
export const maxCollectionEntries = 1000;

type Services = Pick<PictureContext, 'records' | 'access'>;

/** The images in a folder that the caller can read, up to {@link maxCollectionEntries}. */
export async function findReadableImages(
  { records, access }: Services,
  folder: FolderRecord,
  caller: Caller | null,
): Promise<ItemRecord[]> {
  return findImagesIn(records, folder, { filter: await access.filter(caller, 'item', 0), limit: maxCollectionEntries });
}

/** The subfolders of a folder that the caller can read, up to {@link maxCollectionEntries}. */
export async function findReadableFolders(
  { records, access }: Services,
  folder: FolderRecord,
  caller: Caller | null,
): Promise<FolderRecord[]> {
  return findFoldersIn(records, folder, { filter: await access.filter(caller, 'folder', 0), limit: maxCollectionEntries });
}
