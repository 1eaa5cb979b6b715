/** How far a job has come. `total` and `current` are `null` where the job does not report them. */
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
export interface JobRun {
  /** Name of the definition that runs it. */
  task: string;
  /** Whether the work may be restarted after the process that did it has died. */
  resumable: boolean;
  /** How often it may be begun. */
  maxAttempts: number;
  /** How often it was begun. */
  attempts: number;
  /** The process that works on it; `null` while none does. */
  owner: string | null;
  /** Incremented while the owner is alive. */
  beat: number;
  /** Id of the queue entry that delivers it to a runner. */
  ticket: string | null;
  /** Name of the process that is queueing it, or was the last to queue it. */
  starter: string;
}

/** Whether a job may be restarted where its work has not come to its end. */
export function mayBeBegunAgain(run: JobRun): boolean {
  return run.resumable && run.attempts < run.maxAttempts;
}

/** Whether work for which the database was too busy may be tried again: not as often as after a kill, which is not the fault of the work. */
export function mayBeTriedAgain(run: JobRun): boolean {
  return mayBeBegunAgain(run) && run.attempts < 3;
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
  when: Date;
  /** Seconds between runs; 0: it runs once. */
  interval: number;
  /** The owner; `null` where it belongs to nobody. */
  userId: string | null;
  /** Whether everyone can see that the job exists. More than that is visible only to those whom `access` and `itemId` permit. */
  public: boolean;
  access: JobAccess;
  /** The item that the job is about, or `null`. Whoever may read the item may see the job. */
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
  /** Further members that its creator gave it. */
  other: Record<string, unknown>;
  /** How many log entries were ever written. The oldest of them may have been dropped. */
  logCount: number;
  /** Counts how often the log was replaced. */
  logEpoch: number;
  /** Log entries, oldest first; only if requested. */
  log?: string[];
  /** `null`: not a job of the runner. */
  run: JobRun | null;
}

/** A job to be stored. Members that are absent get their defaults. */
export type NewJobRecord = Omit<JobRecord, 'id' | 'logCount' | 'logEpoch' | 'log'> & { id?: string };

/** Conditions under which a change is made. */
export interface JobConditions {
  status?: number | readonly number[];
  owner?: string | null;
  beat?: number;
  ticket?: string | null;
}

/** Changes of one atomic write. */
export interface JobChanges {
  status?: number;
  progress?: JobProgress;
  results?: Record<string, unknown>;
  log?: readonly string[];
  /** The new log entries replace all previous ones. */
  overwrite?: boolean;
  owner?: string | null;
  ticket?: string | null;
  starter?: string;
  /** 1 counts a new attempt, -1 takes one back. */
  attempts?: 1 | -1;
}

/** Selects the jobs of a list. Members that are absent select everything. */
export interface JobFilter {
  /** `null`: jobs that belong to nobody. */
  userId?: string | null;
  types?: readonly string[];
  statuses?: readonly number[];
  handlers?: readonly string[];
  parentId?: string;
}

/**
 * Restricts a list to the jobs that a reader may see: by the access list, because they are public, or, if the reader may read it, because of their
 * item.
 */
export interface JobReader {
  id: string | null;
  /** Sees all. */
  admin: boolean;
}

/** Fields a list can be sorted by. */
export const jobSortFields = ['created', 'updated', 'when', 'title', 'type', 'status', 'handler', '_id'] as const;

/** Most bytes of the log of a job, as {@link logEntryBytes} counts. When it is longer, the oldest entries are dropped. */
export const maxLogBytes = 4 * 1024 * 1024;

/** Bytes that a log entry takes: its text in UTF-8, and about 16 for its position in the list. */
export function logEntryBytes(entry: string): number {
  return Buffer.byteLength(entry) + 16;
}
