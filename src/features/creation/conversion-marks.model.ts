import type { HostParts, FileRecord, ItemRecord } from '../../core/host/records.js';
import { conversionField } from '../../core/host/schema-extension.js';
import { durable } from '../../core/database/durable.js';
import { createIndexes } from '../../core/database/indexes.js';
import type { StoredDocument } from '../../host.js';

/**
 * Marks items and files that a conversion has stored but that are not in use yet. A mark whose job is over was left by a killed process;
 * a sweep completes or removes the item or file.
 */
export class ConversionMarks {
  constructor(private readonly parts: Pick<HostParts, 'items' | 'files' | 'itemOf' | 'fileOf'>) {}

  async createIndexes(): Promise<void> {
    const { items, files } = this.parts;
    for (const { collection } of [items, files]) await createIndexes(collection, [{ key: { [conversionField]: 1 } }]);
  }

  /** Marked files of a job. */
  async findFiles(jobId: string): Promise<FileRecord[]> {
    const docs = await this.parts.files.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.fileOf(doc));
  }

  /** Marked items of a job. */
  async findItems(jobId: string): Promise<ItemRecord[]> {
    const docs = await this.parts.items.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.itemOf(doc));
  }

  /** Ids of the jobs of all marked items and files. */
  async findJobIds(): Promise<string[]> {
    const { items, files } = this.parts;
    const markedFilter = { [conversionField]: { $ne: null } };
    const ids = [
      ...(await items.distinct(conversionField, markedFilter)),
      ...(await files.distinct(conversionField, markedFilter)),
    ];
    return [...new Set(ids.filter((id): id is string => typeof id === 'string'))];
  }

  /** Marks an item with a job; `null` removes the mark. Bypasses Mongoose, so that the mark does not count as a change of the item. */
  async setMarkOfItem({ doc }: ItemRecord, jobId: string | null): Promise<void> {
    await this.parts.items.collection.updateOne({ _id: doc._id } as object, markUpdate(jobId), durable);
  }

  /** Marks a file with a job; `null` removes the mark. */
  async setMarkOfFile({ doc }: FileRecord, jobId: string | null): Promise<void> {
    await this.parts.files.collection.updateOne({ _id: doc._id } as object, markUpdate(jobId), durable);
  }
}

function markUpdate(jobId: string | null): object {
  return jobId === null ? { $unset: { [conversionField]: 1 } } : { $set: { [conversionField]: jobId } };
}
