import { durable } from '../../core/database/durable.js';
import { idText } from '../../core/database/id-text.js';
import { createIndexes } from '../../core/database/indexes.js';
import { readInSlices } from '../../core/database/read-limits.js';
import type { HostParts, FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import { waitingField } from '../../core/host/schema-extension.js';
import type { StoredDocument } from '../../host.js';

/** A DICOM series as stored in an item. Its fields have the names that clients expect. */
export interface StoredSeries {
  dicomSeriesUID: string;
  dicomStudyUID: string;
}

/** Maximum number of items that one change in a folder may affect. */
const maxItems = 1000;

/** Queries for items whose images also use other files in their folders. */
export class FolderDependants {
  constructor(private readonly parts: Pick<HostParts, 'items' | 'fields' | 'itemOf'>) {}

  async createIndexes(): Promise<void> {
    const { items, fields } = this.parts;
    await createIndexes(items.collection, [
      { key: { [fields.item.folderId]: 1, 'largeImage.sourceName': 1 } },
      { key: { [fields.item.folderId]: 1, [`${waitingField}.missing`]: 1 }, sparse: true },
      { key: { 'largeImage.mergedInto': 1 }, sparse: true },
    ]);
  }

  /**
   * The items of a series in the folder of `item`, oldest first. They have the tile source of `item` and are not being merged
   * into another item.
   */
  async findItemsOfSeries(item: ItemRecord, { dicomSeriesUID, dicomStudyUID }: StoredSeries): Promise<ItemRecord[]> {
    const { items, fields, itemOf } = this.parts;
    const query = items
      .find({
        [fields.item.folderId]: item.doc[fields.item.folderId],
        'largeImage.sourceName': item.largeImage?.sourceName,
        'largeImage.dicomSeriesUID': dicomSeriesUID,
        'largeImage.dicomStudyUID': dicomStudyUID,
        'largeImage.mergedInto': null,
      })
      .sort({ _id: 1 })
      .limit(maxItems);
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => itemOf(doc));
  }

  /** Removes the note that an item should be merged with other items. If its files are already being moved to another item, the note stays. */
  async removeMergeNote(item: ItemRecord): Promise<void> {
    await this.parts.items.collection.updateOne(
      { _id: item.doc._id, 'largeImage.mergedInto': null } as object,
      { $unset: { 'largeImage.mergedInto': '' } },
      durable,
    );
  }

  /** Items whose files are being moved to another item (`into`), or that should be merged with other items (`into` is `null`). */
  async findMergingItems(): Promise<{ item: ItemRecord; into: string | null }[]> {
    const { items, itemOf } = this.parts;
    const query = items.find({ 'largeImage.mergedInto': { $exists: true } }).limit(maxItems);
    type MergingDocument = StoredDocument & { largeImage: { mergedInto: unknown } };
    return (await readInSlices<MergingDocument>(query.lean())).map((doc) => ({
      item: itemOf(doc),
      into: doc.largeImage.mergedInto === null ? null : idText(doc.largeImage.mergedInto),
    }));
  }

  /** Items of a folder that are served by one of these sources. */
  async findItemsServedBySources(folder: FolderRecord, sourceNames: readonly string[]): Promise<ItemRecord[]> {
    const { items, fields, itemOf } = this.parts;
    const query = items
      .find({ [fields.item.folderId]: folder.doc._id, 'largeImage.sourceName': { $in: [...sourceNames] } })
      .limit(maxItems);
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => itemOf(doc));
  }

  /**
   * Removes arrived files from the lists of missing files of the items in a folder.
   *
   * @param paths the paths of the arrived files.
   * @returns the items that were waiting for one of these files, or for any file that matches a pattern (`*`), after the change.
   */
  async markArrived(folder: FolderRecord, paths: readonly string[]): Promise<ItemRecord[]> {
    const { items, fields, itemOf } = this.parts;
    const missingField = `${waitingField}.missing`;
    const changedItems: ItemRecord[] = [];
    const waitingDocs = await items
      .find({ [fields.item.folderId]: folder.doc._id, [missingField]: { $in: [...paths, '*'] } }, { _id: 1 })
      .limit(maxItems)
      .lean<StoredDocument[]>();
    for (const { _id } of waitingDocs) {
      const doc = await items
        .findOneAndUpdate(
          { _id, [missingField]: { $exists: true } },
          { $pull: { [missingField]: { $in: [...paths] } } },
          { returnDocument: 'after', ...durable },
        )
        .lean<StoredDocument>();
      const item = doc === null ? null : itemOf(doc);
      if (item !== null) changedItems.push(item);
    }
    return changedItems;
  }

  /** Stores the files that an item waits for; `null` means that it waits for none. */
  async setWaiting(item: ItemRecord, waiting: { file: FileRecord; missing: readonly string[] } | null): Promise<void> {
    if (waiting === null && item.missingFiles === null) return;
    const storedValue = waiting && { fileId: waiting.file.doc._id, missing: [...waiting.missing] };
    await this.parts.items.collection.updateOne(
      { _id: item.doc._id } as object,
      storedValue === null ? { $unset: { [waitingField]: '' } } : { $set: { [waitingField]: storedValue } },
      durable,
    );
  }
}
