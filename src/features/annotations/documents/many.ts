import { inTime } from '../../../core/concurrency/in-time.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDatabaseOutage } from '../../../core/database/outage.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import type { Sweep } from '../../../core/database/sweeper.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { step } from '../../../core/steps.js';
import type { HostLogger } from '../../../host.js';
import type { AnnotationFilter } from './annotation-record.js';
import { accessFields, type AccessFields, type AnnotationModel } from './annotation.model.js';
import type { AnnotationLifecycle } from './lifecycle.js';

/** Which annotations a change is about: those of an item, or of the items in a folder, on which somebody had a level. */
export type AnnotationSelection = ({ itemId: string } | { folderId: string; recurse: boolean }) &
  Pick<AnnotationFilter, 'permitted'>;

type Change = { kind: 'access'; access: AccessFields } | { kind: 'removal' };

/** A change of many annotations that was begun. */
interface IntentionDocument {
  /** Begins with the name of the process. */
  _id: string;
  at: Date;
  selection: AnnotationSelection;
  change: Change;
  /** The number in the sequence of all annotations that the change has: what was done under later numbers stays. */
  version: number;
}

/** Between two tries to carry on a change that ended in an error, in milliseconds. */
const retryMs = 5000;
/** A change that has gone on for so long belongs to a process that died, even if it cannot be asked. Carrying on twice does no harm. */
const staleMs = 10 * 60_000;

/** What {@link ManyAnnotations} works with. */
export interface ManyAnnotationsOptions {
  own: OwnCollections;
  model: AnnotationModel;
  records: HostRecords;
  lifecycle: AnnotationLifecycle;
  logger: HostLogger;
}

/** Changes of all annotations of a place: noted before they begin, and carried on when they end half way. */
export class ManyAnnotations {
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(private readonly options: ManyAnnotationsOptions) {}

  get #intentions() {
    return this.options.own.collection<IntentionDocument>('annotation_intention');
  }

  /** Replaces their access lists. @returns how many there were; how many so far, where it goes on because clients would wait no longer. */
  setAccess(selection: AnnotationSelection, access: AccessFields): Promise<number> {
    return this.#undertake(selection, { kind: 'access', access: accessFields(access) });
  }

  /** Removes them, or marks them as deleted. @returns the same. */
  remove(selection: AnnotationSelection): Promise<number> {
    return this.#undertake(selection, { kind: 'removal' });
  }

  async #undertake(selection: AnnotationSelection, change: Change): Promise<number> {
    const { model, own } = this.options;
    const _id = `${processName()}:${new own.connection.base.Types.ObjectId().toHexString()}`;
    const intention: IntentionDocument = { _id, at: new Date(), selection, change, version: await model.nextVersion() };
    try {
      await this.#intentions.insertOne(intention);
      step('annotations:noted');
      const counted = { count: 0 };
      return await inTime(this.#carryOut(intention, counted), {
        answer: () => counted.count,
        failed: (err) => {
          this.options.logger.warn({ err }, 'Annotations:Change:Failed');
          this.#retryLater(intention);
        },
      });
    } catch (error) {
      this.#retryLater(intention);
      throw error;
    }
  }

  /** @param counted how many there were so far */
  async #carryOut({ _id, selection, change, version }: IntentionDocument, counted = { count: 0 }): Promise<number> {
    const { model, lifecycle } = this.options;
    for await (const filter of this.#filters(selection)) {
      if (change.kind === 'access') counted.count += await model.setAccessOfAll(filter, change.access, version);
      else
        counted.count += await lifecycle.discard(
          model.list({ ...filter, versionBelow: version }, { limit: 0, offset: 0, sort: [['_id', 1]] }),
        );
      step('annotations:changed');
    }
    await this.#intentions.deleteOne({ _id });
    return counted.count;
  }

  async *#filters(selection: AnnotationSelection): AsyncGenerator<AnnotationFilter> {
    const permitted = selection.permitted && { permitted: selection.permitted };
    if ('itemId' in selection) yield { ...permitted, itemIds: [selection.itemId] };
    else
      for await (const itemIds of this.options.records.itemIdsIn(selection.folderId, selection)) yield { ...permitted, itemIds };
  }

  /** The client has been told that it failed, and may send it again, or not. */
  #retryLater(intention: IntentionDocument): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#carryOutIfNoted(intention._id).catch((err: unknown) => {
        this.options.logger.warn({ err }, 'Annotations:Change:Failed');
        this.#retryLater(intention);
      });
    }, retryMs);
    timer.unref();
    this.#timers.add(timer);
  }

  async #carryOutIfNoted(_id: string): Promise<boolean> {
    const noted = await this.#intentions.findOne({ _id });
    if (noted === null) return false;
    await this.#carryOut(noted);
    return true;
  }

  /** Carries on what killed processes have left. */
  readonly sweep: Sweep = async ({ signal }) => {
    let annotationChanges = 0;
    for (const { _id, at } of await this.#intentions.find({}).sort({ version: 1 }).toArray()) {
      signal.throwIfAborted();
      if (!hasEnded(_id) && at.getTime() >= Date.now() - staleMs) continue;
      try {
        if (await this.#carryOutIfNoted(_id)) annotationChanges += 1;
      } catch (err) {
        if (isDatabaseOutage(err)) throw err;
        // It keeps nothing else from being swept, and is tried again by the next sweep.
        this.options.logger.warn({ err }, 'Annotations:Change:Failed');
      }
    }
    return { annotationChanges };
  };

  /** Leaves to other processes what could not be carried on. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
