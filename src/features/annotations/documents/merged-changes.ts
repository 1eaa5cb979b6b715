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
  /** Applies the change to a version. Called again with a newer version if another change replaces the version in the meantime. */
  apply: (current: AnnotationRecord, editing: ElementEditing) => Promise<Partial<Pick<AnnotationState, 'head' | 'elements'>>>;
  /** Ids of the affected elements, as far as they are known before the change. */
  elementIds?: readonly string[];
  /** Whether the caller must also be allowed to annotate the item. Default true. */
  requiresItemAccess?: boolean;
}

/** A version that was written, and the version before it. */
interface VersionStep {
  formerVersion: AnnotationRecord;
  newVersion: AnnotationRecord;
}

/** A change that its caller is permitted to make. */
interface AdmittedChange {
  request: ChangeRequest;
  change: MergedChange;
  /** Checks again whether the caller may make the change. Returns the current annotation. */
  admit: () => Promise<AnnotationRecord>;
  /** The annotation as it was when the permission was last checked. */
  admittedVersion: AnnotationRecord;
  /** Time of the last permission check, by `performance.now()`. */
  admittedAt: number;
}

/** A waiting change, and the functions that settle its promise. */
interface WaitingChange extends AdmittedChange {
  resolve: (step: VersionStep) => void;
  reject: (error: unknown) => void;
}

/** The result of an attempt to apply a change to a version. */
type Outcome = { error: unknown } | { step: VersionStep };

/** Writes versions. Implemented by `AnnotationWriter`. */
interface VersionWriter {
  keepFormer(current: AnnotationRecord): Promise<void>;
  replace(current: AnnotationRecord, state: AnnotationState): Promise<AnnotationRecord>;
  keepIntermediate(versions: readonly AnnotationRecord[]): Promise<void>;
}

/** For this many milliseconds, changes are tried again after another process has written a version first. */
const maxMergeMs = 30_000;
/** Maximum pause between two attempts, in milliseconds. */
const maxPauseMs = 200;
/** If a change has waited longer than this, in milliseconds, the caller's permission is checked again. */
const recheckAfterMs = 2000;
/** Maximum number of changes that are written together. */
const maxChangesTogether = 64;

/**
 * Merges simultaneous changes of one annotation. The changes are applied one after another in memory, each as a separate version, and
 * then written together. Writing takes most of the time, so many changes take little longer than one.
 */
export class MergedChanges {
  readonly #queues: NamedQueues;
  /** Waiting changes by the id of the annotation. */
  readonly #waitingChanges = new Map<string, WaitingChange[]>();
  /** The last written version of each annotation that has waiting changes, by id. */
  readonly #latestVersions = new Map<string, AnnotationRecord>();

  constructor(
    private readonly options: AnnotationDependencies,
    private readonly versionWriter: VersionWriter,
  ) {
    const { name, waiting } = options.changeQueue.options;
    this.#queues = new NamedQueues({ name, running: maxChangesTogether, ...(waiting !== undefined && { waiting }) });
  }

  /**
   * Makes a change together with the other waiting changes of the annotation.
   *
   * @throws BusyError if too many changes wait, or if other processes keep writing first. Also throws the errors of the change and of its
   * precondition.
   */
  makeChange(admittedChange: AdmittedChange): Promise<VersionStep> {
    const { id, caller, signal } = admittedChange.request;
    return this.#queues.run(id, () => this.#enqueue(admittedChange), { signal, caller: callerName(caller) });
  }

  #enqueue(admittedChange: AdmittedChange): Promise<VersionStep> {
    const { request, change, admit } = admittedChange;
    const { id } = request;
    return new Promise((resolve, reject) => {
      // Work and log lines for a change belong to its own request, not to the request that began the writing.
      const boundFunctions = { change: { ...change, apply: AsyncResource.bind(change.apply) }, admit: AsyncResource.bind(admit) };
      const waitingChange = { ...admittedChange, ...boundFunctions, resolve, reject };
      const waitingChanges = this.#waitingChanges.get(id);
      if (waitingChanges !== undefined) waitingChanges.push(waitingChange);
      else {
        this.#waitingChanges.set(id, [waitingChange]);
        void this.#makeAllChanges(id);
      }
    });
  }

  async #makeAllChanges(id: string): Promise<void> {
    const { changeQueue } = this.options;
    for (let waitingChanges = this.#waitingChanges.get(id)!; waitingChanges.length > 0;) {
      const { caller } = waitingChanges[0]!.request;
      await changeQueue.run(() => this.#makeChanges(id, waitingChanges.splice(0)), {
        caller: callerName(caller),
        isNeverRefused: true,
      });
    }
    this.#waitingChanges.delete(id);
    this.#latestVersions.delete(id);
  }

  /** Makes changes together, and resolves or rejects the promise of each change. The method itself never rejects. */
  async #makeChanges(id: string, changes: WaitingChange[]): Promise<void> {
    const deadline = performance.now() + maxMergeMs;
    for (let pauseMs = 10; changes.length > 0; pauseMs = Math.min(maxPauseMs, 2 * pauseMs)) {
      try {
        const current = await this.#admitChanges(id, changes);
        // All changes were rejected.
        if (current === null) return;
        const outcomes = await this.#write(current, changes);
        for (const [i, outcome] of outcomes.entries()) {
          if ('step' in outcome) changes[i]!.resolve(outcome.step);
          else changes[i]!.reject(outcome.error);
        }
        changes.splice(0, outcomes.length);
      } catch (error) {
        this.#latestVersions.delete(id);
        const isTooLate = performance.now() > deadline;
        if (!(error instanceof SupersededError) || isTooLate) {
          const reportedError = isTooLate
            ? new BusyError('This annotation is being changed too often. Try again later.', 5)
            : error;
          for (const { reject } of changes) reject(reportedError);
          return;
        }
        await pause(Math.random() * pauseMs);
        // The permissions for all changes are checked again.
        for (const change of changes) change.admittedAt = -Infinity;
      }
    }
  }

  /**
   * Rejects the changes that their callers may no longer make, and removes them from `changes`.
   *
   * @returns the newest known version; `null` if all changes were rejected.
   */
  async #admitChanges(id: string, changes: WaitingChange[]): Promise<AnnotationRecord | null> {
    const findNewest = (): AnnotationRecord | null => {
      const admittedVersions = changes.map(({ admittedVersion }) => admittedVersion);
      const latest = this.#latestVersions.get(id);
      return [...admittedVersions, ...(latest === undefined ? [] : [latest])].reduce<AnnotationRecord | null>(
        (newest, record) => (newest === null || record.version > newest.version ? record : newest),
        null,
      );
    };
    const current = findNewest();
    const rejectedChanges = new Set<WaitingChange>();
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
          rejectedChanges.add(change);
          change.reject(error);
        }
      }),
    );
    for (let i = changes.length - 1; i >= 0; i -= 1) if (rejectedChanges.has(changes[i]!)) changes.splice(i, 1);
    return changes.length === 0 ? null : findNewest();
  }

  /**
   * Applies changes to a version and writes the result.
   *
   * @returns the outcomes of at least one change, in order. Changes without an outcome need another write.
   * @throws SupersededError
   */
  async #write(current: AnnotationRecord, changes: readonly WaitingChange[]): Promise<Outcome[]> {
    const { model, store } = this.options;
    const outcomes: Outcome[] = [];
    let lastVersion = current;
    let keepFormerPromise: Promise<void> | undefined;
    const write = await store.edit(async (editing) => {
      const ids = changes.flatMap(({ change }) => change.elementIds ?? []);
      const firstVersionPromise = model.reserveVersions(changes.length);
      // If this fails, the error is thrown below, where the number is awaited. Until then, it must not count as unhandled.
      firstVersionPromise.catch(() => undefined);
      await editing.preload(current.elements, ids);
      for (const [i, { request, change }] of changes.entries()) {
        // Elements of another family need a separate write.
        if (lastVersion.elements.family !== current.elements.family) break;
        let newContent: Awaited<ReturnType<typeof change.apply>>;
        try {
          request.signal?.throwIfAborted();
          request.checkPrecondition?.(lastVersion);
          newContent = await change.apply(lastVersion, editing);
        } catch (error) {
          outcomes.push({ error });
          continue;
        }
        if (keepFormerPromise === undefined) {
          keepFormerPromise = this.versionWriter.keepFormer(current);
          // If this fails, the error is thrown in `commit` below, unless something else fails first.
          keepFormerPromise.catch(() => undefined);
        }
        const updatedId = request.caller?.id ?? null;
        const newVersion = {
          ...lastVersion,
          ...newContent,
          updated: new Date(),
          updatedId,
          version: (await firstVersionPromise) + i,
        };
        outcomes.push({ step: { formerVersion: lastVersion, newVersion } });
        lastVersion = newVersion;
      }
    });
    if (lastVersion === current) {
      await write.discard();
      return outcomes;
    }
    const steps = outcomes.flatMap((outcome) => ('step' in outcome ? [outcome.step] : []));
    const writtenVersion = await write.commit(async () => {
      await keepFormerPromise;
      const newCurrent = await this.versionWriter.replace(current, lastVersion);
      await this.versionWriter.keepIntermediate(steps.slice(0, -1).map(({ newVersion }) => newVersion));
      return newCurrent;
    });
    this.#latestVersions.set(current.id, writtenVersion);
    const { access, public: isPublic, publicFlags, accessStamp } = writtenVersion;
    const currentAccess = { access, public: isPublic, accessStamp, ...(publicFlags && { publicFlags }) };
    for (const step of steps) step.newVersion = { ...step.newVersion, ...currentAccess };
    return outcomes;
  }
}
