import { readInSlices } from '../../../core/database/read-limits.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { FolderRecord, ItemRecord } from '../../../core/host/records.js';
import type { StoredDocument } from '../../../host.js';

type Conditions = Readonly<Record<string, unknown>>;

/** The large images in a folder, oldest first, without their metadata. `filter` is a condition on items. */
export async function findImagesIn(
  records: HostRecords,
  folder: FolderRecord,
  { filter, limit }: { filter: Conditions; limit: number },
): Promise<ItemRecord[]> {
  const { items, names } = records.listModels;
  const imageCondition = { [names.item.folder]: folder.doc._id, 'largeImage.fileId': { $exists: true, $ne: null } };
  const query = items
    .find({ $and: [imageCondition, filter] }, { [names.item.meta]: 0 })
    .sort({ _id: 1 })
    .limit(limit);
  return (await readInSlices<StoredDocument>(query.lean())).map((doc) => records.itemOf(doc));
}

/** The direct subfolders of a folder, oldest first, without their metadata. `filter` is a condition on folders. */
export async function findFoldersIn(
  records: HostRecords,
  folder: FolderRecord,
  { filter, limit }: { filter: Conditions; limit: number },
): Promise<FolderRecord[]> {
  const { folders, names } = records.listModels;
  const query = folders
    .find({ $and: [{ [names.folder.parent]: folder.doc._id }, filter] }, { [names.folder.meta]: 0 })
    .sort({ _id: 1 })
    .limit(limit);
  return (await readInSlices<StoredDocument>(query.lean())).map((doc) => records.folderOf(doc));
}
