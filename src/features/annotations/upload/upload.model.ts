import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import { hasEnded, processName } from '../../../core/database/process-name.js';

/** An upload that carries annotations, as the job that reads it knows it. */
export interface UploadTask {
  /** Names the work however often it is begun; 24 hexadecimal digits. */
  ingestion: string;
  fileId: string;
  /** The item that is to be annotated; `null`: the reference did not say. */
  itemId: string | null;
  /** Name of the batch of uploads whose identifiers the elements may use in place of item ids. */
  uuid: string | null;
  /** Who uploaded it. */
  userId: string | null;
  /** Whether they were a site administrator then. */
  admin: boolean;
  /** Whether it has waited long enough: what is missing now is an error. */
  last: boolean;
}

/** An {@link UploadTask} that waits for other uploads of its batch. */
export interface WaitingUpload {
  task: UploadTask;
  /** Identifiers that were not known when it was read. */
  identifiers: string[];
}

interface NamedDocument {
  _id: string;
  itemId: string;
  created: Date;
}

interface WaitingDocument extends WaitingUpload {
  /** The ingestion. */
  _id: string;
  /** Key of user and uuid. */
  batch: string;
  created: Date;
  /** Since when a process has been starting it again, and which. */
  claimed: { at: Date; by: string } | null;
}

/** A process that has not brought a claimed upload on its way by then has died. */
const claimMs = 60_000;

/** Uploads that belong together: what their identifiers stand for, and those that wait for others. All are forgotten in time. */
export class AnnotationUploadModel {
  readonly #named: Model<NamedDocument>;
  readonly #waiting: Model<WaitingDocument>;

  constructor(own: OwnCollections) {
    const { Schema } = own.connection.base;
    const { Mixed } = Schema.Types;
    this.#named = own.model<NamedDocument>(
      'LargeImageNamedUpload',
      'annotation_upload_name',
      new Schema<NamedDocument>({ _id: String, itemId: String, created: { type: Date, index: true } }),
    );
    this.#waiting = own.model<WaitingDocument>(
      'LargeImageWaitingUpload',
      'annotation_upload_waiting',
      new Schema<WaitingDocument>(
        {
          _id: String,
          batch: { type: String, index: true },
          task: Mixed,
          identifiers: [String],
          created: { type: Date, index: true },
          claimed: Mixed,
        },
        { minimize: false },
      ),
    );
  }

  async createIndexes(): Promise<void> {
    await Promise.all([this.#named.createIndexes(), this.#waiting.createIndexes()]);
  }

  /** Notes which item an identifier stands for in a user's batch; the latest upload counts. */
  async name({ userId, uuid }: Batch, identifier: string, itemId: string): Promise<void> {
    const $set = { itemId, created: new Date() };
    const write = () => this.#named.updateOne({ _id: keyOf(userId, uuid, identifier) }, { $set }, { upsert: true });
    try {
      await write();
    } catch (error) {
      // Two first writes at once: the later one finds the document there.
      if (!isDuplicateKey(error)) throw error;
      await write();
    }
  }

  /** The item that an identifier stands for in a user's batch, or `null`. */
  async itemOf({ userId, uuid }: Batch, identifier: string): Promise<string | null> {
    const named = await this.#named.findById(keyOf(userId, uuid, identifier)).lean<NamedDocument>();
    return named?.itemId ?? null;
  }

  /** Keeps an upload until others of its batch are there. */
  async wait(batch: Batch, { task, identifiers }: WaitingUpload): Promise<void> {
    const $set = { batch: keyOf(batch.userId, batch.uuid), task, identifiers, claimed: null };
    await this.#waiting.updateOne({ _id: task.ingestion }, { $set, $setOnInsert: { created: new Date() } }, { upsert: true });
  }

  /** What waits: in a batch, since before a time, or all. */
  async *waiting(which: { batch?: Batch; before?: Date }): AsyncGenerator<WaitingUpload> {
    const { batch, before } = which;
    const filter = {
      ...(batch && { batch: keyOf(batch.userId, batch.uuid) }),
      ...(before && { created: { $lt: before } }),
    };
    const cursor = this.#waiting.find(filter).lean<WaitingDocument[]>().cursor();
    try {
      for await (const { task, identifiers } of cursor as AsyncIterable<WaitingDocument>) yield { task, identifiers };
    } finally {
      await cursor.close();
    }
  }

  /** Takes a waiting upload on: only one caller gets `true`, until its process has ended or a minute has passed without {@link release}. */
  async claim(ingestion: string): Promise<boolean> {
    const found = await this.#waiting.findById(ingestion, { claimed: 1 }).lean<Pick<WaitingDocument, 'claimed'>>();
    const claimed = found?.claimed ?? null;
    const isClaimed = claimed !== null && claimed.at.getTime() >= Date.now() - claimMs && !hasEnded(claimed.by);
    if (found === null || isClaimed) return false;
    const seen = claimed === null ? { claimed: null } : { 'claimed.at': claimed.at, 'claimed.by': claimed.by };
    const now = { claimed: { at: new Date(), by: processName() } };
    return (await this.#waiting.updateOne({ _id: ingestion, ...seen }, { $set: now })).matchedCount > 0;
  }

  /** Forgets a waiting upload. */
  async release(ingestion: string): Promise<void> {
    await this.#waiting.deleteOne({ _id: ingestion });
  }

  /** Forgets identifiers that were noted before a time. @returns how many. */
  async forgetNames(before: Date): Promise<number> {
    return (await this.#named.deleteMany({ created: { $lt: before } })).deletedCount;
  }
}

/** A batch is a user's own: nobody can put items into that of another. */
export interface Batch {
  userId: string;
  uuid: string;
}

/** Texts that clients choose, of any length and content, as a short key. */
function keyOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}
