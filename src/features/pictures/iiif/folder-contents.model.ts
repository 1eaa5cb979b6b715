import type { HostRecords } from '../../../core/host/host-records.js';
import type { FolderRecord, ItemRecord } from '../../../core/host/records.js';
import type { StoredDocument } from '../../../host.js';

type Conditions = Readonly<Record<string, unknown>>;

/** The large images of a folder, oldest first, that fit a condition on the model. */
export async function imagesIn(
  records: HostRecords,
  folder: FolderRecord,
  { filter, limit }: { filter: Conditions; limit: number },
): Promise<ItemRecord[]> {
  const { items, names } = records.lists;
  const images = { [names.item.folder]: folder.doc._id, 'largeImage.fileId': { $exists: true, $ne: null } };
  const docs = await items
    .find({ $and: [images, filter] })
    .sort({ _id: 1 })
    .limit(limit)
    .lean<StoredDocument[]>();
  return docs.map((doc) => records.itemOf(doc));
}

/** The folders directly below a folder, oldest first, that fit a condition on the model. */
export async function foldersIn(
  records: HostRecords,
  folder: FolderRecord,
  { filter, limit }: { filter: Conditions; limit: number },
): Promise<FolderRecord[]> {
  const { folders, names } = records.lists;
  const docs = await folders
    .find({ $and: [{ [names.folder.parent]: folder.doc._id }, filter] })
    .sort({ _id: 1 })
    .limit(limit)
    .lean<StoredDocument[]>();
  return docs.map((doc) => records.folderOf(doc));
}
