import pLimit from 'p-limit';
import type { ElementStore, SweepReport } from '../elements/element-store.js';
import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { answerInTime } from '../../../core/concurrency/answer-in-time.js';
import { InvalidError, LargeImageError } from '../../../errors.js';
import type { HostLogger } from '../../../host.js';
import type { AnnotationModel, AnnotationSummary } from '../documents/annotation.model.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { idsPerQuery } from '../../../core/database/id-batches.js';
import type { Sweep } from '../../../core/database/sweeper.js';
import type { ElementFollower } from '../element-followers.js';

/** Selects the versions that {@link AnnotationCleanup.cleanUpOldVersions} cleans up. */
export interface OldVersionsQuery {
  /** A version is old if it was made more than this many days ago. */
  ageDays: number;
  /** Number of former versions of each annotation to keep, even if they are old. The newest versions are kept. */
  keepCount: number;
  /** Whether old versions are removed, or only counted. */
  shouldRemove: boolean;
  signal?: AbortSignal;
}

/** Result of {@link AnnotationCleanup.cleanUpOldVersions}. */
export interface OldVersionsReport {
  /** Number of annotations that are not marked as deleted. */
  active: number;
  /** Number of former versions that are kept. */
  recentVersions: number;
  /** Number of former versions that are removed or would be removed. */
  oldVersions: number;
  /** Number of old versions of annotations whose item no longer exists. */
  fromDeletedItems: number;
  /** Number of unreachable versions: those of annotations that no longer exist, and those from writes whose process was killed. */
  abandonedVersions: number;
  /** Number of removed versions, except abandoned ones. Absent if versions were only counted. */
  removedVersions?: number;
  /** False if the cleanup takes longer than clients wait, and continues. The other numbers then cover only the work until now. */
  complete?: false;
}

/** Options of {@link AnnotationCleanup}. */
export interface AnnotationCleanupOptions {
  model: AnnotationModel;
  store: ElementStore;
  followers: Pick<ElementFollower, 'sweep'>;
  records: HostRecords;
  logger: HostLogger;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Removes old versions of annotations, and leftovers of writes whose process was killed. */
export class AnnotationCleanup {
  /** The running cleanups that clients have requested, by their parameters. */
  readonly #requestedCleanups = new Map<string, { report: OldVersionsReport; work: Promise<void> }>();
  readonly #oneAtATime = pLimit(1);
  readonly #closing = sharedAbortController();

  constructor(private readonly options: AnnotationCleanupOptions) {}

  /**
   * Counts unreachable versions and elements, old annotations of items that no longer exist, and old former versions of each annotation,
   * except the newest `keepCount`. Removes all of these if `shouldRemove` is set.
   *
   * @throws InvalidError for parameters out of range.
   */
  async cleanUpOldVersions({ signal, ...query }: OldVersionsQuery): Promise<OldVersionsReport> {
    const report = createReport(query);
    await this.#cleanUpAll({ ...query, ...(signal && { signal }) }, report);
    return report;
  }

  /**
   * Like {@link AnnotationCleanup.cleanUpOldVersions}, but returns within the time that clients wait. If the cleanup takes longer, it
   * continues, and further requests with the same parameters wait for the same cleanup.
   *
   * @throws InvalidError for parameters out of range.
   */
  async cleanUpOldVersionsInTime(query: Omit<OldVersionsQuery, 'signal'>): Promise<OldVersionsReport> {
    const key = JSON.stringify([query.shouldRemove, query.ageDays, query.keepCount]);
    const { report, work } = this.#requestedCleanups.get(key) ?? this.#startCleanUp(key, query);
    return answerInTime<OldVersionsReport>(
      work.then(() => report),
      {
        interimAnswer: () => ({ ...report, complete: false }),
        onLateError: (err) => this.options.logger.warn({ err }, 'Annotation:Cleanup:Failed'),
      },
    );
  }

  #startCleanUp(key: string, query: Omit<OldVersionsQuery, 'signal'>) {
    const report = createReport(query);
    const { signal } = this.#closing;
    const work = this.#oneAtATime(() => this.#cleanUpAll({ ...query, signal }, report)).finally(() =>
      this.#requestedCleanups.delete(key),
    );
    const cleanup = { report, work };
    this.#requestedCleanups.set(key, cleanup);
    return cleanup;
  }

  /** Stops the cleanups that clients have requested. */
  async close(): Promise<void> {
    this.#closing.abort(new LargeImageError('unavailable', 'The server is closing.'));
    await Promise.allSettled([...this.#requestedCleanups.values()].map(({ work }) => work));
  }

  /** Cleans up. The report is updated while the work runs. */
  async #cleanUpAll({ ageDays, keepCount, shouldRemove, signal }: OldVersionsQuery, report: OldVersionsReport): Promise<void> {
    const before = new Date(Date.now() - ageDays * dayMs);
    // This step comes first, so that elements of the versions that are removed below are not counted as abandoned.
    await this.cleanUpAbandoned({ shouldRemove, report, ...(signal && { signal }) });
    let removedCount = 0;
    for await (const { summary, isItemGone } of this.#listAnnotations()) {
      signal?.throwIfAborted();
      removedCount += await this.#cleanUpAnnotation(summary, { isItemGone, before, keepCount, shouldRemove, report, signal });
    }
    if (removedCount > 0) await this.#sweepElements({ shouldRemove, signal });
  }

  /**
   * Counts everything that cannot be reached: annotations of batches that were never finished, versions of annotations that no longer exist,
   * and elements without an annotation or version. Removes all of these if `shouldRemove` is set.
   *
   * @returns the number of unreachable versions.
   */
  async cleanUpAbandoned({
    shouldRemove,
    report = { abandonedVersions: 0 },
    signal,
  }: {
    shouldRemove: boolean;
    /** The report to update while the work runs. */
    report?: Pick<OldVersionsReport, 'abandonedVersions'>;
    signal?: AbortSignal;
  }): Promise<number> {
    const { model } = this.options;
    report.abandonedVersions += shouldRemove
      ? await model.annotationBatches.cleanUp()
      : await model.annotationBatches.countStale();
    report.abandonedVersions += await this.#cleanUpOrphans({ shouldRemove, ...(signal && { signal }) });
    const { abandoned } = await this.#sweepElements({ shouldRemove, signal });
    report.abandonedVersions += abandoned;
    return report.abandonedVersions;
  }

  /**
   * Removes leftovers of killed processes. With `full`, removes everything that cannot be reached; otherwise only records that name a process
   * that has ended.
   */
  readonly sweep: Sweep = async ({ full, signal }) => {
    const { model, store, followers } = this.options;
    const annotations = await model.annotationBatches.cleanUp();
    const annotationVersions = full ? await this.#cleanUpOrphans({ shouldRemove: true, signal }) : 0;
    const elementsOf = (family: string) => model.listElementsOfFamily(family);
    const families = await store.listAbandonedFamilies();
    // A sweep of these families also removes the leases of ended processes. A sweep of all families would skip families without unused
    // elements, and so leave their leases.
    const { removed: removedCount } = await store.sweep(elementsOf, { families, signal });
    const otherCount = full ? (await store.sweep(elementsOf, { signal })).removed : 0;
    const followerCounts = await followers.sweep(elementsOf, full ? undefined : families);
    return { annotations, annotationVersions, annotationElements: removedCount + otherCount, ...followerCounts };
  };

  async #sweepElements({
    shouldRemove,
    signal,
  }: {
    shouldRemove: boolean;
    signal: AbortSignal | undefined;
  }): Promise<SweepReport> {
    const { model, store, followers } = this.options;
    const report = await store.sweep((family) => model.listElementsOfFamily(family), {
      dryRun: !shouldRemove,
      ...(signal && { signal }),
    });
    if (shouldRemove) await followers.sweep((family) => model.listElementsOfFamily(family));
    return report;
  }

  async *#listAnnotations(): AsyncGenerator<{ summary: AnnotationSummary; isItemGone: boolean }> {
    const { model, records } = this.options;
    let page = await model.listSummaries(null, idsPerQuery);
    while (page.length > 0) {
      const existingItemIds = new Set(await records.filterExistingItems([...new Set(page.map(({ itemId }) => itemId))]));
      for (const summary of page) yield { summary, isItemGone: !summary.hidden && !existingItemIds.has(summary.itemId) };
      page = await model.listSummaries(page.at(-1)!.id, idsPerQuery);
    }
  }

  /**
   * Counts the versions of an annotation in the report, and removes old versions if `shouldRemove` is set.
   *
   * @returns the number of removed versions.
   */
  async #cleanUpAnnotation(
    summary: AnnotationSummary,
    { isItemGone, before, keepCount, shouldRemove, report, signal }: CleanupScope & { isItemGone: boolean },
  ): Promise<number> {
    const { model } = this.options;
    const isOld = ({ updated }: { updated: Date }) => updated < before;
    const reportRemoved = (count: number) => {
      report.removedVersions = (report.removedVersions ?? 0) + count;
      return count;
    };
    if (isItemGone && isOld(summary)) {
      const versionCount = 1 + (await model.formerVersions.count(summary.id, summary.version));
      report.fromDeletedItems += versionCount;
      return shouldRemove && (await model.remove(summary.id, summary.version)) ? reportRemoved(versionCount) : 0;
    }
    if (summary.active) report.active += 1;
    let versionIndex = 0;
    const countVersion = (version: { updated: Date }) => {
      const category = versionIndex >= keepCount && isOld(version) ? 'oldVersions' : 'recentVersions';
      versionIndex += 1;
      report[category] += 1;
      return category;
    };
    // The record of a deleted annotation stays as long as previous versions stay, because they could not be reached without the record.
    const isEveryVersionOld = !summary.active && countVersion(summary) === 'oldVersions';
    let oldCount = isEveryVersionOld ? 1 : 0;
    let removedCount = 0;
    for await (const page of model.formerVersions.listSummaries(summary.id, summary.version)) {
      signal?.throwIfAborted();
      const ids = page.filter((version) => countVersion(version) === 'oldVersions').map(({ id }) => id);
      oldCount += ids.length;
      if (shouldRemove && !isEveryVersionOld) removedCount += reportRemoved(await model.formerVersions.remove(ids));
    }
    if (isEveryVersionOld && shouldRemove && (await model.remove(summary.id, summary.version))) {
      removedCount += reportRemoved(oldCount);
    }
    return removedCount;
  }

  /** Counts, and removes if `shouldRemove` is set, the versions of annotations that no longer exist. @returns the number of these versions. */
  async #cleanUpOrphans({ shouldRemove, signal }: { shouldRemove: boolean; signal?: AbortSignal }): Promise<number> {
    const { model } = this.options;
    const { formerVersions } = model;
    let count = 0;
    for await (const ids of formerVersions.listAnnotationIds()) {
      signal?.throwIfAborted();
      const existingIds = await model.filterExisting(ids);
      for (const id of ids)
        if (!existingIds.has(id)) count += shouldRemove ? await formerVersions.removeAll(id) : await formerVersions.count(id);
    }
    return count;
  }
}

/** How to clean up the versions of an annotation. */
interface CleanupScope {
  /** Versions that were made before this date are old. */
  before: Date;
  keepCount: number;
  shouldRemove: boolean;
  report: OldVersionsReport;
  signal: AbortSignal | undefined;
}

/** Creates an empty report. @throws InvalidError for parameters out of range. */
function createReport({ ageDays, keepCount, shouldRemove }: Omit<OldVersionsQuery, 'signal'>): OldVersionsReport {
  if (ageDays < (shouldRemove ? 7 : 0)) throw new InvalidError('minAgeInDays must be >= 7');
  if (keepCount < 0) throw new InvalidError('keepInactiveVersions must be non-negative');
  const report = { active: 0, recentVersions: 0, oldVersions: 0, fromDeletedItems: 0, abandonedVersions: 0 };
  return shouldRemove ? { ...report, removedVersions: 0 } : report;
}
