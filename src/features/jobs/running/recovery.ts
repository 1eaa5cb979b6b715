import type { HostLogger } from '../../../host.js';
import { mayRestart, type JobRecord } from '../job-record.js';
import { activeStatuses, jobStatus } from '../job-status.js';
import type { JobStore } from '../jobs.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import { SilenceDetector } from '../../../core/database/leases/silence-detector.js';
import { announceStep } from '../../../core/steps.js';

/** State of the queue entry that delivers a job to a runner. `taken` is followed by the time when the entry was taken. */
export type EntryState = 'waiting' | 'gone' | `taken ${string}`;

interface RecoveryOptions {
  jobs: JobStore;
  /** How long the process of a job can be silent before it counts as dead, in milliseconds. */
  leaseMs: number;
  /** Time between two sweeps, in milliseconds. */
  sweepMs: number;
  logger?: HostLogger | undefined;
  /** Whether this process is working on the job. */
  isRunningHere(id: string): boolean;
  /** States of queue entries by their ids. */
  readEntryStates(tickets: readonly string[]): Promise<ReadonlyMap<string, EntryState>>;
  /** Puts a job into the queue. */
  deliver(job: JobRecord): Promise<void>;
}

/** Maximum numbers of jobs that one sweep checks. The oldest jobs come first, so later jobs are checked when older ones are done. */
const maxActiveJobs = 1000;
const maxWaitingJobs = 100;
/**
 * A queue entry that was taken but not started is replaced after a lease divided by this number. The process that took the entry may
 * have ended, or may have closed while Agenda was fetching the entry. Or the process had no free slot, and Agenda failed to unlock the
 * entry. For Agenda, such an entry stays taken until its lock expires after 30 s. An extra entry does no harm.
 */
const entryLeaseDivisor = 3;

/** Whether a job was started, then taken from its process, and should be restarted. */
function waitsForRestart({ status, run }: JobRecord): boolean {
  return status !== jobStatus.canceling && run?.owner === null && mayRestart(run);
}

/**
 * Finds jobs that have lost their process, because it died while it was working, or after it had stored the job and before it had
 * queued the job. Every process sweeps. If several processes find the same job, an atomic write on the job's record lets only one of
 * them act. A process counts as dead when it has certainly ended, or when the record has not changed between sweeps for a whole lease.
 */
export class JobRecovery {
  #silenceDetectorByName = new Map<string, SilenceDetector>();
  #lastSweepTime: number | null = null;
  /** A clock in milliseconds that only counts time in which signs of life would have been noticed. */
  #watchedMs = 0;

  constructor(private readonly options: RecoveryOptions) {}

  /** Checks all unfinished jobs once. */
  async sweep(): Promise<void> {
    const { jobs, sweepMs, leaseMs } = this.options;
    const activeJobs = await jobs.findRunnerJobs(activeStatuses, maxActiveJobs);
    const queuedJobs = await jobs.findRunnerJobs([jobStatus.inactive, jobStatus.queued], maxWaitingJobs);
    // A job that was taken from a dead process also waits for its queue entry, whatever its status is.
    const waitingJobs = [
      ...queuedJobs,
      ...activeJobs.filter((job) => waitsForRestart(job) && !this.options.isRunningHere(job.id)),
    ];
    const tickets = waitingJobs.flatMap(({ run }) => (run?.ticket == null ? [] : [run.ticket]));
    const entryStateByTicket = tickets.length === 0 ? new Map<string, EntryState>() : await this.options.readEntryStates(tickets);
    const now = performance.now();
    const passedMs = now - (this.#lastSweepTime ?? now);
    // After a long gap, only one sweep interval counts, because no process could give a sign of life while the database was down. The
    // interval does count, because on a busy machine every sweep may be late.
    this.#watchedMs += passedMs > 3 * sweepMs ? sweepMs : passedMs;
    this.#lastSweepTime = now;

    const previousSilenceDetectorByName = this.#silenceDetectorByName;
    this.#silenceDetectorByName = new Map();
    for (const job of activeJobs) {
      if (job.status === jobStatus.canceling && job.run?.owner === null) await this.#takeFromDeadProcess(job);
      else if (this.options.isRunningHere(job.id) || waitsForRestart(job)) continue;
      else if (
        hasEnded(job.run?.owner ?? '') ||
        this.#isSilent(job, { key: `${job.run?.owner} ${job.run?.beat}`, leaseMs }, previousSilenceDetectorByName)
      ) {
        await this.#takeFromDeadProcess(job);
      }
    }
    for (const job of waitingJobs) {
      const state = (job.run?.ticket != null && entryStateByTicket.get(job.run.ticket)) || 'gone';
      if (state === 'waiting') continue;
      const key = `${job.status} ${job.run?.ticket} ${state}`;
      if (
        hasEnded(job.run?.starter ?? '') ||
        this.#isSilent(job, { key, leaseMs: leaseMs / entryLeaseDivisor }, previousSilenceDetectorByName)
      ) {
        await this.#redeliver(job);
      }
    }
  }

  /** Whether the key of a job has not changed for a whole lease. */
  #isSilent(
    job: JobRecord,
    { key, leaseMs }: { key: string; leaseMs: number },
    previousSilenceDetectorByName: ReadonlyMap<string, SilenceDetector>,
  ): boolean {
    const name = `${job.id} ${leaseMs}`;
    const silenceDetector = previousSilenceDetectorByName.get(name) ?? new SilenceDetector(leaseMs, () => this.#watchedMs);
    this.#silenceDetectorByName.set(name, silenceDetector);
    return silenceDetector.isSilent(key);
  }

  /** Takes a job from a dead process: the job returns to the queue or ends. */
  async #takeFromDeadProcess(job: JobRecord): Promise<void> {
    const { jobs, logger } = this.options;
    const run = job.run!;
    const conditions = { workingProcess: run.owner, beat: run.beat };
    const fields = { jobId: job.id, owner: run.owner, attempts: run.attempts };
    if (job.status === jobStatus.canceling) {
      await jobs.change(job, conditions, { status: jobStatus.canceled, workingProcess: null });
    } else if (mayRestart(run)) {
      const log = ['The process that ran this job has ended; the job is restarted.\n'];
      const releasedJob = await jobs.change(job, conditions, { workingProcess: null, starter: processName(), log });
      if (releasedJob === null) return;
      announceStep('job:released');
      logger?.warn(fields, 'Job:TakenUpAgain');
      await this.#redeliver(releasedJob);
    } else {
      const attemptsSentence = run.resumable ? ` It was started ${run.attempts} times and is not restarted.` : '';
      const text = `The process that ran this job ended before the job was finished.${attemptsSentence}\n`;
      const changedJob = await jobs.change(job, conditions, { status: jobStatus.error, workingProcess: null, log: [text] });
      if (changedJob !== null) logger?.error(fields, 'Job:OwnerGone');
    }
  }

  async #redeliver(job: JobRecord): Promise<void> {
    this.options.logger?.warn({ jobId: job.id, status: job.status }, 'Job:QueuedAgain');
    await this.options.deliver(job);
  }
}
