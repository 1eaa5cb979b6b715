import type { ElementStore, SweepReport } from '../elements/contract.js';
import { InvalidError } from '../../../errors.js';
import type { AnnotationModel, AnnotationStamp } from '../documents/annotation.model.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { idsPerQuery } from '../../../core/database/id-batches.js';
import type { Sweep } from '../../../core/database/sweeper.js';
import type { AnnotationDensities } from '../overlay/densities.js';

/** Which old versions {@link AnnotationCleanup.old} is about. */
export interface OldVersionsQuery {
  /** Versions are old when they were made more than so many days ago. */
  ageDays: number;
  /** Former versions of each annotation that are kept, newest first. */
  keep: number;
  /** Whether old versions are removed, or only counted. */
  remove: boolean;
  signal?: AbortSignal;
}

/** What {@link AnnotationCleanup.old} found. */
export interface OldVersionsReport {
  /** Annotations that are not deleted. */
  active: number;
  /** Former versions that stay. */
  recentVersions: number;
  /** Former versions that are old, beyond those kept. */
  oldVersions: number;
  /** Versions of annotations whose item is gone, and that are old. */
  fromDeletedItems: number;
  /** Versions that nobody can reach any more: of writes that were killed, and of annotations that are gone. */
  abandonedVersions: number;
  removedVersions?: number;
}

/** What {@link AnnotationCleanup} works with. */
export interface AnnotationCleanupOptions {
  model: AnnotationModel;
  store: ElementStore;
  densities: Pick<AnnotationDensities, 'sweep'>;
  records: HostRecords;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Removes what is no longer wanted of annotations, and what writes that were killed have left. */
export class AnnotationCleanup {
  constructor(private readonly options: AnnotationCleanupOptions) {}

  /**
   * Counts, and removes where it is asked for: annotations of items that are gone, and former versions beyond those kept of each
   * annotation, both only when they are old; then whatever nobody can reach.
   *
   * @throws InvalidError
   */
  async old({ ageDays, keep, remove, signal }: OldVersionsQuery): Promise<OldVersionsReport> {
    if (ageDays < (remove ? 7 : 0)) throw new InvalidError('minAgeInDays must be >= 7');
    if (keep < 0) throw new InvalidError('keepInactiveVersions must be non-negative');
    const before = new Date(Date.now() - ageDays * dayMs);
    const report = { active: 0, recentVersions: 0, oldVersions: 0, fromDeletedItems: 0, abandonedVersions: 0 };
    // First: what the removal of old versions leaves was not abandoned by anybody.
    report.abandonedVersions = await this.abandoned({ remove, ...(signal && { signal }) });
    let removed = 0;
    for await (const { stamp, itemIsGone } of this.#annotations()) {
      signal?.throwIfAborted();
      removed += await this.#oldOf(stamp, { itemIsGone, before, keep, remove, report });
    }
    if (removed > 0) await this.#sweep({ remove, signal });
    return remove ? { ...report, removedVersions: removed } : report;
  }

  /**
   * Counts, and removes where it is asked for, what nobody can reach: lists of annotations that were never finished, versions of
   * annotations that are gone, and elements that neither an annotation nor a version refers to.
   */
  async abandoned({ remove, signal }: { remove: boolean; signal?: AbortSignal }): Promise<number> {
    const { model } = this.options;
    const unfinished = remove ? await model.batches.tidy() : await model.batches.countStale();
    const orphans = await this.#orphans({ remove, ...(signal && { signal }) });
    const { abandoned } = await this.#sweep({ remove, signal });
    return unfinished + orphans + abandoned;
  }

  /** Removes what killed processes have left: all that nobody can reach, or only what says itself whose it was. */
  readonly sweep: Sweep = async ({ full, signal }) => {
    const { model, store, densities } = this.options;
    const annotations = await model.batches.tidy();
    const annotationVersions = full ? await this.#orphans({ remove: true, signal }) : 0;
    const heads = (family: string) => model.heads(family);
    const families = full ? undefined : await store.abandonedFamilies();
    const { removed } = await store.sweep(heads, { ...(families && { families }), signal });
    const annotationDensities = await densities.sweep(heads, families);
    return { annotations, annotationVersions, annotationElements: removed, annotationDensities };
  };

  async #sweep({ remove, signal }: { remove: boolean; signal: AbortSignal | undefined }): Promise<SweepReport> {
    const { model, store, densities } = this.options;
    const report = await store.sweep((family) => model.heads(family), { dryRun: !remove, ...(signal && { signal }) });
    if (remove) await densities.sweep((family) => model.heads(family));
    return report;
  }

  async *#annotations(): AsyncGenerator<{ stamp: AnnotationStamp; itemIsGone: boolean }> {
    const { model, records } = this.options;
    let page = await model.stamps(null, idsPerQuery);
    while (page.length > 0) {
      const items = new Set(await records.existingItems([...new Set(page.map(({ itemId }) => itemId))]));
      for (const stamp of page) yield { stamp, itemIsGone: !items.has(stamp.itemId) };
      page = await model.stamps(page.at(-1)!.id, idsPerQuery);
    }
  }

  /** Adds one annotation to a report. @returns how many of its versions were removed. */
  async #oldOf(
    stamp: AnnotationStamp,
    given: { itemIsGone: boolean; before: Date; keep: number; remove: boolean; report: OldVersionsReport },
  ): Promise<number> {
    const { model } = this.options;
    const { itemIsGone, before, keep, remove, report } = given;
    const isOld = ({ updated }: { updated: Date }) => updated < before;
    const former = (await model.former.stamps(stamp.id)).filter(({ version }) => version < stamp.version);
    if (itemIsGone && isOld(stamp)) {
      report.fromDeletedItems += 1 + former.length;
      return remove && (await model.remove(stamp.id, stamp.version)) ? 1 + former.length : 0;
    }
    if (stamp.active) report.active += 1;
    const inactive = stamp.active ? former : [stamp, ...former];
    const old = inactive.filter((state, index) => index >= keep && isOld(state));
    report.recentVersions += inactive.length - old.length;
    report.oldVersions += old.length;
    if (!remove || old.length === 0) return 0;
    // Without the record of a deleted annotation its former versions could not be reached.
    if (old.some(({ id }) => id === stamp.id)) return (await model.remove(stamp.id, stamp.version)) ? old.length : 0;
    return model.former.remove(old.map(({ id }) => id));
  }

  async #orphans({ remove, signal }: { remove: boolean; signal?: AbortSignal }): Promise<number> {
    const { model } = this.options;
    const { former } = model;
    let count = 0;
    for await (const ids of former.annotationIds()) {
      signal?.throwIfAborted();
      const there = await model.existing(ids);
      for (const id of ids) if (!there.has(id)) count += remove ? await former.removeAll(id) : await former.count(id);
    }
    return count;
  }
}
