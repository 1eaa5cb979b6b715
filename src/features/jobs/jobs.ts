import { sharedAbortController } from '../../core/concurrency/abort.js';
import { LevelDeniedError, UnknownIdError } from '../../errors.js';
import type { Caller, HostLogger, HostNotification } from '../../host.js';
import {
  type JobChanges,
  type JobConditions,
  type JobFilter,
  type JobReader,
  type JobProgress,
  type JobRecord,
  type JobRunFields,
} from './job-record.js';
import type { JobModel, JobOrder } from './job.model.js';
import { groupInBatches } from '../../core/database/id-batches.js';
import { accessListLevel, fullJobRights, jobRightsOf, type JobRights } from './job-document.js';
import { toChanges, type JobUpdate } from './job-update.js';
import { JobNotifications } from './events/job-notifications.js';
import { activeStatuses, checkTransition, isFinished, isWorkerHandler, jobStatus, localHandler } from './job-status.js';
import { processName } from '../../core/database/leases/process-name.js';
import { announceStep } from '../../core/steps.js';

/** A job to be created. */
export interface NewJob {
  /** An id of 24 hexadecimal digits. A caller that may create the same job twice sets the id, so that only one job is stored. */
  id?: string;
  title: string;
  type: string;
  /** The owner, who has all rights on the job; `null` if there is none. */
  userId: string | null;
  /** Whether everyone can see that the job exists. Its title must not contain anything private. */
  public?: boolean;
  /** The item that the job is about. Users who can read the item can see the job. */
  itemId?: string | null;
  /** Default {@link localHandler}; `null` for none. */
  handler?: string | null;
  args?: unknown[];
  kwargs?: Record<string, unknown>;
  meta?: Record<string, unknown>;
  asynchronous?: boolean;
  parentId?: string | null;
  /** Further members to be stored. */
  other?: Record<string, unknown>;
  /** How to run the job; set by the runner. */
  run?: Pick<JobRunFields, 'task' | 'resumable' | 'maxAttempts'>;
}

/** A change, as passed to listeners of {@link JobStore.onUpdate}. `previousStatus` is `null` for a new job. */
export interface JobEvent {
  kind: 'created' | 'updated' | 'removed';
  job: JobRecord;
  previousStatus: number | null;
}

/**
 * Called after each write in this process; the writer waits for it. Of two simultaneous writes, the later one may be announced
 * first.
 */
export type JobListener = (event: JobEvent) => void | Promise<void>;

/** Options of a {@link JobStore}. */
export interface JobStoreOptions {
  model: JobModel;
  /** Sends messages to users. Default: none are sent. */
  notify?: ((notification: HostNotification) => Promise<void>) | undefined;
  /** Filters items to those that a caller can read now. Without it, callers can read no items. */
  filterReadableItems?: (ids: readonly string[], caller: Caller | null) => Promise<ReadonlySet<string>>;
  logger?: HostLogger | undefined;
}

/** A job, and the rights of the caller on it. */
export interface VisibleJob {
  job: JobRecord;
  rights: JobRights;
}

/** Stores job records, checks access and changes of status, and sends messages and events. It does not run jobs. */
export class JobStore {
  readonly #model: JobModel;
  readonly #notifications: JobNotifications;
  readonly #filterReadableItems: NonNullable<JobStoreOptions['filterReadableItems']>;
  readonly #logger: HostLogger | undefined;
  readonly #listeners = new Set<JobListener>();
  readonly #closeController = sharedAbortController();

  constructor({ model, notify, filterReadableItems = async () => new Set<string>(), logger }: JobStoreOptions) {
    this.#model = model;
    this.#filterReadableItems = filterReadableItems;
    this.#logger = logger;
    this.#notifications = new JobNotifications(notify, logger);
  }

  /**
   * Stores a job with status 0 and notifies its owner. The job does not run until it is started.
   *
   * @returns the new job, or the existing job with this id.
   */
  async create(job: NewJob): Promise<JobRecord> {
    const now = new Date();
    const { id, userId } = job;
    const existingJob = id === undefined ? null : await this.#model.find(id);
    if (existingJob !== null) return existingJob;
    const record = await this.#model.insert({
      ...(id !== undefined && { id }),
      title: job.title,
      type: job.type,
      handler: job.handler === undefined ? localHandler : job.handler,
      status: jobStatus.inactive,
      created: now,
      updated: now,
      when: now,
      interval: 0,
      userId,
      public: job.public ?? false,
      access: { users: userId === null ? [] : [{ id: userId, level: 2, flags: [] }], groups: [] },
      itemId: job.itemId ?? null,
      parentId: job.parentId ?? null,
      asynchronous: job.asynchronous ?? false,
      timestamps: [],
      progress: null,
      meta: job.meta ?? {},
      args: job.args ?? [],
      kwargs: job.kwargs ?? {},
      results: null,
      other: job.other ?? {},
      run: job.run === undefined ? null : { ...job.run, attempts: 0, owner: null, beat: 0, ticket: null, starter: processName() },
    });
    await this.#notifications.notifyCreated(record);
    await this.#announce({ kind: 'created', job: record, previousStatus: null });
    return record;
  }

  /** Finds a job without checking permissions. */
  async find(id: string, options: { log?: boolean } = {}): Promise<JobRecord | null> {
    return isJobId(id) ? this.#model.find(id, options) : null;
  }

  /**
   * Loads a job for a caller, who must have at least `level` on it: 0 to see, 1 to change, 2 to remove.
   *
   * @throws UnknownIdError if there is no such job, AccessDeniedError if the caller lacks the level.
   */
  async load(id: string, caller: Caller | null, level: 0 | 1 | 2 = 0, options: { log?: boolean } = {}): Promise<VisibleJob> {
    const job = await this.find(id, options);
    if (job === null) throw new UnknownIdError('job', id);
    return { job, rights: await this.requireLevel(job, caller, level) };
  }

  /** The rights of the caller on a job. @throws AccessDeniedError if the rights are below `level`. */
  async requireLevel(job: JobRecord, caller: Caller | null, level: 0 | 1 | 2): Promise<JobRights> {
    const [visibleJob] = await this.#addRights([job], caller);
    const { rights } = visibleJob!;
    if (rights.level >= level) return rights;
    throw new LevelDeniedError(level, `job ${job.id}`, caller?.id);
  }

  /** Adds the rights of the caller to each job. */
  async #addRights(jobs: readonly JobRecord[], caller: Caller | null): Promise<VisibleJob[]> {
    // If the access list already permits the caller to see a job, its item need not be checked.
    const jobsToCheck = jobs.filter((job) => caller?.admin !== true && accessListLevel(job, caller) < 0);
    const itemIds = [...new Set(jobsToCheck.flatMap(({ itemId }) => itemId ?? []))];
    const readableIds = itemIds.length === 0 ? null : await this.#filterReadableItems(itemIds, caller);
    const mayRead = ({ itemId }: JobRecord) => itemId !== null && readableIds?.has(itemId) === true;
    return jobs.map((job) => ({ job, rights: jobRightsOf(job, caller, mayRead(job)) }));
  }

  /** Matching jobs that the caller can see, without their logs, one by one. A `limit` of 0 means all. */
  async *list(
    filter: JobFilter,
    caller: Caller | null,
    { limit, offset, ...order }: JobOrder & { limit: number; offset: number },
  ): AsyncGenerator<VisibleJob> {
    if (caller?.admin === true) {
      for await (const job of this.#model.list(filter, caller, { ...order, offset, limit })) yield { job, rights: fullJobRights };
      return;
    }
    let skippedCount = 0;
    let listedCount = 0;
    for await (const jobs of groupInBatches(this.#model.list(filter, readerOf(caller), order), jobsPerQuery)) {
      for (const visibleJob of await this.#addRights(jobs, caller)) {
        if (visibleJob.rights.level < 0 || skippedCount++ < offset) continue;
        yield visibleJob;
        if (++listedCount === limit) return;
      }
    }
  }

  /** The types and statuses of matching jobs that the caller can see. */
  async findTypesAndStatuses(filter: JobFilter, caller: Caller | null): Promise<{ types: string[]; statuses: number[] }> {
    const visibleByRecord = await this.#model.findTypesAndStatuses(filter, readerOf(caller));
    const types = new Set(visibleByRecord.types);
    const statuses = new Set(visibleByRecord.statuses);
    if (caller?.admin !== true) {
      const jobsAboutItems = this.#model.iterateJobsAboutItems(filter, visibleByRecord);
      for await (const jobs of groupInBatches(jobsAboutItems, jobsPerQuery)) {
        const candidates = jobs.filter(({ type, status }) => !types.has(type) || !statuses.has(status));
        if (candidates.length === 0) continue;
        const readableIds = await this.#filterReadableItems([...new Set(candidates.map(({ itemId }) => itemId))], caller);
        for (const { type, status, itemId } of candidates) {
          if (!readableIds.has(itemId)) continue;
          types.add(type);
          statuses.add(status);
        }
      }
    }
    return { types: [...types].sort(), statuses: [...statuses].sort((a, b) => a - b) };
  }

  /** Appends entries to the log. With `overwrite`, the entries replace the log. */
  async appendLog(id: string, log: string | readonly string[], options: { overwrite?: boolean } = {}): Promise<JobRecord | null> {
    return this.update(id, { log, ...options });
  }

  /** At most `count` of the newest log entries, and the record's `logCount` and `logEpoch` at the same moment. */
  readLogTail(id: string, count: number): Promise<{ logCount: number; logEpoch: number; entries: string[] } | null> {
    return this.#model.readLogTail(id, count);
  }

  /** Sets the progress. */
  async updateProgress(id: string, progress: Partial<JobProgress>): Promise<JobRecord | null> {
    return this.update(id, { progress });
  }

  /** Sets the status. @throws InvalidError with field `status` if the status cannot follow the stored status. */
  async updateStatus(id: string, status: number): Promise<JobRecord | null> {
    return this.update(id, { status });
  }

  /**
   * Changes a job in one atomic write, if the status has not changed since it was checked.
   *
   * @param conditions `workingProcess` restricts the change to a job that this process works on.
   * @returns the changed job; `null` if the job no longer exists or another process works on it.
   * @throws InvalidError with field `status` if the new status cannot follow the stored status.
   */
  async update(id: string, update: JobUpdate, conditions: Pick<JobConditions, 'workingProcess'> = {}): Promise<JobRecord | null> {
    for (;;) {
      const jobBefore = await this.#model.find(id);
      if (jobBefore === null) return null;
      if (conditions.workingProcess !== undefined && jobBefore.run?.owner !== conditions.workingProcess) return null;
      if (update.status !== undefined) checkTransition(jobBefore.handler, jobBefore.status, update.status);
      const changes = toChanges(update, jobBefore);
      const jobAfter = await this.change(jobBefore, conditions, changes, update.notify);
      if (jobAfter !== null) return jobAfter;
      // The job was changed in between, so the update is repeated with the stored values. The repetition ends, because
      // statuses only move forward.
    }
  }

  /**
   * Cancels a job. A job of a worker is CANCELING until the worker has stopped, unless the job was not queued yet. All other
   * jobs are CANCELED immediately.
   *
   * @throws InvalidError with field `status` if the job is over.
   */
  async cancel(id: string): Promise<JobRecord | null> {
    for (;;) {
      const job = await this.#model.find(id);
      if (job === null) return null;
      const mustWaitForWorker = isWorkerHandler(job.handler) && job.status !== jobStatus.inactive && !isFinished(job.status);
      const status = mustWaitForWorker ? jobStatus.canceling : jobStatus.canceled;
      checkTransition(job.handler, job.status, status);
      const jobAfter = await this.change(job, {}, toChanges({ status }, job));
      if (jobAfter !== null) return jobAfter;
    }
  }

  /** Removes the record, if it still exists. Work on the job stops within a second. */
  async remove(id: string): Promise<void> {
    // Listeners are called while the record still exists, because the process may be killed before they have finished.
    for (;;) {
      const jobBefore = await this.#model.find(id);
      if (jobBefore?.run == null || isFinished(jobBefore.status)) break;
      if ((await this.change(jobBefore, {}, { status: jobStatus.canceled }, false)) !== null) break;
    }
    announceStep('job:given-up');
    const job = await this.#model.remove(id);
    if (job !== null) await this.#announce({ kind: 'removed', job, previousStatus: job.status });
  }

  /** Calls `listener` after each write in this process until the returned function is called. */
  onUpdate(listener: JobListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Number of jobs with a status, regardless of who can see them. */
  count(status: number): Promise<number> {
    return this.#model.countByStatus(status);
  }

  /** A signal that {@link JobStore.endStreams} and {@link JobStore.close} abort. */
  get closing(): AbortSignal {
    return this.#closeController.signal;
  }

  /** Ends the streams of clients that follow jobs or annotations. The clients reconnect, to another process if this one ends. */
  endStreams(): void {
    this.#closeController.abort();
  }

  /** Like {@link JobStore.endStreams}, but also removes all listeners. */
  close(): void {
    this.endStreams();
    this.#listeners.clear();
  }

  /**
   * Writes changes atomically, but only if the job still has the status of `jobBefore` and the conditions hold.
   *
   * @returns the changed job, or `null` if nothing was changed.
   */
  async change(
    jobBefore: JobRecord,
    conditions: JobConditions,
    changes: JobChanges,
    notify: boolean = true,
  ): Promise<JobRecord | null> {
    const jobAfter = await this.#model.change(jobBefore.id, { status: jobBefore.status, ...conditions }, changes);
    if (jobAfter === null) return null;
    if (notify) await this.#notifications.notifyChanged(jobBefore, jobAfter, changes);
    await this.#announce({ kind: 'updated', job: jobAfter, previousStatus: jobBefore.status });
    return jobAfter;
  }

  /** Reads only the status of a job and the process that works on it, for frequent checks; `null` if the job no longer exists. */
  findState(id: string): Promise<{ status: number; workingProcess: string | null } | null> {
    return this.#model.findState(id);
  }

  /** Records that the process is alive. @returns false if the job no longer exists or another process works on it. */
  recordBeat(id: string, workingProcess: string): Promise<boolean> {
    return this.#model.recordBeat(id, workingProcess);
  }

  /**
   * Claims a job for a process in one atomic step, so that only one process gets it.
   *
   * @returns the claimed job; `null` if there is nothing to do, for example because another process works on the job.
   */
  async claim(id: string, workingProcess: string): Promise<JobRecord | null> {
    const job = await this.#model.find(id);
    if (job?.run == null || job.run.owner !== null || job.status === jobStatus.canceling) return null;
    const isActive = activeStatuses.includes(job.status);
    if (!isActive && job.status !== jobStatus.inactive && job.status !== jobStatus.queued) return null;
    const changes = { workingProcess, addedAttempts: 1, ...(!isActive && { status: jobStatus.running }) } as const;
    const claimedJob = await this.change(job, { workingProcess: null, beat: job.run.beat }, changes);
    // The job was started or canceled in between, so the claim is repeated with the stored values. If another process has claimed
    // the job, the check above ends the repetition.
    return claimedJob ?? this.claim(id, workingProcess);
  }

  /** Jobs of the runner in one of the statuses, oldest first. */
  findRunnerJobs(statuses: readonly number[], limit: number): Promise<JobRecord[]> {
    return this.#model.findRunnerJobs(statuses, limit);
  }

  async #announce(event: JobEvent): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener(event);
      } catch (err) {
        this.#logger?.error({ err, jobId: event.job.id }, 'Job:ListenerFailed');
      }
    }
  }
}

/** Number of jobs whose items are checked together. */
const jobsPerQuery = 200;

function readerOf(caller: Caller | null): JobReader {
  return { id: caller?.id ?? null, admin: caller?.admin === true };
}

function isJobId(id: string): boolean {
  return /^[0-9a-f]{24}$/.test(id);
}
