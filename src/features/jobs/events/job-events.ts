import type { Caller } from '../../../host.js';
import type { JobRecord } from '../job-record.js';
import { jobDocument, type JobRights } from '../job-document.js';
import { progressData } from './job-notifications.js';
import { isFinished } from '../job-status.js';
import type { JobStore } from '../jobs.js';

/** A change of a job. Its type and data are those of the message that the owner of the job gets. */
export interface JobChange {
  type: 'job_status' | 'job_log' | 'progress' | 'job_removed';
  data: Record<string, unknown>;
  /** Position after this change, from which {@link followJob} can continue. */
  position: string;
}

/** Options for following a job. */
export interface FollowOptions {
  /** The caller who follows the job. */
  caller: Caller | null;
  /** The rights of the caller on the job. */
  rights: JobRights;
  /** Position of the last change that the follower has seen. Default: from the beginning. */
  after?: string | undefined;
  signal: AbortSignal;
  /** Interval at which the record is read, in milliseconds. Changes made in this process are seen immediately. Default 400. */
  intervalMs?: number;
  /** How long the stream lasts, in milliseconds. Default 15 minutes. */
  durationMs?: number;
}

const defaultDurationMs = 900_000;
/** A larger number of entries than a log can contain. */
const allEntries = 2_000_000_000;

/**
 * Yields the changes of a job as they happen, in any process. The stored log, the progress and the document come first. The last
 * change is the one that finished or removed the job. Each poll that finds no change yields `null`.
 */
export async function* followJob(store: JobStore, id: string, options: FollowOptions): AsyncGenerator<JobChange | null> {
  const { caller, intervalMs = 400, durationMs = defaultDurationMs } = options;
  const signals = [options.signal, store.closing];
  const isStopped = () => signals.some((signal) => signal.aborted);
  const endTime = Math.min(Date.now() + durationMs, caller?.expires?.getTime() ?? Infinity);
  const seenState = parsePosition(options.after);
  const waiter = new UpdateWaiter(store, id, signals);
  try {
    while (!isStopped() && Date.now() < endTime) {
      const job = await store.find(id);
      if (job === null) {
        yield { type: 'job_removed', data: { _id: id }, position: formatPosition(seenState) };
        return;
      }
      let isUnchanged = true;
      for await (const change of newChangesOf(store, job, seenState, options)) {
        isUnchanged = false;
        yield change;
      }
      if (isFinished(job.status)) return;
      if (isUnchanged) yield null;
      await waiter.wait(intervalMs);
    }
  } finally {
    waiter.end();
  }
}

/** The state that a follower has seen: numbers of log entries and of log replacements, status, and progress. */
interface SeenState {
  logCount: number;
  logEpoch: number;
  status: string;
  progress: string;
}

/** The changes of a job that a follower has not seen. Each change is added to `seenState` before it is yielded. */
async function* newChangesOf(
  store: JobStore,
  job: JobRecord,
  seenState: SeenState,
  { caller, rights }: Pick<FollowOptions, 'caller' | 'rights'>,
): AsyncGenerator<JobChange> {
  if (rights.seesDetails) yield* newDetailsOf(store, job, seenState);
  // The status comes last, so that a follower who stops at the final status has received everything else.
  const status = `${job.status}.${job.timestamps.length}`;
  if (status !== seenState.status) {
    seenState.status = status;
    yield { type: 'job_status', data: jobDocument(job, caller, rights), position: formatPosition(seenState) };
  }
}

/** The log entries and the progress of a job that a follower has not seen. */
async function* newDetailsOf(store: JobStore, job: JobRecord, seenState: SeenState): AsyncGenerator<JobChange> {
  if (job.logEpoch !== seenState.logEpoch || job.logCount > seenState.logCount) {
    const missedLog = await readMissedLog(store, job, seenState);
    if (missedLog !== null) {
      Object.assign(seenState, { logCount: missedLog.logCount, logEpoch: missedLog.logEpoch });
      const data = { _id: job.id, overwrite: missedLog.overwrite, text: missedLog.entries.join('') };
      yield { type: 'job_log', data, position: formatPosition(seenState) };
    }
  }
  const progress = JSON.stringify(job.progress);
  if (progress !== seenState.progress && job.progress !== null) {
    seenState.progress = progress;
    yield { type: 'progress', data: progressData(job), position: formatPosition(seenState) };
  }
}

interface MissedLog {
  entries: string[];
  logCount: number;
  logEpoch: number;
  /** Whether the entries replace all earlier entries. */
  overwrite: boolean;
}

/** Stored log entries that a follower has not seen; `null` if the job no longer exists. */
async function readMissedLog(store: JobStore, job: JobRecord, seenState: SeenState): Promise<MissedLog | null> {
  let logCount = job.logCount;
  for (;;) {
    // Entries may be added between two queries, so a few more are requested, and `logCount` tells which entries are new.
    const entryLimit = seenState.logEpoch === job.logEpoch ? Math.max(1, logCount - seenState.logCount) + 64 : allEntries;
    const tail = await store.readLogTail(job.id, entryLimit);
    if (tail === null) return null;
    if (tail.logEpoch !== seenState.logEpoch) {
      if (entryLimit === allEntries) return { ...tail, overwrite: true };
      job = { ...job, logEpoch: tail.logEpoch };
      continue;
    }
    const firstEntryNumber = tail.logCount - tail.entries.length;
    if (firstEntryNumber > seenState.logCount && tail.entries.length === entryLimit) {
      logCount = tail.logCount;
      continue;
    }
    return { ...tail, entries: tail.entries.slice(Math.max(0, seenState.logCount - firstEntryNumber)), overwrite: false };
  }
}

function formatPosition(seenState: SeenState): string {
  return `${seenState.logEpoch}-${seenState.logCount}-${seenState.status}`;
}

function parsePosition(text: string | undefined): SeenState {
  const match = /^(\d{1,12})-(\d{1,12})-(\d+\.\d+|)$/.exec(text ?? '');
  if (match === null) return { logEpoch: 0, logCount: 0, status: '', progress: '' };
  return { logEpoch: Number(match[1]), logCount: Number(match[2]), status: match[3]!, progress: '' };
}

/** Waits for a time, for a write to the job in this process, or for one of the signals, whichever comes first. */
class UpdateWaiter {
  #wake: () => void = () => undefined;
  #wasWritten = false;
  readonly #unsubscribe: () => void;
  readonly #onAbort = () => this.#wake();

  constructor(
    store: JobStore,
    id: string,
    private readonly signals: readonly AbortSignal[],
  ) {
    this.#unsubscribe = store.onUpdate(({ job }) => {
      if (job.id !== id) return;
      this.#wasWritten = true;
      this.#wake();
    });
    for (const signal of signals) signal.addEventListener('abort', this.#onAbort);
  }

  async wait(ms: number): Promise<void> {
    if (this.#wasWritten || this.signals.some((signal) => signal.aborted)) {
      this.#wasWritten = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wasWritten = false;
  }

  end(): void {
    this.#unsubscribe();
    for (const signal of this.signals) signal.removeEventListener('abort', this.#onAbort);
    this.#wake();
  }
}
