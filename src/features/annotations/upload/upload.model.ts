import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { createIndexesOf } from '../../../core/database/indexes.js';
import { iterateInSlices } from '../../../core/database/read-limits.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';

/** The data of the job that reads an upload of annotations. */
export interface UploadTask {
  /** Id of the ingestion: the work of reading this upload, which can take several jobs. 24 hexadecimal digits. Empty in the first job if the upload has no id. */
  ingestion: string;
  fileId: string;
  /** Id of the item to annotate. `null` if the reference does not name an item. */
  itemId: string | null;
  /** Name of a batch of uploads. Elements can use the identifiers of this batch in place of item ids. */
  uuid: string | null;
  /** Id of the uploader. */
  userId: string | null;
  /** Whether the user was a site administrator at the time of the upload. */
  admin: boolean;
  /**
   * Whether the upload does not wait for other uploads any longer, so that an item that is still missing is an error. Do not confuse this with
   * `isLastTry`, which is about the last attempt of a job.
   */
  last: boolean;
}

/** An upload that waits for other uploads of its batch. */
export interface WaitingUpload {
  task: UploadTask;
  /** Identifiers for which there was no item when the file was read. */
  identifiers: string[];
}

interface IdentifierDocument {
  _id: string;
  itemId: string;
  created: Date;
}

interface WaitingDocument extends WaitingUpload {
  /** The `ingestion` of the task. */
  _id: string;
  /** The {@link keyOf key} of user and uuid. */
  batch: string;
  created: Date;
}

/** Stores batches of uploads: the item for each identifier, and the uploads that wait for other uploads. Both are removed after some time. */
export class AnnotationUploadModel {
  readonly #identifiers: Model<IdentifierDocument>;
  readonly #waiting: Model<WaitingDocument>;

  constructor(ownCollections: OwnCollections) {
    const { Schema } = ownCollections.connection.base;
    const { Mixed } = Schema.Types;
    this.#identifiers = ownCollections.model<IdentifierDocument>(
      'LargeImageNamedUpload',
      'annotation_upload_name',
      new Schema<IdentifierDocument>({ _id: String, itemId: String, created: { type: Date, index: true } }),
    );
    this.#waiting = ownCollections.model<WaitingDocument>(
      'LargeImageWaitingUpload',
      'annotation_upload_waiting',
      new Schema<WaitingDocument>(
        {
          _id: String,
          batch: { type: String, index: true },
          task: Mixed,
          identifiers: [String],
          created: { type: Date, index: true },
        },
        { minimize: false },
      ),
    );
  }

  async createIndexes(): Promise<void> {
    await Promise.all([createIndexesOf(this.#identifiers), createIndexesOf(this.#waiting)]);
  }

  /** Stores the item for an identifier in a batch. Replaces an earlier item for this identifier. */
  async storeIdentifier({ userId, uuid }: Batch, identifier: string, itemId: string): Promise<void> {
    const $set = { itemId, created: new Date() };
    const write = () => this.#identifiers.updateOne({ _id: keyOf(userId, uuid, identifier) }, { $set }, { upsert: true });
    try {
      await write();
    } catch (error) {
      // If another process has just inserted the same document, the second try finds and updates the document.
      if (!isDuplicateKey(error)) throw error;
      await write();
    }
  }

  /** Finds the id of the item for an identifier in a batch. Returns `null` if there is none. */
  async findItemId({ userId, uuid }: Batch, identifier: string): Promise<string | null> {
    const document = await this.#identifiers.findById(keyOf(userId, uuid, identifier)).lean<IdentifierDocument>();
    return document?.itemId ?? null;
  }

  /** Stores an upload that waits for other uploads of its batch. */
  async storeWaiting(batch: Batch, { task, identifiers }: WaitingUpload): Promise<void> {
    const $set = { batch: keyOf(batch.userId, batch.uuid), task, identifiers };
    await this.#waiting.updateOne({ _id: task.ingestion }, { $set, $setOnInsert: { created: new Date() } }, { upsert: true });
  }

  /** Lists waiting uploads. @param selection only uploads of this batch, or only uploads that were stored before a time. */
  async *listWaiting(selection: { batch?: Batch; before?: Date }): AsyncGenerator<WaitingUpload> {
    const { batch, before } = selection;
    const filter = {
      ...(batch && { batch: keyOf(batch.userId, batch.uuid) }),
      ...(before && { created: { $lt: before } }),
    };
    const cursor = this.#waiting.find(filter).lean();
    for await (const { task, identifiers } of iterateInSlices<WaitingDocument>(cursor)) yield { task, identifiers };
  }

  async isWaiting(ingestionId: string): Promise<boolean> {
    return (await this.#waiting.exists({ _id: ingestionId })) !== null;
  }

  async removeWaiting(ingestionId: string): Promise<void> {
    await this.#waiting.deleteOne({ _id: ingestionId });
  }

  /** Removes identifiers that were stored before a time. @returns the number of removed identifiers. */
  async removeIdentifiers(before: Date): Promise<number> {
    return (await this.#identifiers.deleteMany({ created: { $lt: before } })).deletedCount;
  }
}

/** A batch of uploads. It belongs to one user, so that nobody can add items to the batch of another user. */
export interface Batch {
  userId: string;
  uuid: string;
}

/** Makes a short key from texts that clients choose, which can have any length and content. */
function keyOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}
