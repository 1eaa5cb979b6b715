import { setTimeout as pause } from 'node:timers/promises';
import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { NamedQueues } from '../../../core/concurrency/named-queues.js';
import { callerName } from '../../../core/concurrency/queues.js';
import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { ElementStore } from '../elements/contract.js';
import { BusyError, LargeImageError, NotFoundError, UnknownIdError } from '../../../errors.js';
import type { Caller, Host, HostLogger } from '../../../host.js';
import type { AnnotationRecord, AnnotationState } from './annotation-record.js';
import type { AnnotationModel } from './annotation.model.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { AnnotationPermissions } from '../access/permissions.js';
import type { OverlayImages } from '../overlay/overlay-images.js';
import type { AnnotationDensities } from '../overlay/densities.js';
import type { AnnotationBodies } from './body.js';
import type { Settings } from '../../settings/settings.js';
import { step } from '../../../core/steps.js';

/** What the services for annotations work with. */
export interface AnnotationParts {
  model: AnnotationModel;
  store: ElementStore;
  densities: Pick<AnnotationDensities, 'prepare' | 'sweep'>;
  bodies: AnnotationBodies;
  permissions: AnnotationPermissions;
  overlayImages: Pick<OverlayImages, 'sizesFor'>;
  records: HostRecords;
  settings: Settings;
  notify: Host['notify'];
  logger: HostLogger;
  /** Where changes wait; those of one annotation wait for each other before. */
  changing: WorkQueue;
}

/** A condition that a request puts on the version it changes. @throws LargeImageError `precondition-failed` */
export type Precondition = (current: AnnotationRecord) => void;

/** What a request that changes an annotation comes with. */
export interface ChangeRequest {
  id: string;
  caller: Caller | null;
  /** Absent: any version will do. */
  precondition?: Precondition | undefined;
  /** The annotation as it was when the caller's right to change it was found; saves looking at it once more. */
  current?: AnnotationRecord | undefined;
  signal?: AbortSignal;
}

/** How long a change that can be merged is tried again when other processes are faster, in milliseconds. */
const mergePatienceMs = 30_000;
/** Longest pause between two tries, in milliseconds. */
const mergePauseMs = 200;
/** What a client may do is looked at again after waiting so long, in milliseconds. */
const admissionMs = 2000;
/** How long clients may still fetch a notification, in milliseconds. */
const notificationLifetimeMs = 1000;
const historySetting = 'large_image.annotation_history';

/** The annotation has moved on since it was read. */
class Superseded extends LargeImageError {
  constructor() {
    super('conflict', 'The annotation was changed by somebody else meanwhile.');
  }
}

/** What all changes of annotations have in common: rights, versions, conflicts, messages, and removing what nobody refers to. */
export class AnnotationWriter {
  readonly #untidy = new Set<string>();
  #tidying: Promise<void> | null = null;
  readonly #closing = sharedAbortController();
  /** Changes of one annotation wait for each other instead of being tried on a version that is about to be replaced. */
  readonly #queues: NamedQueues;
  /** What was written last of annotations for which more changes wait. */
  readonly #latest = new Map<string, AnnotationRecord>();

  constructor(private readonly options: AnnotationParts) {
    const { name, waiting } = options.changing.options;
    this.#queues = new NamedQueues({ name, running: 1, ...(waiting !== undefined && { waiting }) });
  }

  /**
   * An annotation on which the caller has a level.
   *
   * @throws UnknownIdError, NotFoundError when it is deleted (unless asked for), AccessDeniedError
   */
  async load(
    id: string,
    level: -1 | 0 | 1 | 2,
    caller: Caller | null,
    options: { deletedToo?: boolean } = {},
  ): Promise<AnnotationRecord> {
    const annotation = await this.options.model.find(id);
    if (annotation === null) throw new UnknownIdError('annotation', id);
    if (level >= 0) await this.options.permissions.require(annotation, level as 0 | 1 | 2, caller);
    if (!annotation.active && options.deletedToo !== true) throw new NotFoundError('Annotation not found');
    return annotation;
  }

  /** As {@link load} for a change: also the item must allow it, by write access or the flag, while it exists. */
  async loadForChange({ id, caller, precondition }: ChangeRequest, options: { deletedToo?: boolean } = {}) {
    const annotation = await this.load(id, 1, caller, options);
    const item = await this.options.records.findItem(annotation.itemId);
    if (item !== null) await this.options.permissions.requireAnnotate(item, caller);
    precondition?.(annotation);
    return annotation;
  }

  /**
   * Makes a change that can be applied to any version: a version written meanwhile is changed instead, so that nothing of it is lost.
   *
   * @throws BusyError when too many changes wait, or other processes were faster for too long; what the precondition throws.
   */
  async merge(
    request: ChangeRequest,
    attempt: (current: AnnotationRecord) => Promise<AnnotationRecord>,
    options: { itemToo?: boolean } = {},
  ): Promise<AnnotationRecord> {
    const { id, caller, signal } = request;
    const waiting = { signal, caller: callerName(caller) };
    const admit = () => (options.itemToo === false ? this.#loadChecked(request) : this.loadForChange(request));
    // Who may not change it need not wait.
    const admitted = request.current ?? (await admit());
    request.precondition?.(admitted);
    const admittedAt = performance.now();
    const change = async () => {
      const isRecent = performance.now() - admittedAt < admissionMs;
      const latest = isRecent ? this.#latestOf(admitted) : await admit();
      request.precondition?.(latest);
      return this.#mergeInto(latest, attempt, admit);
    };
    const { changing } = this.options;
    const { former, changed } = await this.#queues.run(id, () => changing.run(change, { ...waiting, patient: true }), waiting);
    await this.changed(former, changed);
    return changed;
  }

  /** What this process has written since an annotation was read, as far as the same people may still change it. */
  #latestOf(read: AnnotationRecord): AnnotationRecord {
    const latest = this.#latest.get(read.id);
    const isSame = latest?.accessStamp === read.accessStamp && latest.itemId === read.itemId;
    return isSame && latest.version > read.version ? latest : read;
  }

  async #mergeInto(
    first: AnnotationRecord,
    attempt: (current: AnnotationRecord) => Promise<AnnotationRecord>,
    reload: () => Promise<AnnotationRecord>,
  ): Promise<{ former: AnnotationRecord; changed: AnnotationRecord }> {
    const deadline = performance.now() + mergePatienceMs;
    let current = first;
    for (let pauseMs = 10; ; pauseMs = Math.min(mergePauseMs, 2 * pauseMs)) {
      try {
        const changed = await attempt(current);
        if (this.#queues.waiting(first.id) > 0) this.#latest.set(first.id, changed);
        else this.#latest.delete(first.id);
        return { former: current, changed };
      } catch (error) {
        this.#latest.delete(first.id);
        if (!(error instanceof Superseded)) throw error;
        if (performance.now() > deadline) throw new BusyError('Others change this annotation all the time. Try again later.', 5);
        await pause(Math.random() * pauseMs);
        current = await reload();
      }
    }
  }

  async #loadChecked({ id, caller, precondition }: ChangeRequest): Promise<AnnotationRecord> {
    const annotation = await this.load(id, 1, caller);
    precondition?.(annotation);
    return annotation;
  }

  /** Whether former versions and deleted annotations are kept. */
  async keepsHistory(): Promise<boolean> {
    return (await this.options.settings.get(historySetting)) !== false;
  }

  /** Writes a new version over the one that was read. @throws Superseded when that is no longer the current one. */
  async commit(
    current: AnnotationRecord,
    changes: Partial<Pick<AnnotationState, 'head' | 'elements' | 'itemId'>>,
    caller: Caller | null,
  ): Promise<AnnotationRecord> {
    const { model } = this.options;
    // Before the change, so that no crash can lose it; a version written down in vain equals one that is there.
    const keeping = (await this.keepsHistory()) ? model.former.keep(current.id, current) : undefined;
    const [version] = await Promise.all([model.nextVersion(), keeping]);
    step('annotation:kept');
    const { itemId, creatorId, created, head, elements } = { ...current, ...changes };
    const state = { itemId, creatorId, created, head, elements, updated: new Date(), updatedId: caller?.id ?? null, version };
    const written = await model.replace(current, state);
    if (written === null) throw new Superseded();
    step('annotation:replaced');
    this.options.densities.prepare(elements);
    return written;
  }

  /** To be called after each change: tells the creator, and lets go of what is not referred to any more. */
  async changed(former: AnnotationRecord, current: AnnotationRecord): Promise<void> {
    if (former.elements.content !== current.elements.content && !(await this.keepsHistory())) {
      this.tidy([former.elements.family]);
    }
    await this.notify(current.creatorId, 'update', current);
  }

  /** The error that a caller is to get for one that `commit` threw. */
  async explain(error: unknown, request: ChangeRequest, read: AnnotationRecord): Promise<unknown> {
    if (!(error instanceof Superseded)) return error;
    // Says 412 where the request named a version, 404 where the annotation is gone.
    const now = await this.loadForChange(request);
    return new LargeImageError(
      'conflict',
      `The annotation was changed by somebody else meanwhile: it was at version ${read.version} and is at ${now.version}. Nothing was stored.`,
    );
  }

  /** Messages are best effort: a change is not undone by one that cannot be sent. */
  async notify(userId: string | null, what: 'create' | 'update' | 'remove' | 'revert', annotation: AnnotationRecord) {
    const { notify, permissions, logger } = this.options;
    const { id, itemId } = annotation;
    if (notify === undefined || userId === null) return;
    // Whoever made it may have been shut out since.
    if ((await permissions.level(annotation, { id: userId, admin: false, scopes: [] })) < 0) return;
    const type = `large_image_annotation.${what}`;
    const expires = new Date(Date.now() + notificationLifetimeMs);
    try {
      await notify({ userId, type, data: { _id: id, itemId }, expires });
    } catch (err) {
      logger.warn({ err, annotationId: id, type }, 'Annotation:NotificationFailed');
    }
  }

  /** Removes what is no longer referred to in these families, when there is time. */
  tidy(families: Iterable<string>): void {
    for (const family of families) this.#untidy.add(family);
    this.#tidying ??= this.#tidyNow().finally(() => (this.#tidying = null));
  }

  async #tidyNow(): Promise<void> {
    const { store, model, densities, logger } = this.options;
    while (this.#untidy.size > 0 && !this.#closing.signal.aborted) {
      const families = [...this.#untidy];
      this.#untidy.clear();
      try {
        await store.sweep((family) => model.heads(family), { families, signal: this.#closing.signal });
        await densities.sweep((family) => model.heads(family), families);
      } catch (err) {
        if (!this.#closing.signal.aborted) logger.error({ err }, 'Annotation:Sweep:Failed');
      }
    }
  }

  /** Ends the tidying; what is left is found by the next whole sweep. */
  async close(): Promise<void> {
    this.#closing.abort(new LargeImageError('unavailable', 'The server is closing.'));
    await this.#tidying;
  }
}
