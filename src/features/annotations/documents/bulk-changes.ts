import { answerInTime } from '../../../core/concurrency/answer-in-time.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDatabaseOutage } from '../../../core/database/outage.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import type { Sweep } from '../../../core/database/sweeper.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { announceStep } from '../../../core/steps.js';
import type { HostLogger } from '../../../host.js';
import type { AnnotationPermissions } from '../access/permissions.js';
import type { AnnotationFilter } from './annotation-record.js';
import { toAccessFields, type AccessFields, type AnnotationModel } from './annotation.model.js';
import type { AnnotationLifecycle } from './lifecycle.js';

/**
 * Selects the annotations to change: those on an item or on the items in a folder. `permitted` limits them to annotations that the caller
 * may change.
 */
export type AnnotationSelection = ({ itemId: string } | { folderId: string; recurse: boolean }) &
  Pick<AnnotationFilter, 'permitted'>;

type BulkChange = { kind: 'access'; access: AccessFields; keepCreators: boolean } | { kind: 'removal' };

/** The record of a bulk change that has begun. It is deleted when the change is complete. */
interface IntentionDocument {
  /** Id that begins with the name of the process. */
  _id: string;
  at: Date;
  selection: AnnotationSelection;
  change: BulkChange;
  /** Version number of the change. Annotations that were changed at a later number are skipped. */
  version: number;
}

/** Delay in milliseconds before a failed change is continued. */
const retryMs = 5000;
/**
 * After this many milliseconds, another process continues a change, even if the first process may still be working on it. Carrying out a change
 * twice does no harm.
 */
const staleMs = 10 * 60_000;

/** Options of {@link BulkChanges}. */
export interface BulkChangesOptions {
  ownCollections: OwnCollections;
  model: AnnotationModel;
  records: HostRecords;
  lifecycle: AnnotationLifecycle;
  permissions: AnnotationPermissions;
  logger: HostLogger;
}

/** Changes all annotations of an item or folder. Each change is recorded before it begins, and continued if it is interrupted. */
export class BulkChanges {
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(private readonly options: BulkChangesOptions) {}

  get #intentions() {
    return this.options.ownCollections.collection<IntentionDocument>('annotation_intention');
  }

  /**
   * Replaces access lists.
   *
   * @param options `keepCreators`: whether creators to whom the new list gives access keep a higher level on their own annotations.
   * @returns the number of changed annotations; if the change takes longer than clients wait, the number so far.
   */
  setAccess(selection: AnnotationSelection, access: AccessFields, { keepCreators }: { keepCreators: boolean }): Promise<number> {
    return this.#recordAndCarryOut(selection, { kind: 'access', access: toAccessFields(access), keepCreators });
  }

  /** Removes annotations, or marks them as deleted. @returns the number of changed annotations, as {@link setAccess} does. */
  remove(selection: AnnotationSelection): Promise<number> {
    return this.#recordAndCarryOut(selection, { kind: 'removal' });
  }

  async #recordAndCarryOut(selection: AnnotationSelection, change: BulkChange): Promise<number> {
    const { model, ownCollections } = this.options;
    const _id = `${processName()}:${new ownCollections.connection.base.Types.ObjectId().toHexString()}`;
    const intention: IntentionDocument = { _id, at: new Date(), selection, change, version: await model.reserveVersion() };
    try {
      await this.#intentions.insertOne(intention);
      announceStep('annotations:noted');
      const progress = { count: 0 };
      return await answerInTime(this.#carryOut(intention, progress), {
        interimAnswer: () => progress.count,
        onLateError: (err) => {
          this.options.logger.warn({ err }, 'Annotations:Change:Failed');
          this.#retryLater(intention);
        },
      });
    } catch (error) {
      this.#retryLater(intention);
      throw error;
    }
  }

  /** Carries out a change, and removes its record. @param progress receives the number of annotations changed so far. */
  async #carryOut({ _id, selection, change, version }: IntentionDocument, progress = { count: 0 }): Promise<number> {
    const { model, lifecycle } = this.options;
    for await (const filter of this.#makeFilters(selection)) {
      if (change.kind === 'access') {
        const creatorIdsToKeep = change.keepCreators ? await this.#findCreatorsWithAccess(filter, change.access) : [];
        progress.count += await model.setAccessOfAll(filter, { change: change.access, version, creatorIdsToKeep });
      } else
        progress.count += await lifecycle.removeAll(
          model.list({ ...filter, versionBelow: version }, { limit: 0, offset: 0, sort: [['_id', 1]] }),
        );
      announceStep('annotations:changed');
    }
    await this.#intentions.deleteOne({ _id });
    return progress.count;
  }

  /** Finds the creators of matching annotations to whom an access list gives access: by name, through a group, or because it is public. */
  async #findCreatorsWithAccess(filter: AnnotationFilter, { access, public: isPublic = false }: AccessFields): Promise<string[]> {
    const { model, permissions } = this.options;
    const creators: string[] = [];
    for (const id of await model.findCreatorIds(filter)) {
      const level = await permissions.findLevel({ access, public: isPublic }, { id, admin: false, scopes: [] });
      if (level >= 0) creators.push(id);
    }
    return creators;
  }

  async *#makeFilters(selection: AnnotationSelection): AsyncGenerator<AnnotationFilter> {
    const permitted = selection.permitted && { permitted: selection.permitted };
    if ('itemId' in selection) yield { ...permitted, itemIds: [selection.itemId] };
    else
      for await (const itemIds of this.options.records.listItemIdsIn(selection.folderId, selection))
        yield { ...permitted, itemIds };
  }

  /**
   * Continues a failed change later. The client was told that the change failed, but the change may be half done and the client may never
   * repeat it.
   */
  #retryLater(intention: IntentionDocument): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#carryOutIfRecorded(intention._id).catch((err: unknown) => {
        this.options.logger.warn({ err }, 'Annotations:Change:Failed');
        this.#retryLater(intention);
      });
    }, retryMs);
    timer.unref();
    this.#timers.add(timer);
  }

  async #carryOutIfRecorded(_id: string): Promise<boolean> {
    const intention = await this.#intentions.findOne({ _id });
    if (intention === null) return false;
    await this.#carryOut(intention);
    return true;
  }

  /** Continues changes of killed processes. */
  readonly sweep: Sweep = async ({ signal }) => {
    let annotationChanges = 0;
    for (const { _id, at } of await this.#intentions.find({}).sort({ version: 1 }).toArray()) {
      signal.throwIfAborted();
      if (!hasEnded(_id) && at.getTime() >= Date.now() - staleMs) continue;
      try {
        if (await this.#carryOutIfRecorded(_id)) annotationChanges += 1;
      } catch (err) {
        if (isDatabaseOutage(err)) throw err;
        // The failure does not stop the sweep, and the next sweep tries again.
        this.options.logger.warn({ err }, 'Annotations:Change:Failed');
      }
    }
    return { annotationChanges };
  };

  /** Cancels pending retries. Other processes will continue these changes. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
