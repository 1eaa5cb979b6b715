import type { HostLogger } from '../../../host.js';
import { mayBeBegunAgain, type JobRecord } from '../job-record.js';
import { activeStatuses, jobStatus } from '../job-status.js';
import type { JobStore } from '../jobs.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import { Silence } from '../../../core/database/silence.js';
import { step } from '../../../core/steps.js';

/** What became of the queue entry that was to bring a job to a runner; `taken` says since when. */
export type EntryState = 'waiting' | 'gone' | `taken ${string}`;

interface RecoveryOptions {
  jobs: JobStore;
  /** How long a job may show no sign of life, in milliseconds. */
  leaseMs: number;
  sweepMs: number;
  logger?: HostLogger | undefined;
  /** Whether a job is being worked on in this very process. */
  isRunningHere(id: string): boolean;
  /** States of queue entries by their ids. */
  entryStates(tickets: readonly string[]): Promise<ReadonlyMap<string, EntryState>>;
  /** Puts a job into the queue. */
  deliver(job: JobRecord): Promise<void>;
}

/** Most jobs looked at in one sweep; the oldest come first, and later ones get their turn. */
const maxActive = 1000;
const maxWaiting = 100;
/**
 * An entry that nobody begins with is replaced after this part of a lease. A process may have taken it and have ended, or have closed while
 * Agenda was fetching it; Agenda unlocks, unawaited, what it took beyond its limit. For Agenda such an entry is taken until its lock runs out,
 * 30 s later. An entry too many does no harm.
 */
const entryShare = 3;

/** Whether a job was begun, has been taken from who worked on it, and is to be begun anew. */
function waitsForEntry({ status, run }: JobRecord): boolean {
  return status !== jobStatus.canceling && run?.owner === null && mayBeBegunAgain(run);
}

/**
 * Finds jobs that nobody works on although somebody should: their process has died, or it died between storing the job and
 * queueing it. Each process sweeps; of several that find the same job, the record lets one decide.
 *
 * Life is judged by whether the process is seen to have ended, and else by whether the record changes between sweeps.
 */
export class JobRecovery {
  #seen = new Map<string, Silence>();
  #sweptAt: number | null = null;
  /** Milliseconds in which signs of life would have been seen. */
  #watched = 0;

  constructor(private readonly options: RecoveryOptions) {}

  /** Looks once at all jobs that are not over. */
  async sweep(): Promise<void> {
    const { jobs, sweepMs, leaseMs } = this.options;
    const active = await jobs.findRuns(activeStatuses, maxActive);
    const queued = await jobs.findRuns([jobStatus.inactive, jobStatus.queued], maxWaiting);
    // What was taken from a dead process waits for its entry, too, whatever its status says.
    const waiting = [...queued, ...active.filter((job) => waitsForEntry(job) && !this.options.isRunningHere(job.id))];
    const tickets = waiting.flatMap(({ run }) => (run?.ticket == null ? [] : [run.ticket]));
    const entries = tickets.length === 0 ? new Map<string, EntryState>() : await this.options.entryStates(tickets);
    const now = performance.now();
    const passed = now - (this.#sweptAt ?? now);
    // Of a time without an answer (the database was away) little counts: nobody could give a sign of life. Some of it does, since on a busy
    // machine every sweep may be late.
    this.#watched += passed > 3 * sweepMs ? sweepMs : passed;
    this.#sweptAt = now;

    const before = this.#seen;
    this.#seen = new Map();
    for (const job of active) {
      if (job.status === jobStatus.canceling && job.run?.owner === null) await this.#end(job);
      else if (this.options.isRunningHere(job.id) || waitsForEntry(job)) continue;
      else if (
        hasEnded(job.run?.owner ?? '') ||
        this.#isSilent(job, { key: `${job.run?.owner} ${job.run?.beat}`, leaseMs }, before)
      ) {
        await this.#end(job);
      }
    }
    for (const job of waiting) {
      const state = (job.run?.ticket != null && entries.get(job.run.ticket)) || 'gone';
      if (state === 'waiting') continue;
      const key = `${job.status} ${job.run?.ticket} ${state}`;
      if (hasEnded(job.run?.starter ?? '') || this.#isSilent(job, { key, leaseMs: leaseMs / entryShare }, before)) {
        await this.#redeliver(job);
      }
    }
  }

  /** Whether the key of a job has been the same for the whole lease. */
  #isSilent(job: JobRecord, { key, leaseMs }: { key: string; leaseMs: number }, before: ReadonlyMap<string, Silence>): boolean {
    const name = `${job.id} ${leaseMs}`;
    const silence = before.get(name) ?? new Silence(leaseMs, () => this.#watched);
    this.#seen.set(name, silence);
    return silence.isOver(key);
  }

  /** Takes a job away from an owner that is gone: it goes back into the queue, or is over. */
  async #end(job: JobRecord): Promise<void> {
    const { jobs, logger } = this.options;
    const run = job.run!;
    const conditions = { owner: run.owner, beat: run.beat };
    const fields = { jobId: job.id, owner: run.owner, attempts: run.attempts };
    if (job.status === jobStatus.canceling) {
      await jobs.change(job, conditions, { status: jobStatus.canceled, owner: null });
    } else if (mayBeBegunAgain(run)) {
      const log = ['The process that ran this job has ended; it is taken up again.\n'];
      const released = await jobs.change(job, conditions, { owner: null, starter: processName(), log });
      if (released === null) return;
      step('job:released');
      logger?.warn(fields, 'Job:TakenUpAgain');
      await this.#redeliver(released);
    } else {
      const times = run.resumable ? ` It was begun ${run.attempts} times and is not begun again.` : '';
      const text = `The process that ran this job has ended before the job had.${times}\n`;
      const ended = await jobs.change(job, conditions, { status: jobStatus.error, owner: null, log: [text] });
      if (ended !== null) logger?.error(fields, 'Job:OwnerGone');
    }
  }

  async #redeliver(job: JobRecord): Promise<void> {
    this.options.logger?.warn({ jobId: job.id, status: job.status }, 'Job:QueuedAgain');
    await this.options.deliver(job);
  }
}
