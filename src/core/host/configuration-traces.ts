import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import type { FileRecord, ItemRecord } from './records.js';

type AnyModel = Model<Record<string, unknown>>;

/** Field of an item that was made for the configuration of a folder, as long as the item has no file yet. */
export const unfinishedField = 'largeImageUnfinished';
/** Field of a file that replaces another file of its item. It contains the id of that file until that is removed. */
export const replacesField = 'largeImageReplaces';

interface TraceParts {
  items: AnyModel;
  files: AnyModel;
  itemOf(doc: StoredDocument): ItemRecord;
  fileOf(doc: StoredDocument): FileRecord;
}

/**
 * Marks on items and files that a write of a folder configuration has begun. If a mark is still there when no process writes, it was left by a
 * process that was killed.
 */
export class ConfigurationTraces {
  constructor(private readonly parts: TraceParts) {}

  /** Indexes for its queries. */
  readonly indexes = {
    items: [{ key: { [unfinishedField]: 1 }, sparse: true }],
    files: [{ key: { [replacesField]: 1 }, sparse: true }],
  } as const;

  isUnfinished({ doc }: ItemRecord): boolean {
    return doc[unfinishedField] === true;
  }

  /** Sets or removes the mark of an item without a file. It bypasses Mongoose, because the item has not changed for others. */
  async markItem(item: ItemRecord, isUnfinished: boolean): Promise<void> {
    const change = isUnfinished ? { $set: { [unfinishedField]: true } } : { $unset: { [unfinishedField]: 1 } };
    await this.parts.items.collection.updateOne({ _id: item.doc._id } as object, change);
  }

  /** Id of the file that a file replaces; `null` if there is none, or it no longer exists. */
  replacedBy({ doc }: FileRecord): string | null {
    const id = doc[replacesField];
    return typeof id === 'string' ? id : null;
  }

  /** Removes the mark of a file after the replaced file was removed. */
  async settleFile(file: FileRecord): Promise<void> {
    await this.parts.files.collection.updateOne({ _id: file.doc._id } as object, { $unset: { [replacesField]: 1 } });
  }

  async unfinishedItems(): Promise<ItemRecord[]> {
    const docs = await this.parts.items.find({ [unfinishedField]: true }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.itemOf(doc));
  }

  async replacingFiles(): Promise<FileRecord[]> {
    const docs = await this.parts.files.find({ [replacesField]: { $exists: true } }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.fileOf(doc));
  }
}
