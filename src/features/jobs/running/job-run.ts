import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { errorReplies, LargeImageError } from '../../../errors.js';
import type { HostLogger } from '../../../host.js';
import { isDatabaseOutage, isTemporary } from '../../../core/database/outage.js';
import { logEntryBytes, maxLogBytes, mayRetry, type JobChanges, type JobProgress, type JobRecord } from '../job-record.js';
import { isFinished, jobStatus } from '../job-status.js';
import type { JobEvent, JobStore } from '../jobs.js';
import { failureText, type JobContext, type JobDefinition } from './definition.js';
import { processName } from '../../../core/database/leases/process-name.js';

type JobState = NonNullable<Awaited<ReturnType<JobStore['findState']>>>;

/** Reason to stop work on a job early. `lost` means that another process works on the job, `closing` that the server stops. */
export type StopReason = 'canceled' | 'removed' | 'ended' | 'lost' | 'closing';

/** The reason with which {@link JobContext.signal} is aborted. */
class JobStopped extends Error {
  override readonly name = 'JobStopped';

  constructor(readonly reason: StopReason) {
    super(`The job must stop: ${reason}.`);
  }
}

/** How often records are read and written while a job runs, in milliseconds. */
export interface RunTiming {
  /** Time between two checks of the record. A job that was canceled in another process stops within this time. */
  pollMs: number;
  /** Time between two signs of life. */
  beatMs: number;
  /** How long log entries and progress are collected before they are written. */
  flushMs: number;
}

interface RunOptions {
  definition: JobDefinition<unknown>;
  /** The record of the job, as it was claimed. */
  job: JobRecord;
  workingProcess: string;
  jobs: JobStore;
  timing: RunTiming;
  logger?: HostLogger | undefined;
  /** Called with each sign of life. */
  onBeat?: () => Promise<void>;
}

/** Pauses before further attempts to write the record of an ended job, in milliseconds. */
const endWritePausesMs = [250, 1000, 4000, 8000];
/**
 * Pause before each further attempt while the database is unreachable, in milliseconds. The number of attempts is not limited then.
 * Each attempt also waits for the database itself.
 */
const outagePauseMs = 1000;

/** The work on one claimed job in this process, from RUNNING to its final status. */
export class JobRun {
  readonly #stopController = sharedAbortController();
  readonly #endController = sharedAbortController();
  #log: string[] = [];
  #logBytes = 0;
  #progress: Partial<JobProgress> | null = null;
  #results: Record<string, unknown> | null = null;
  #flushTimer: NodeJS.Timeout | null = null;
  #flushPromise: Promise<void> = Promise.resolve();
  #endWritePromise: Promise<void> | null = null;
  #sawOutage = false;
  #isInterrupted = false;
  /** Ends the pause before the next check of the record. */
  #checkNow: () => void = () => undefined;
  #isCheckDue = false;

  constructor(private readonly options: RunOptions) {}

  get id(): string {
    return this.options.job.id;
  }

  /** Whether the work was interrupted and should be restarted. In that case, the job waits for a process to queue it. */
  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Asks the work to stop. If there are several reasons, the first one counts. */
  stop(reason: StopReason): void {
    if (!this.#stopController.signal.aborted) this.#stopController.abort(new JobStopped(reason));
  }

  get #stopReason(): StopReason | null {
    const { signal } = this.#stopController;
    return signal.aborted ? (signal.reason as JobStopped).reason : null;
  }

  /** Runs the work to its end and records the result. Never rejects. */
  async run(): Promise<void> {
    const { definition, job, jobs } = this.options;
    this.#endController.signal.addEventListener(
      'abort',
      jobs.onUpdate((event) => this.#onJobEvent(event)),
    );
    const watchPromise = this.#watch();
    let failure: { error: unknown } | null = null;
    try {
      const data = definition.parse === undefined ? job.kwargs : definition.parse(job.kwargs);
      await definition.run(this.#makeContext(), data);
    } catch (error) {
      failure = { error };
      if (this.#stopReason === null) this.#logFailure(error);
    }
    await this.#writeEndOnce(failure);
    this.#endController.abort();
    await watchPromise;
  }

  #logFailure(error: unknown): void {
    const { definition, job, logger } = this.options;
    const fields = { jobId: job.id, task: definition.name };
    // Mistakes of callers are reported in the log of the job.
    const isRefusal = error instanceof LargeImageError && errorReplies[error.code].status < 500;
    if (isRefusal) logger?.info({ ...fields, reason: error.message }, 'Job:Refused');
    else logger?.error({ ...fields, err: error }, 'Job:Failed');
  }

  /** Writes the record as if the work had ended now, for work that does not stop in time. */
  async abandon(): Promise<void> {
    this.stop('closing');
    await this.#writeEndOnce(null);
    this.#endController.abort();
  }

  #makeContext(): JobContext {
    return {
      job: this.options.job,
      signal: this.#stopController.signal,
      log: (text) => {
        if (text === '') return;
        this.#log.push(text);
        this.#logBytes += logEntryBytes(text);
        // The stored log has the same limit, so the oldest entries can already be dropped here.
        while (this.#logBytes > maxLogBytes && this.#log.length > 1) this.#logBytes -= logEntryBytes(this.#log.shift()!);
        this.#flushSoon();
      },
      setProgress: (progress) => {
        this.#progress = { ...this.#progress, ...progress };
        this.#flushSoon();
      },
      setResults: (results) => {
        this.#results = results;
      },
    };
  }

  #flushSoon(): void {
    if (this.#endWritePromise !== null) return;
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = null;
      this.#flushPromise = this.#flushPromise.then(() => this.#flush());
    }, this.options.timing.flushMs);
  }

  async #flush(): Promise<void> {
    const { jobs, workingProcess, logger } = this.options;
    const log = this.#log;
    const progress = this.#progress;
    if (log.length === 0 && progress === null) return;
    [this.#log, this.#logBytes, this.#progress] = [[], 0, null];
    try {
      await jobs.update(this.id, { log, ...(progress && { progress }) }, { workingProcess });
    } catch (err) {
      logger?.warn({ err, jobId: this.id }, 'Job:FlushFailed');
      this.#log = [...log, ...this.#log];
      this.#logBytes = this.#log.reduce((sum, entry) => sum + logEntryBytes(entry), 0);
      if (progress !== null || this.#progress !== null) this.#progress = Object.assign({}, progress, this.#progress);
      this.#flushSoon();
    }
  }

  /**
   * Checks the record immediately after this process has written something that stops the work. The event alone does not stop the
   * work, because it may announce a write that is older than this run: the job may start before its queueing is announced.
   */
  #onJobEvent({ kind, job }: JobEvent): void {
    if (job.id !== this.id || this.#endWritePromise !== null) return;
    if (this.#reasonToStop(kind === 'removed' ? null : { status: job.status, workingProcess: job.run?.owner ?? null }) === null)
      return;
    this.#isCheckDue = true;
    this.#checkNow();
  }

  #stopIfNeeded(state: JobState | null): void {
    const reason = this.#reasonToStop(state);
    if (reason !== null && this.#endWritePromise === null) this.stop(reason);
  }

  #reasonToStop(state: JobState | null): StopReason | null {
    if (state === null) return 'removed';
    if (state.workingProcess !== this.options.workingProcess) return 'lost';
    if (state.status === jobStatus.canceled || state.status === jobStatus.canceling) return 'canceled';
    return isFinished(state.status) ? 'ended' : null;
  }

  /** Checks the record and gives signs of life until the run is over, even while the work is still stopping. */
  async #watch(): Promise<void> {
    const { jobs, workingProcess, timing, logger, onBeat } = this.options;
    let lastBeatTime = Date.now();
    for (;;) {
      if (!this.#isCheckDue) await pause(timing.pollMs, this.#endController.signal, (end) => (this.#checkNow = end));
      if (this.#endController.signal.aborted) return;
      this.#isCheckDue = false;
      try {
        this.#stopIfNeeded(await jobs.findState(this.id));
        if (Date.now() - lastBeatTime < timing.beatMs) continue;
        lastBeatTime = Date.now();
        if (this.#endWritePromise === null) await jobs.recordBeat(this.id, workingProcess);
        await onBeat?.();
      } catch (err) {
        // Work continues without the database. If another process takes the job in the meantime, the next check notices.
        if (isDatabaseOutage(err)) this.#sawOutage = true;
        logger?.warn({ err, jobId: this.id }, 'Job:WatchFailed');
      }
    }
  }

  #writeEndOnce(failure: { error: unknown } | null): Promise<void> {
    this.#endWritePromise ??= this.#writeEnd(failure);
    return this.#endWritePromise;
  }

  async #writeEnd(failure: { error: unknown } | null): Promise<void> {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    await this.#flushPromise;
    for (const pauses = [...endWritePausesMs]; ;) {
      try {
        while (!(await this.#tryWriteEnd(failure))) {
          // The record was changed between reading and writing, so it is read again.
        }
        return;
      } catch (err) {
        this.options.logger?.error({ err, jobId: this.id }, 'Job:EndNotWritten');
        const isOutage = isDatabaseOutage(err) && this.#stopReason !== 'closing';
        const pauseMs = isOutage ? outagePauseMs : pauses.shift();
        if (pauseMs === undefined) return;
        if (isOutage) this.#sawOutage = true;
        await pause(pauseMs);
      }
    }
  }

  /** Writes the end to the record. @returns false if the record was changed between reading and writing. */
  async #tryWriteEnd(failure: { error: unknown } | null): Promise<boolean> {
    const { jobs, workingProcess } = this.options;
    const job = await jobs.find(this.id);
    if (job === null || job.run?.owner !== workingProcess) return true;
    const changes: JobChanges = {
      workingProcess: null,
      // If the job should be restarted, this process queues it.
      starter: processName(),
      log: this.#log,
      ...(this.#progress && { progress: { total: null, current: null, message: null, ...job.progress, ...this.#progress } }),
      ...(this.#results && { results: this.#results }),
      ...this.#makeEndChanges(job, failure),
    };
    return (await jobs.change(job, { workingProcess }, changes)) !== null;
  }

  /** The final status and log entry, which depend on the stored status and on how the work ended. */
  #makeEndChanges(job: JobRecord, failure: { error: unknown } | null): Pick<JobChanges, 'status' | 'log' | 'addedAttempts'> {
    const { definition } = this.options;
    const withLogEntry = (text: string) => ({ log: [...this.#log, text] });
    if (isFinished(job.status)) return {};
    if (job.status === jobStatus.canceling) return { status: jobStatus.canceled };
    if (this.#stopReason === 'closing') {
      // The job was not the reason for the stop, so this does not count as an attempt.
      if (job.run?.resumable) return { addedAttempts: -1, ...withLogEntry('The server was stopped; the job is restarted.\n') };
      return { status: jobStatus.error, ...withLogEntry('The server was stopped before the job ended.\n') };
    }
    if (failure === null) return { status: jobStatus.success };
    if (job.run?.resumable && isDatabaseOutage(failure.error)) {
      this.#isInterrupted = true;
      const changes = withLogEntry('The database could not be reached; the job is restarted.\n');
      // If nobody else has noticed an outage, the job itself may be the reason, so this counts as an attempt.
      return this.#sawOutage ? { addedAttempts: -1, ...changes } : changes;
    }
    if (job.run !== null && isTemporary(failure.error) && mayRetry(job.run)) {
      this.#isInterrupted = true;
      return withLogEntry('The database was too busy for a part of the work; the job is restarted.\n');
    }
    return { status: jobStatus.error, ...withLogEntry(definition.failureLog?.(failure.error) ?? failureText(failure.error)) };
  }
}

/** Resolves after a time, when the signal is aborted, or when the function passed to `onStart` is called. */
function pause(ms: number, signal?: AbortSignal, onStart?: (end: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    onStart?.(end);
  });
}
