import { BadParameterError, InvalidError } from '../errors.js';
import type { AnnotationRecord, AnnotationState, AnnotationVersionRecord } from '../models/annotation-record.js';
import { batches } from '../models/annotation.js';
import type { AnnotationsOptions, AnnotationWriter, ChangeRequest } from './annotation-writer.js';

/** One version of an annotation. */
export interface AnnotationVersion extends AnnotationState {
  /** Id of the record that holds it: the annotation's own for the current version. */
  id: string;
  annotationId: string;
  /** Whether it is what the annotation is now. */
  isCurrent: boolean;
  /** False for former versions, and for the last one of a deleted annotation. */
  active: boolean;
}

/** Which old versions {@link AnnotationHistory.old} is about. */
export interface OldVersionsQuery {
  /** Versions are old when their annotation has not changed for so many days. */
  ageDays: number;
  /** Former versions of each annotation that are kept, newest first. */
  keep: number;
  /** Whether old versions are removed, or only counted. */
  remove: boolean;
  signal?: AbortSignal;
}

/** What {@link AnnotationHistory.old} found. */
export interface OldVersionsReport {
  active: number;
  recentVersions: number;
  oldVersions: number;
  fromDeletedItems: number;
  abandonedVersions: number;
  removedVersions?: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Former versions of annotations: read, restored, and at last removed. */
export class AnnotationHistory {
  constructor(
    private readonly options: AnnotationsOptions,
    private readonly writer: AnnotationWriter,
  ) {}

  /** All versions of an annotation, newest first, each once. */
  async versions(annotation: AnnotationRecord): Promise<AnnotationVersion[]> {
    const former = await this.options.model.versions(annotation.id);
    return [currentVersion(annotation), ...former.filter(isBefore(annotation)).map(formerVersion)];
  }

  /** @throws BadParameterError when there is no such version. */
  async version(annotation: AnnotationRecord, version: number): Promise<AnnotationVersion> {
    if (version === annotation.version) return currentVersion(annotation);
    const former = await this.options.model.findVersion(annotation.id, version);
    if (former === null) throw noVersion();
    return formerVersion(former);
  }

  /**
   * Makes a former version the current one again: its document, not its permissions or item.
   *
   * @param version default: that of a deleted annotation, else the one before the current.
   * @throws BadParameterError when there is no such version.
   */
  async revert(request: ChangeRequest, version?: number): Promise<AnnotationRecord> {
    const { model, store } = this.options;
    const current = await this.writer.loadForChange(request, { deletedToo: true });
    const wanted = version ?? (await this.#versionBefore(current));
    if (wanted === current.version && current.active) return current;
    const find = async (): Promise<AnnotationState | null> =>
      wanted === current.version ? current : model.findVersion(current.id, wanted);
    const former = await find();
    if (former === null) throw noVersion();
    let reverted: AnnotationRecord;
    try {
      reverted = await store.share(former.elements.family, async () => {
        const source = await find();
        if (source === null) throw noVersion();
        return this.writer.commit(current, { head: source.head, elements: source.elements }, request.caller);
      });
    } catch (error) {
      throw await this.writer.explain(error, request, current);
    }
    await this.writer.changed(current, reverted);
    await this.writer.tell(request.caller?.id ?? null, 'revert', reverted);
    return reverted;
  }

  async #versionBefore(current: AnnotationRecord): Promise<number> {
    if (!current.active) return current.version;
    const [former] = (await this.options.model.versions(current.id)).filter(isBefore(current));
    if (former === undefined) throw noVersion();
    return former.version;
  }

  /**
   * Counts, and removes where it is asked for: annotations of items that are gone, and former versions beyond those kept of each
   * annotation, both only when they are old; then elements that nothing refers to.
   *
   * @throws InvalidError
   */
  async old({ ageDays, keep, remove, signal }: OldVersionsQuery): Promise<OldVersionsReport> {
    if (ageDays < (remove ? 7 : 0)) throw new InvalidError('minAgeInDays must be >= 7');
    // The word is the one that existing clients know.
    if (keep < 0) throw new InvalidError('keepInactiveVersions mist be non-negative');
    const { model, store } = this.options;
    const before = new Date(Date.now() - ageDays * dayMs);
    const report: OldVersionsReport = {
      active: 0,
      recentVersions: 0,
      oldVersions: 0,
      fromDeletedItems: 0,
      abandonedVersions: 0,
    };
    let removed = 0;
    const gone = await this.#itemsGone();
    for await (const annotation of model.list({ active: null }, { limit: 0, offset: 0, sort: [] })) {
      signal?.throwIfAborted();
      const former = (await model.versions(annotation.id)).filter(isBefore(annotation));
      const isOld = (state: AnnotationState) => state.updated < before;
      if (gone.has(annotation.itemId) && isOld(annotation)) {
        report.fromDeletedItems += 1 + former.length;
        if (remove && (await model.remove(annotation.id, annotation.version))) removed += 1 + former.length;
        continue;
      }
      if (annotation.active) report.active += 1;
      const inactive: (AnnotationState & { id: string })[] = annotation.active ? former : [annotation, ...former];
      const old = inactive.filter((state, index) => index >= keep && isOld(state));
      report.recentVersions += inactive.length - old.length;
      report.oldVersions += old.length;
      if (remove) removed += await this.#removeVersions(annotation, old);
    }
    if (!remove) return report;
    const swept = await store.sweep((family) => model.heads(family), { ...(signal && { signal }) });
    await this.options.densities.sweep((family) => model.heads(family));
    report.abandonedVersions = swept.removed;
    return { ...report, removedVersions: removed };
  }

  async #removeVersions(annotation: AnnotationRecord, old: readonly (AnnotationState & { id: string })[]): Promise<number> {
    const { model } = this.options;
    // The record of a deleted annotation goes last: its former versions hang on it.
    if (old.some(({ id }) => id === annotation.id)) {
      return (await model.remove(annotation.id, annotation.version)) ? old.length : 0;
    }
    let count = 0;
    for (const { id } of old) if (await model.removeVersion(id)) count++;
    return count;
  }

  async #itemsGone(): Promise<Set<string>> {
    const { model, records } = this.options;
    const ids = await model.allItemIds();
    const gone = new Set(ids);
    for (const part of batches(ids)) for (const id of await records.existingItems(part)) gone.delete(id);
    return gone;
  }
}

function noVersion(): BadParameterError {
  return new BadParameterError('Annotation history version not found.');
}

/** A version that was written down before a change that then failed is still the current one: it is not listed twice. */
function isBefore({ version }: AnnotationRecord): (former: AnnotationVersionRecord) => boolean {
  return (former) => former.version < version;
}

function currentVersion(annotation: AnnotationRecord): AnnotationVersion {
  return { ...annotation, annotationId: annotation.id, isCurrent: true };
}

function formerVersion(former: AnnotationVersionRecord): AnnotationVersion {
  return { ...former, isCurrent: false, active: false };
}
