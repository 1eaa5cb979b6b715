import { LargeImageError } from '../../../errors.js';
import { outageErrorOf } from '../../../core/database/outage.js';
import type { JobProgress, JobRecord } from '../job-record.js';

/** The environment of a running job. */
export interface JobContext {
  /** The record of the job when the work began. */
  readonly job: JobRecord;
  /**
   * Aborted within a second after the job was canceled, removed or ended by someone else, or when the server closes. The work
   * should stop then; anything that it returns or throws later is ignored.
   */
  readonly signal: AbortSignal;
  /** Adds an entry to the log. Entries are collected and written several times a second. */
  readonly log: (text: string) => void;
  /** Sets the progress. Members that are absent keep their values. */
  readonly setProgress: (progress: Partial<JobProgress>) => void;
  /** Sets the results of the job, which are stored together with the status that ends it. */
  readonly setResults: (results: Record<string, unknown>) => void;
}

/** A kind of job: its name, and the function that does the work. */
export interface JobDefinition<D = Record<string, unknown>> {
  /** Unique among the definitions of a runner, and the same in every process. */
  name: string;
  /** Title of the jobs of this kind, unless a job gets its own title. */
  title: string;
  /** `type` in the records of these jobs. */
  type: string;
  /** Whether the work may be restarted after the process that did it has died. Default false: the job then ends in ERROR. */
  resumable?: boolean;
  /**
   * Maximum number of starts of resumable work. Default 10, so that work survives several crashes in a row, but is given up if it
   * crashes every process.
   */
  maxAttempts?: number;
  /** Maximum number of jobs of this kind that run at the same time in one process. Default 1. */
  concurrency?: number;
  /**
   * Makes the data for {@link JobDefinition.run} from the stored arguments. If this throws, the job ends in ERROR. Default: the
   * arguments unchanged.
   */
  parse?(kwargs: Record<string, unknown>): D;
  /** The log entry for an error thrown by {@link JobDefinition.run}. Default {@link failureText}. */
  failureLog?(error: unknown): string;
  /** Does the work. The job ends with SUCCESS if the promise resolves, and with ERROR if it rejects. */
  run(context: JobContext, data: D): Promise<void>;
}

/** Log entry for an error: its message if it was written for users, otherwise only that there was an error. */
export function failureText(error: unknown): string {
  const knownError = error instanceof LargeImageError ? error : outageErrorOf(error);
  if (knownError !== null) return `${knownError.message}\n`;
  return 'The job has failed unexpectedly; the log of the server says why.\n';
}
