import type { HostParts, FileRecord, ItemRecord } from '../../core/host/records.js';
import { replacesField, unfinishedField } from '../../core/host/schema-extension.js';
import { createIndexes } from '../../core/database/indexes.js';
import type { StoredDocument } from '../../host.js';

/**
 * Marks on the items and files of folder configurations that are being written. A mark that remains when no process is writing was left
 * by a process that was killed.
 */
export class ConfigurationMarks {
  constructor(private readonly parts: Pick<HostParts, 'items' | 'files' | 'itemOf' | 'fileOf'>) {}

  async createIndexes(): Promise<void> {
    const { items, files } = this.parts;
    await createIndexes(items.collection, [{ key: { [unfinishedField]: 1 }, sparse: true }]);
    await createIndexes(files.collection, [{ key: { [replacesField]: 1 }, sparse: true }]);
  }

  /** Whether the first write of an item has not finished. */
  isUnfinished({ doc }: ItemRecord): boolean {
    return doc[unfinishedField] === true;
  }

  /** Marks an item as not having its file yet, or removes this mark. Bypasses Mongoose, so that the item does not count as changed. */
  async setUnfinished(item: ItemRecord, isUnfinished: boolean): Promise<void> {
    const change = isUnfinished ? { $set: { [unfinishedField]: true } } : { $unset: { [unfinishedField]: 1 } };
    await this.parts.items.collection.updateOne({ _id: item.doc._id } as object, change);
  }

  /** Id of the file that a file replaces; `null` if the file replaces no other file. */
  replacedFileIdOf({ doc }: FileRecord): string | null {
    const id = doc[replacesField];
    return typeof id === 'string' ? id : null;
  }

  /** Removes the mark of a file after the replaced file was removed. */
  async unmarkFile(file: FileRecord): Promise<void> {
    await this.parts.files.collection.updateOne({ _id: file.doc._id } as object, { $unset: { [replacesField]: 1 } });
  }

  async findUnfinishedItems(): Promise<ItemRecord[]> {
    const docs = await this.parts.items.find({ [unfinishedField]: true }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.itemOf(doc));
  }

  async findReplacingFiles(): Promise<FileRecord[]> {
    const docs = await this.parts.files.find({ [replacesField]: { $exists: true } }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.fileOf(doc));
  }
}
