import type { Model } from 'mongoose';
import type { StoredDocument } from '../host.js';
import type { FileRecord, ItemRecord } from './host-records.js';

type AnyModel = Model<Record<string, unknown>>;

/** Field of items and files that names the conversion job that makes or made them; nobody else calls a field so. */
export const conversionField = 'largeImageConversionId';

interface TraceParts {
  items: AnyModel;
  files: AnyModel;
  itemOf(doc: StoredDocument): ItemRecord;
  fileOf(doc: StoredDocument): FileRecord;
}

/** What conversions have stored, by the jobs that did: files for good, new items until they are complete. */
export class ConversionTraces {
  constructor(private readonly parts: TraceParts) {}

  async createIndexes(): Promise<void> {
    const { items, files } = this.parts;
    await items.collection.createIndex({ [conversionField]: 1 });
    await files.collection.createIndex({ [conversionField]: 1 });
  }

  /** Files that a conversion has stored. */
  async files(jobId: string): Promise<FileRecord[]> {
    const docs = await this.parts.files.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.fileOf(doc));
  }

  /** Items that a conversion has made and not said to be complete. */
  async items(jobId: string): Promise<ItemRecord[]> {
    const docs = await this.parts.items.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.itemOf(doc));
  }

  /** The jobs of all such items. */
  async jobs(): Promise<string[]> {
    const ids = await this.parts.items.distinct(conversionField, { [conversionField]: { $ne: null } });
    return ids.filter((id): id is string => typeof id === 'string');
  }

  /** Names the job that makes an item; `null` when the item is complete. Past Mongoose: the item has not changed for anybody else. */
  async mark(item: ItemRecord, jobId: string | null): Promise<void> {
    const change = jobId === null ? { $unset: { [conversionField]: 1 } } : { $set: { [conversionField]: jobId } };
    await this.parts.items.collection.updateOne({ _id: item.doc._id } as object, change);
  }
}
