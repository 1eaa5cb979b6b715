import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { NamedQueues } from '../../../core/concurrency/work-queue.js';
import { callerName } from '../../../core/concurrency/queues.js';
import { BusyError } from '../../../errors.js';
import type { ElementEditing } from '../elements/element-store.js';
import type { AnnotationRecord, AnnotationState } from './annotation-record.js';
import { SupersededError, type AnnotationDependencies, type ChangeRequest } from './annotation-dependencies.js';

/** A change that can be applied to any version. */
export interface MergedChange {
  /** Applies the change to a version. Called again if that version is replaced in the meantime. */
  apply: (current: AnnotationRecord, editing: ElementEditing) => Promise<Partial<Pick<AnnotationState, 'head' | 'elements'>>>;
  /** The affected elements. */
  ids?: readonly string[];
  /** Whether the item must allow the change too. Default true. */
  requiresItemAccess?: boolean;
}

/** A version and the one before it. */
interface VersionStep {
  former: AnnotationRecord;
  changed: AnnotationRecord;
}

/** A change whose caller has permission. */
interface AdmittedChange {
  request: ChangeRequest;
  change: MergedChange;
  /** Checks again whether the caller may make the change. */
  admit: () => Promise<AnnotationRecord>;
  /** The annotation when the permission was last checked. */
  admittedVersion: AnnotationRecord;
  /** Time of that check, as `performance.now()` gives it. */
  admittedAt: number;
}

interface WaitingChange extends AdmittedChange {
  resolve: (step: VersionStep) => void;
  reject: (error: unknown) => void;
}

/** The result of trying a change on a version. */
type Outcome = { error: unknown } | { step: VersionStep };

/** Writes versions. Implemented by `AnnotationWriter`. */
interface VersionWriter {
  keepFormer(current: AnnotationRecord): Promise<void>;
  replace(current: AnnotationRecord, state: AnnotationState): Promise<AnnotationRecord>;
  keepIntermediate(versions: readonly AnnotationRecord[]): Promise<void>;
}

/** For this many milliseconds, changes are tried again when another process has written a version first. */
const maxMergeMs = 30_000;
/** Longest pause between two tries, in milliseconds. */
const maxPauseMs = 200;
/** After waiting this long, in milliseconds, the caller's permission is checked again. */
const recheckAfterMs = 2000;
/** Maximum number of changes that are written together. */
const maxChangesTogether = 64;

/**
 * Changes of one annotation. Waiting changes are applied one after another in memory, each as its own version, and written
 * together. Access to the database, which takes most of the time, is then needed once for all of them.
 */
export class MergedChanges {
  readonly #queues: NamedQueues;
  /** Waiting changes by annotation. */
  readonly #waitingChanges = new Map<string, WaitingChange[]>();
  /** The last written version of annotations with more waiting changes. */
  readonly #latestVersions = new Map<string, AnnotationRecord>();

  constructor(
    private readonly options: AnnotationDependencies,
    private readonly versionWriter: VersionWriter,
  ) {
    const { name, waiting } = options.changeQueue.options;
    this.#queues = new NamedQueues({ name, running: maxChangesTogether, ...(waiting !== undefined && { waiting }) });
  }

  /** Makes a change, together with others that wait. @throws BusyError; the errors of the change and its precondition. */
  makeChange(admittedChange: AdmittedChange): Promise<VersionStep> {
    const { id, caller, signal } = admittedChange.request;
    return this.#queues.run(id, () => this.#enqueue(admittedChange), { signal, caller: callerName(caller) });
  }

  #enqueue(admittedChange: AdmittedChange): Promise<VersionStep> {
    const { request, change, admit } = admittedChange;
    const { id } = request;
    return new Promise((resolve, reject) => {
      // Work and log lines for a change belong to its own request, not to the one that wrote first.
      const boundFunctions = { change: { ...change, apply: AsyncResource.bind(change.apply) }, admit: AsyncResource.bind(admit) };
      const waiting = { ...admittedChange, ...boundFunctions, resolve, reject };
      const queued = this.#waitingChanges.get(id);
      if (queued !== undefined) queued.push(waiting);
      else {
        this.#waitingChanges.set(id, [waiting]);
        void this.#makeAllChanges(id);
      }
    });
  }

  async #makeAllChanges(id: string): Promise<void> {
    const { changeQueue } = this.options;
    for (let queued = this.#waitingChanges.get(id)!; queued.length > 0;) {
      const { caller } = queued[0]!.request;
      await changeQueue.run(() => this.#makeChanges(id, queued.splice(0)), { caller: callerName(caller), isNeverRefused: true });
    }
    this.#waitingChanges.delete(id);
    this.#latestVersions.delete(id);
  }

  /** Makes changes together, and settles each; it never rejects. */
  async #makeChanges(id: string, changes: WaitingChange[]): Promise<void> {
    const deadline = performance.now() + maxMergeMs;
    for (let pauseMs = 10; changes.length > 0; pauseMs = Math.min(maxPauseMs, 2 * pauseMs)) {
      try {
        const current = await this.#admitChanges(id, changes);
        // No caller may make its change anymore.
        if (current === null) return;
        const outcomes = await this.#write(current, changes);
        for (const [i, outcome] of outcomes.entries()) {
          if ('step' in outcome) changes[i]!.resolve(outcome.step);
          else changes[i]!.reject(outcome.error);
        }
        changes.splice(0, outcomes.length);
      } catch (error) {
        this.#latestVersions.delete(id);
        const isPast = performance.now() > deadline;
        if (!(error instanceof SupersededError) || isPast) {
          const reported = isPast ? new BusyError('This annotation is being changed too often. Try again later.', 5) : error;
          for (const { reject } of changes) reject(reported);
          return;
        }
        await pause(Math.random() * pauseMs);
        // The permissions for all changes are checked again.
        for (const change of changes) change.admittedAt = -Infinity;
      }
    }
  }

  /**
   * Refuses changes that their callers may no longer make, and removes them from `changes`. @returns the newest known version; `null` if
   * all changes were refused.
   */
  async #admitChanges(id: string, changes: WaitingChange[]): Promise<AnnotationRecord | null> {
    const findNewest = (): AnnotationRecord | null => {
      const admittedChanges = changes.map(({ admittedVersion }) => admittedVersion);
      const latest = this.#latestVersions.get(id);
      return [...admittedChanges, ...(latest === undefined ? [] : [latest])].reduce<AnnotationRecord | null>(
        (newest, record) => (newest === null || record.version > newest.version ? record : newest),
        null,
      );
    };
    const current = findNewest();
    const rejected = new Set<WaitingChange>();
    const now = performance.now();
    await Promise.all(
      changes.map(async (change) => {
        const { admittedVersion } = change;
        const hasSameAccess = admittedVersion.accessStamp === current?.accessStamp && admittedVersion.itemId === current.itemId;
        if (hasSameAccess && now - change.admittedAt < recheckAfterMs) return;
        try {
          change.admittedVersion = await change.admit();
          change.admittedAt = performance.now();
        } catch (error) {
          rejected.add(change);
          change.reject(error);
        }
      }),
    );
    for (let i = changes.length - 1; i >= 0; i -= 1) if (rejected.has(changes[i]!)) changes.splice(i, 1);
    return changes.length === 0 ? null : findNewest();
  }

  /**
   * Applies changes to a version and writes the result. @returns the outcomes of the first changes, at least one. @throws
   * SupersededError
   */
  async #write(current: AnnotationRecord, changes: readonly WaitingChange[]): Promise<Outcome[]> {
    const { model, store } = this.options;
    const outcomes: Outcome[] = [];
    let last = current;
    let keepingFormer: Promise<void> | undefined;
    const write = await store.edit(async (editing) => {
      const ids = changes.flatMap(({ change }) => change.ids ?? []);
      const firstVersion = model.nextVersions(changes.length);
      // An error is thrown where the number is awaited below. Until then, it must not count as unhandled.
      firstVersion.catch(() => undefined);
      await editing.preload(current.elements, ids);
      for (const [i, { request, change }] of changes.entries()) {
        // Elements of another family need a separate write.
        if (last.elements.family !== current.elements.family) break;
        let newContent: Awaited<ReturnType<typeof change.apply>>;
        try {
          request.signal?.throwIfAborted();
          request.checkPrecondition?.(last);
          newContent = await change.apply(last, editing);
        } catch (error) {
          outcomes.push({ error });
          continue;
        }
        if (keepingFormer === undefined) {
          keepingFormer = this.versionWriter.keepFormer(current);
          // The waiting caller gets the error; a failure before it takes precedence.
          keepingFormer.catch(() => undefined);
        }
        const updatedId = request.caller?.id ?? null;
        const changed = { ...last, ...newContent, updated: new Date(), updatedId, version: (await firstVersion) + i };
        outcomes.push({ step: { former: last, changed } });
        last = changed;
      }
    });
    if (last === current) {
      await write.discard();
      return outcomes;
    }
    const steps = outcomes.flatMap((outcome) => ('step' in outcome ? [outcome.step] : []));
    const written = await write.commit(async () => {
      await keepingFormer;
      const replaced = await this.versionWriter.replace(current, last);
      await this.versionWriter.keepIntermediate(steps.slice(0, -1).map(({ changed }) => changed));
      return replaced;
    });
    this.#latestVersions.set(current.id, written);
    const { access, public: isPublic, publicFlags, accessStamp } = written;
    const currentAccess = { access, public: isPublic, accessStamp, ...(publicFlags && { publicFlags }) };
    for (const each of steps) each.changed = { ...each.changed, ...currentAccess };
    return outcomes;
  }
}
