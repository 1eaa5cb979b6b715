import type { Model, QueryFilter } from 'mongoose';
import type { HeadDocument } from '../documents/annotation-documents.model.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import { step } from '../../../core/steps.js';

interface BatchDocument {
  _id: string;
  state: 'committed' | 'aborted';
  at: Date;
}

/** How long a complete list keeps its name on its heads, so that a query that began before does not see a part of it. */
const settleMs = 10_000;
/** A list that was not finished for this long was left by a process that has died, even if that process is on another machine. */
const staleMs = 10 * 60_000;
/** How long it is remembered that a list was given up, in case its process continues after all. */
const rememberMs = 24 * 60 * 60_000;

/**
 * Lists of annotations that become visible together. Each head carries the name of its list, and is invisible until a document of that name exists,
 * which is one atomic write. Some time later the names are removed from the heads, and the document is removed.
 */
export class AnnotationBatches {
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(
    private readonly own: OwnCollections,
    private readonly heads: Model<HeadDocument>,
  ) {}

  get #documents() {
    return this.own.collection<BatchDocument>('annotation_batch');
  }

  /** A name for a new list, which contains the name of this process. */
  begin(): string {
    return `${processName()}:${new this.own.connection.base.Types.ObjectId().toHexString()}`;
  }

  /** Makes a list visible whose heads have all been written. @throws when it was given up meanwhile. */
  async commit(batch: string): Promise<void> {
    await this.#documents.insertOne({ _id: batch, state: 'committed', at: new Date() });
    step('annotation:list-committed');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // If this fails, the next cleanup does it.
      this.#settle(batch).catch(() => undefined);
    }, settleMs);
    timer.unref();
    this.#timers.add(timer);
  }

  /** Removes the heads of a list that have been written, unless it is visible. @returns how many. */
  async abort(batch: string): Promise<number> {
    try {
      await this.#documents.insertOne({ _id: batch, state: 'aborted', at: new Date() });
    } catch (error) {
      if (!isDuplicateKey(error) || (await this.#state(batch)) !== 'aborted') return 0;
    }
    return (await this.heads.deleteMany({ batch })).deletedCount;
  }

  async #state(batch: string): Promise<BatchDocument['state'] | null> {
    return (await this.#documents.findOne({ _id: batch }))?.state ?? null;
  }

  async isCommitted(batch: string): Promise<boolean> {
    const state = await this.#state(batch);
    if (state !== null) return state === 'committed';
    // The list was settled meanwhile, or is not yet complete.
    return (await this.heads.exists({ batch })) === null;
  }

  /** The filter of heads that are visible now. */
  async visible(): Promise<QueryFilter<HeadDocument>> {
    const committed = await this.#documents.find({ state: 'committed' }).toArray();
    if (committed.length === 0) return { batch: null } as QueryFilter<HeadDocument>;
    return { batch: { $in: [null, ...committed.map(({ _id }) => _id)] } } as QueryFilter<HeadDocument>;
  }

  async #settle(batch: string): Promise<void> {
    await this.heads.updateMany({ batch }, { $unset: { batch: 1 } });
    step('annotation:list-settled');
    await this.#documents.deleteOne({ _id: batch });
  }

  /** Lists that were given up, and unfinished lists whose process has ended or that were begun long ago. */
  async #stale(now: number): Promise<string[]> {
    const stale: string[] = [];
    for (const batch of await this.#named()) {
      const state = await this.#state(batch);
      const begun = new this.own.connection.base.Types.ObjectId(batch.slice(-24)).getTimestamp().getTime();
      const isLeft = hasEnded(batch) || begun < now - staleMs;
      if (state === 'aborted' || (state === null && isLeft)) stale.push(batch);
    }
    return stale;
  }

  async #named(): Promise<string[]> {
    return (await this.heads.distinct('batch', { batch: { $ne: null } } as QueryFilter<HeadDocument>)) as string[];
  }

  /** How many heads {@link AnnotationBatches.tidy} would remove. */
  async countStale(now = Date.now()): Promise<number> {
    let count = 0;
    for (const batch of await this.#stale(now)) count += await this.heads.countDocuments({ batch });
    return count;
  }

  /** Ends the lists that processes have left: complete lists are settled, others are removed. @returns how many heads were removed. */
  async tidy(now = Date.now()): Promise<number> {
    let removed = 0;
    for (const batch of await this.#stale(now)) removed += await this.abort(batch);
    await this.#documents.deleteMany({ state: 'aborted', at: { $lt: new Date(now - rememberMs) } });
    const left = await this.#documents.find({ state: 'committed', at: { $lt: new Date(now - settleMs) } }).toArray();
    for (const { _id } of left) await this.#settle(_id);
    return removed;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
