import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { LargeImageError, NotFoundError, UnknownIdError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import type { AnnotationRecord, AnnotationState } from './annotation-record.js';
import { announceStep } from '../../../core/steps.js';
import { MergedChanges, type MergedChange } from './merged-changes.js';
import { SupersededError, type AnnotationDependencies, type ChangeRequest } from './annotation-dependencies.js';

/** Time in milliseconds for which clients can fetch a notification. */
const notificationLifetimeMs = 1000;
const historySetting = 'large_image.annotation_history';

/** The steps that all changes of annotations share: checking permissions, writing versions, notifying users, removing unused data. */
export class AnnotationWriter {
  readonly #familiesToSweep = new Set<string>();
  #runningSweep: Promise<void> | null = null;
  readonly #closing = sharedAbortController();
  readonly #mergedChanges: MergedChanges;

  constructor(private readonly options: AnnotationDependencies) {
    this.#mergedChanges = new MergedChanges(options, this);
  }

  /**
   * Loads an annotation if the caller has this level on it. Level -1 skips the check.
   *
   * @throws UnknownIdError, AccessDeniedError. Throws NotFoundError if the annotation is deleted and `deletedToo` is not set.
   */
  async load(
    id: string,
    level: -1 | 0 | 1 | 2,
    caller: Caller | null,
    options: { deletedToo?: boolean } = {},
  ): Promise<AnnotationRecord> {
    const annotation = await this.options.model.find(id);
    if (annotation === null) throw new UnknownIdError('annotation', id);
    if (level >= 0) await this.options.permissions.requireLevel(annotation, level as 0 | 1 | 2, caller);
    if (!annotation.active && options.deletedToo !== true) throw new NotFoundError('Annotation not found');
    return annotation;
  }

  /** Loads an annotation that the caller may change. If its item still exists, the caller must also be allowed to annotate the item. */
  async loadForChange({ id, caller, checkPrecondition }: ChangeRequest, options: { deletedToo?: boolean } = {}) {
    const annotation = await this.load(id, 1, caller, options);
    const item = await this.options.records.findItem(annotation.itemId);
    if (item !== null) await this.options.permissions.requireAnnotate(item, caller);
    checkPrecondition?.(annotation);
    return annotation;
  }

  /**
   * Makes a change that can be applied to any version. If another version was written in the meantime, that version is changed, so that
   * nothing is lost.
   *
   * @throws BusyError if too many changes wait, or if other processes keep writing first. Also throws the errors of the change and of its
   * precondition.
   */
  async makeMergedChange(request: ChangeRequest, change: MergedChange): Promise<AnnotationRecord> {
    const admit = () => (change.requiresItemAccess === false ? this.#loadWithoutItemCheck(request) : this.loadForChange(request));
    // The first check is made immediately, so that a caller without permission does not wait.
    const admittedVersion = request.current ?? (await admit());
    request.checkPrecondition?.(admittedVersion);
    const { formerVersion, newVersion } = await this.#mergedChanges.makeChange({
      request,
      change,
      admit,
      admittedVersion,
      admittedAt: performance.now(),
    });
    await this.notifyAndSweep(formerVersion, newVersion);
    return newVersion;
  }

  async #loadWithoutItemCheck({ id, caller, checkPrecondition }: ChangeRequest): Promise<AnnotationRecord> {
    const annotation = await this.load(id, 1, caller);
    checkPrecondition?.(annotation);
    return annotation;
  }

  /** Whether previous versions and deleted annotations are kept. */
  async keepsHistory(): Promise<boolean> {
    return (await this.options.settings.get(historySetting)) !== false;
  }

  /** Writes a new version in place of the version that the caller has read. @throws SupersededError if that version is no longer current. */
  async commit(
    current: AnnotationRecord,
    changes: Partial<Pick<AnnotationState, 'head' | 'elements' | 'itemId'>>,
    caller: Caller | null,
  ): Promise<AnnotationRecord> {
    const [version] = await Promise.all([this.options.model.reserveVersion(), this.keepFormer(current)]);
    return this.replace(current, { ...current, ...changes, updated: new Date(), updatedId: caller?.id ?? null, version });
  }

  /**
   * Stores the current state as a former version, before the change that replaces it, so that no crash can lose the state. If the change
   * then fails, the former version equals the current one.
   */
  async keepFormer(current: AnnotationRecord): Promise<void> {
    if (await this.keepsHistory()) await this.options.model.formerVersions.store(current.id, [current]);
    announceStep('annotation:kept');
  }

  /**
   * Stores the versions between the first and the last of a merged change, which were never current. If the process dies before, only
   * the history lacks these versions.
   */
  async keepIntermediate(versions: readonly AnnotationRecord[]): Promise<void> {
    if (versions.length === 0 || !(await this.keepsHistory())) return;
    await this.options.model.formerVersions.store(versions[0]!.id, versions);
    announceStep('annotation:between-kept');
  }

  /** Like {@link commit}, but with a complete state. The caller must have reserved the state's version number and kept the former version. */
  async replace(current: AnnotationRecord, state: AnnotationState): Promise<AnnotationRecord> {
    const { itemId, creatorId, created, head, elements, updated, updatedId, version } = state;
    const newState = { itemId, creatorId, created, head, elements, updated, updatedId, version };
    const written = await this.options.model.replace(current, newState);
    if (written === null) throw new SupersededError();
    announceStep('annotation:replaced');
    this.options.followers.onElementsStored(elements);
    return written;
  }

  /** Notifies the annotation's creator of a change, and starts to remove packs that are no longer used. Must be called after each change. */
  async notifyAndSweep(former: AnnotationRecord, current: AnnotationRecord): Promise<void> {
    if (former.elements.content !== current.elements.content && !(await this.keepsHistory())) {
      this.sweepFamiliesLater([former.elements.family]);
    }
    await this.notify(current.creatorId, 'update', current);
  }

  /** Converts the error of {@link commit}: a {@link SupersededError} becomes an error that names both versions. */
  async toReportedError(error: unknown, request: ChangeRequest, original: AnnotationRecord): Promise<unknown> {
    if (!(error instanceof SupersededError)) return error;
    // This throws 412 if the request named a version, and 404 if the annotation no longer exists.
    const latest = await this.loadForChange(request);
    return new LargeImageError(
      'conflict',
      `Someone else has changed the annotation: it was at version ${original.version} and is now at ${latest.version}. Nothing was stored.`,
    );
  }

  /** Notifies a user of an event, if the user may still read the annotation. A failure is only logged, because the change is already made. */
  async notify(userId: string | null, event: 'create' | 'update' | 'remove' | 'revert', annotation: AnnotationRecord) {
    const { notify, permissions, logger } = this.options;
    const { id, itemId } = annotation;
    if (notify === undefined || userId === null) return;
    // The creator may have lost access.
    if ((await permissions.findLevel(annotation, { id: userId, admin: false, scopes: [] })) < 0) return;
    const type = `large_image_annotation.${event}`;
    const expires = new Date(Date.now() + notificationLifetimeMs);
    try {
      await notify({ userId, type, data: { _id: id, itemId }, expires });
    } catch (err) {
      logger.warn({ err, annotationId: id, type }, 'Annotation:NotificationFailed');
    }
  }

  /** Starts to remove unused data of these families, in the background. */
  sweepFamiliesLater(families: Iterable<string>): void {
    // An annotation without elements has no family.
    for (const family of families) if (family !== '') this.#familiesToSweep.add(family);
    this.#runningSweep ??= this.#sweepFamilies().finally(() => (this.#runningSweep = null));
  }

  async #sweepFamilies(): Promise<void> {
    const { store, model, followers, logger } = this.options;
    while (this.#familiesToSweep.size > 0 && !this.#closing.signal.aborted) {
      const families = [...this.#familiesToSweep];
      this.#familiesToSweep.clear();
      try {
        await store.sweep((family) => model.listElementsOfFamily(family), { families, signal: this.#closing.signal });
        await followers.sweep((family) => model.listElementsOfFamily(family), families);
      } catch (err) {
        if (!this.#closing.signal.aborted) logger.error({ err }, 'Annotation:Sweep:Failed');
      }
    }
  }

  /** Stops removing unused data. The next sweep of all families removes the rest. */
  async close(): Promise<void> {
    this.#closing.abort(new LargeImageError('unavailable', 'The server is closing.'));
    await this.#runningSweep;
  }
}
