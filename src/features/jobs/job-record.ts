/** The progress of a job. `total` and `current` are `null` if the job does not report them. */
export interface JobProgress {
  total: number | null;
  current: number | null;
  message: string | null;
}

/** The users who can see (0), change (1) and remove (2) a job, in addition to site administrators. */
interface JobAccess {
  users: { id: string; level: number; flags: string[] }[];
  groups: { id: string; level: number; flags: string[] }[];
}

/** The runner's fields in the record of a job. */
export interface JobRunFields {
  /** Name of the definition that runs the job. */
  task: string;
  /** Whether the work may be restarted after the process that did it has died. */
  resumable: boolean;
  /** How many times the job can be started. */
  maxAttempts: number;
  /** How many times the job was started. */
  attempts: number;
  /** The process that works on the job; `null` if there is none. */
  owner: string | null;
  /** A counter that the owner increments regularly while it is alive. */
  beat: number;
  /** Id of the queue entry that delivers the job to a runner. */
  ticket: string | null;
  /** Name of the process that is queueing the job, or that queued it last. */
  starter: string;
}

/** Whether a job that has not finished may be restarted. */
export function mayRestart(run: JobRunFields): boolean {
  return run.resumable && run.attempts < run.maxAttempts;
}

/**
 * Whether work may be tried again after the database was too busy. Fewer attempts are allowed than after a kill,
 * because a kill is not the fault of the work.
 */
export function mayRetry(run: JobRunFields): boolean {
  return mayRestart(run) && run.attempts < 3;
}

/** A job record. Ids are text. */
export interface JobRecord {
  id: string;
  title: string;
  type: string;
  handler: string | null;
  status: number;
  created: Date;
  updated: Date;
  /** When the job is due. */
  when: Date;
  /** Seconds between runs; 0 if the job runs once. */
  interval: number;
  /** The user who owns the job; `null` if there is none. */
  userId: string | null;
  /** Whether everyone can see that the job exists. Only users whom `access` lists, or who can read the item, see more. */
  public: boolean;
  access: JobAccess;
  /** The item that the job is about, or `null`. Users who can read the item can see the job. */
  itemId: string | null;
  parentId: string | null;
  asynchronous: boolean;
  timestamps: { status: number; time: Date }[];
  progress: JobProgress | null;
  meta: Record<string, unknown>;
  args: unknown[];
  kwargs: Record<string, unknown>;
  /** The results of the job, e.g. `{ file: ['<id>'] }`. */
  results: Record<string, unknown> | null;
  /** Further members that the creator of the job has set. */
  other: Record<string, unknown>;
  /** Number of log entries that were ever written, including entries that were dropped since. */
  logCount: number;
  /** How many times the log was replaced. */
  logEpoch: number;
  /** Log entries, oldest first. They are read only on request. */
  log?: string[];
  /** `null` if the runner does not run the job. */
  run: JobRunFields | null;
}

/** A job to store. Missing members get their defaults. */
export type NewJobRecord = Omit<JobRecord, 'id' | 'logCount' | 'logEpoch' | 'log'> & { id?: string };

/** Conditions under which a change is made. */
export interface JobConditions {
  status?: number | readonly number[];
  workingProcess?: string | null;
  beat?: number;
  ticket?: string | null;
}

/** Changes of one atomic write. */
export interface JobChanges {
  status?: number;
  progress?: JobProgress;
  results?: Record<string, unknown>;
  log?: readonly string[];
  /** Whether the new log entries replace all previous entries. */
  overwrite?: boolean;
  workingProcess?: string | null;
  ticket?: string | null;
  starter?: string;
  /** 1 counts a new attempt; -1 undoes that. */
  addedAttempts?: 1 | -1;
}

/** Selects the jobs of a list. A member that is missing does not restrict the selection. */
export interface JobFilter {
  /** `null` selects jobs without an owner. */
  userId?: string | null;
  types?: readonly string[];
  statuses?: readonly number[];
  handlers?: readonly string[];
  parentId?: string;
}

/**
 * The reader for whom jobs are listed. A reader may see a job that is public, a job whose access list names the reader, and a job about an
 * item that the reader may read.
 */
export interface JobReader {
  id: string | null;
  /** Whether the reader sees all jobs. */
  admin: boolean;
}

/** Fields that a list can be sorted by. */
export const jobSortFields = ['created', 'updated', 'when', 'title', 'type', 'status', 'handler', '_id'] as const;

/** Maximum size of a job's log in bytes, as {@link logEntryBytes} counts it. If it is longer, the oldest entries are dropped. */
export const maxLogBytes = 4 * 1024 * 1024;

/** Bytes that a log entry takes: its text in UTF-8, and about 16 bytes for its position in the list. */
export function logEntryBytes(entry: string): number {
  return Buffer.byteLength(entry) + 16;
}
