import { LargeImageError } from '../../../errors.js';
import { outageOf } from '../../../core/database/outage.js';
import type { JobProgress, JobRecord } from '../job-record.js';

/** What a running job has at hand. */
export interface JobContext {
  /** The record as it was when the work began. */
  readonly job: JobRecord;
  /**
   * Aborted within a second after the job was cancelled, removed or ended by somebody else, or when the server closes. The work
   * should stop then; what it returns or throws after that does not count.
   */
  readonly signal: AbortSignal;
  /** Adds an entry to the log. Entries are written together several times a second. */
  readonly log: (text: string) => void;
  /** Sets the progress; members that are not given stay. */
  readonly progress: (progress: Partial<JobProgress>) => void;
  /** Sets what the job has made; written with the status that ends the job. */
  readonly results: (results: Record<string, unknown>) => void;
}

/** A kind of job: what it is called, and what it does. */
export interface JobDefinition<D = Record<string, unknown>> {
  /** Unique among the definitions of a runner; the same in every process. */
  name: string;
  /** Title of its jobs, unless they get one of their own. */
  title: string;
  /** `type` of its records. */
  type: string;
  /** Whether the work may be begun anew after the process that did it has died. Default false: such a job ends in ERROR. */
  resumable?: boolean;
  /** How often work is begun at most, where it is resumable. Default 3: what kills every process must end. */
  maxAttempts?: number;
  /** How many run at once in one process. Default 1. */
  concurrency?: number;
  /** Makes the data of {@link JobDefinition.run} from the stored arguments; what it throws ends the job in ERROR. Default: as they are. */
  parse?(kwargs: Record<string, unknown>): D;
  /** The log entry for what {@link JobDefinition.run} has thrown. Default {@link failureText}. */
  failureLog?(error: unknown): string;
  /** Does the work. Resolves: SUCCESS. Rejects: ERROR. */
  run(context: JobContext, data: D): Promise<void>;
}

/** Log entry for an error: its message if it was written for users, else no more than that there was one. */
export function failureText(error: unknown): string {
  const known = error instanceof LargeImageError ? error : outageOf(error);
  if (known !== null) return `${known.message}\n`;
  return 'The job has failed unexpectedly; the log of the server says why.\n';
}
