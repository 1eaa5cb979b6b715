import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import type { FileRecord, ItemRecord } from './records.js';

type AnyModel = Model<Record<string, unknown>>;

/** Field of an item that was made for the configuration of a folder, until its file is there. */
export const unfinishedField = 'largeImageUnfinished';
/** Field of a file that takes the place of another one of its item, whose id it holds, until that is gone. */
export const replacesField = 'largeImageReplaces';

interface TraceParts {
  items: AnyModel;
  files: AnyModel;
  itemOf(doc: StoredDocument): ItemRecord;
  fileOf(doc: StoredDocument): FileRecord;
}

/** What writes of folder configurations have begun: what still bears a mark when nobody writes was left by a process that was killed. */
export class ConfigurationTraces {
  constructor(private readonly parts: TraceParts) {}

  /** Behind its queries. */
  readonly indexes = {
    items: [{ key: { [unfinishedField]: 1 }, sparse: true }],
    files: [{ key: { [replacesField]: 1 }, sparse: true }],
  } as const;

  isUnfinished({ doc }: ItemRecord): boolean {
    return doc[unfinishedField] === true;
  }

  /** Says that an item has its file, or has none yet. Past Mongoose: the item has not changed for anybody else. */
  async markItem(item: ItemRecord, isUnfinished: boolean): Promise<void> {
    const change = isUnfinished ? { $set: { [unfinishedField]: true } } : { $unset: { [unfinishedField]: 1 } };
    await this.parts.items.collection.updateOne({ _id: item.doc._id } as object, change);
  }

  /** Id of the file whose place a file takes; `null` where there is none, or it is gone. */
  replacedBy({ doc }: FileRecord): string | null {
    const id = doc[replacesField];
    return typeof id === 'string' ? id : null;
  }

  /** Says that the file whose place another one took is gone. */
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
