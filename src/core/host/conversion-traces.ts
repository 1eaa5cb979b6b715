import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import type { FileRecord, ItemRecord } from './records.js';
import { durable } from '../database/durable.js';

type AnyModel = Model<Record<string, unknown>>;

/**
 * Field of items and files that names the conversion job which makes them, or which made what is being removed: until they are complete. Nobody
 * else calls a field so.
 */
export const conversionField = 'largeImageConversionId';

interface TraceParts {
  items: AnyModel;
  files: AnyModel;
  itemOf(doc: StoredDocument): ItemRecord;
  fileOf(doc: StoredDocument): FileRecord;
}

/**
 * What conversions have stored and nobody counts on yet, by the jobs that did. Whatever still has the mark of a job that is over was left by
 * a process that was killed: it is completed, or goes.
 */
export class ConversionTraces {
  constructor(private readonly parts: TraceParts) {}

  /** Behind its queries. */
  readonly indexes = { items: [{ key: { [conversionField]: 1 } }], files: [{ key: { [conversionField]: 1 } }] } as const;

  /** Marked files of a job. */
  async files(jobId: string): Promise<FileRecord[]> {
    const docs = await this.parts.files.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.fileOf(doc));
  }

  /** Marked items of a job. */
  async items(jobId: string): Promise<ItemRecord[]> {
    const docs = await this.parts.items.find({ [conversionField]: jobId }).lean<StoredDocument[]>();
    return docs.map((doc) => this.parts.itemOf(doc));
  }

  /** The jobs of all marked items and files. */
  async jobs(): Promise<string[]> {
    const { items, files } = this.parts;
    const marked = { [conversionField]: { $ne: null } };
    const ids = [...(await items.distinct(conversionField, marked)), ...(await files.distinct(conversionField, marked))];
    return [...new Set(ids.filter((id): id is string => typeof id === 'string'))];
  }

  /** Marks an item by a job; `null` takes the mark off. Past Mongoose: the item has not changed for anybody else. */
  async markItem({ doc }: ItemRecord, jobId: string | null): Promise<void> {
    await this.parts.items.collection.updateOne({ _id: doc._id } as object, markOf(jobId), durable);
  }

  /** The same for a file. */
  async markFile({ doc }: FileRecord, jobId: string | null): Promise<void> {
    await this.parts.files.collection.updateOne({ _id: doc._id } as object, markOf(jobId), durable);
  }
}

function markOf(jobId: string | null): object {
  return jobId === null ? { $unset: { [conversionField]: 1 } } : { $set: { [conversionField]: jobId } };
}
