import type { Model, QueryFilter } from 'mongoose';
import type { StoredAnnotation } from '../documents/annotation-documents.model.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import { announceStep } from '../../../core/steps.js';

interface BatchDocument {
  _id: string;
  state: 'committed' | 'aborted';
  at: Date;
}

/**
 * Time in milliseconds for which annotations keep the name of their batch after the commit. Without this delay, a query that began before
 * the commit would see only some of the annotations.
 */
const keepNameMs = 10_000;
/** A batch that is unfinished after this many milliseconds counts as left by a process that has died, perhaps on another machine. */
const staleMs = 10 * 60_000;
/** Time in milliseconds for which the document of an aborted batch is kept, in case its process still runs and tries to commit the batch. */
const keepAbortedMs = 24 * 60 * 60_000;

/**
 * Batches of annotations that become visible together. Each annotation has the name of its batch. All annotations of a batch are invisible
 * until one atomic write creates the document of the batch. Some time later, the name is removed from the annotations, and the document is
 * removed.
 */
export class AnnotationBatches {
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(
    private readonly ownCollections: OwnCollections,
    private readonly annotations: Model<StoredAnnotation>,
  ) {}

  get #documents() {
    return this.ownCollections.collection<BatchDocument>('annotation_batch');
  }

  /** Makes a name for a new batch. The name contains the name of this process. */
  makeBatchName(): string {
    return `${processName()}:${new this.ownCollections.connection.base.Types.ObjectId().toHexString()}`;
  }

  /** Makes a batch visible, after all its annotations were written. @throws an error if another process has aborted the batch. */
  async commit(batch: string): Promise<void> {
    await this.#documents.insertOne({ _id: batch, state: 'committed', at: new Date() });
    announceStep('annotation:list-committed');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // If this fails, the next cleanup removes the name.
      this.#removeBatchName(batch).catch(() => undefined);
    }, keepNameMs);
    timer.unref();
    this.#timers.add(timer);
  }

  /** Removes the annotations that were written for a batch, unless the batch was committed. @returns the number of removed annotations. */
  async abort(batch: string): Promise<number> {
    try {
      await this.#documents.insertOne({ _id: batch, state: 'aborted', at: new Date() });
    } catch (error) {
      if (!isDuplicateKey(error) || (await this.#findState(batch)) !== 'aborted') return 0;
    }
    return (await this.annotations.deleteMany({ batch })).deletedCount;
  }

  async #findState(batch: string): Promise<BatchDocument['state'] | null> {
    return (await this.#documents.findOne({ _id: batch }))?.state ?? null;
  }

  async isCommitted(batch: string): Promise<boolean> {
    const state = await this.#findState(batch);
    if (state !== null) return state === 'committed';
    // If a batch has no document, it either was committed long ago, so that no annotation has its name anymore, or is not complete yet.
    return (await this.annotations.exists({ batch })) === null;
  }

  /** Creates a filter for annotations that are visible now. */
  async createVisibleFilter(): Promise<QueryFilter<StoredAnnotation>> {
    const committedBatches = await this.#documents.find({ state: 'committed' }).toArray();
    if (committedBatches.length === 0) return { batch: null } as QueryFilter<StoredAnnotation>;
    return { batch: { $in: [null, ...committedBatches.map(({ _id }) => _id)] } } as QueryFilter<StoredAnnotation>;
  }

  /** Removes the name of a committed batch from its annotations, and then removes the document of the batch. */
  async #removeBatchName(batch: string): Promise<void> {
    await this.annotations.updateMany({ batch }, { $unset: { batch: 1 } });
    announceStep('annotation:list-settled');
    await this.#documents.deleteOne({ _id: batch });
  }

  /** Finds aborted batches, and unfinished batches whose process has ended or that were begun long ago. */
  async #findStaleBatches(now: number): Promise<string[]> {
    const staleBatches: string[] = [];
    for (const batch of await this.#listBatchNames()) {
      const state = await this.#findState(batch);
      const startMs = new this.ownCollections.connection.base.Types.ObjectId(batch.slice(-24)).getTimestamp().getTime();
      const isAbandoned = hasEnded(batch) || startMs < now - staleMs;
      if (state === 'aborted' || (state === null && isAbandoned)) staleBatches.push(batch);
    }
    return staleBatches;
  }

  async #listBatchNames(): Promise<string[]> {
    return (await this.annotations.distinct('batch', { batch: { $ne: null } } as QueryFilter<StoredAnnotation>)) as string[];
  }

  /** Counts the annotations that {@link cleanUp} would remove. */
  async countStale(now = Date.now()): Promise<number> {
    let count = 0;
    for (const batch of await this.#findStaleBatches(now)) count += await this.annotations.countDocuments({ batch });
    return count;
  }

  /**
   * Does what the processes of batches have left undone. Removes the batch name from the annotations of committed batches, and removes the
   * annotations of aborted and abandoned batches.
   *
   * @returns the number of removed annotations.
   */
  async cleanUp(now = Date.now()): Promise<number> {
    let removedCount = 0;
    for (const batch of await this.#findStaleBatches(now)) removedCount += await this.abort(batch);
    await this.#documents.deleteMany({ state: 'aborted', at: { $lt: new Date(now - keepAbortedMs) } });
    const settledBatches = await this.#documents.find({ state: 'committed', at: { $lt: new Date(now - keepNameMs) } }).toArray();
    for (const { _id } of settledBatches) await this.#removeBatchName(_id);
    return removedCount;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
