/** How far a job has come. `total` and `current` are `null` where it does not say. */
export interface JobProgress {
  total: number | null;
  current: number | null;
  message: string | null;
}

/** Who may see (0), change (1) and remove (2) a job, beside site administrators. */
interface JobAccess {
  users: { id: string; level: number; flags: string[] }[];
  groups: { id: string; level: number; flags: string[] }[];
}

/** What the runner keeps on the record of a job that it is to run. */
export interface JobRun {
  /** Name of the definition that runs it. */
  task: string;
  /** Whether the work may be begun anew after the process that did it has died. */
  resumable: boolean;
  /** How often it may be begun. */
  maxAttempts: number;
  /** How often it was begun. */
  attempts: number;
  /** Who works on it; `null` while nobody does. */
  owner: string | null;
  /** Counts up while the owner is alive. */
  beat: number;
  /** Id of the queue entry that will bring it to a runner. */
  ticket: string | null;
  /** Name of the process that brings it into the queue, or has done so last. */
  starter: string;
}

/** Whether a job may be begun anew where its work has not come to its end. */
export function mayBeBegunAgain(run: JobRun): boolean {
  return run.resumable && run.attempts < run.maxAttempts;
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
  /** The owner; `null`: nobody in particular. */
  userId: string | null;
  /** Whether everybody may see that there is such a job; more than that is for those whom `access` and `itemId` let in. */
  public: boolean;
  access: JobAccess;
  /** The item that the job is about: who may read it may see the job. `null`: none. */
  itemId: string | null;
  parentId: string | null;
  asynchronous: boolean;
  timestamps: { status: number; time: Date }[];
  progress: JobProgress | null;
  meta: Record<string, unknown>;
  args: unknown[];
  kwargs: Record<string, unknown>;
  /** What the job has made, e.g. `{ file: ['<id>'] }`. */
  results: Record<string, unknown> | null;
  /** Further members that its creator gave it. */
  other: Record<string, unknown>;
  /** How many log entries were ever written; the oldest of them may be gone. */
  logCount: number;
  /** Counts how often the log was replaced. */
  logEpoch: number;
  /** Log entries, oldest first; only where they were asked for. */
  log?: string[];
  /** `null`: not a job of the runner. */
  run: JobRun | null;
}

/** A job to be stored; what is not given gets its usual value. */
export type NewJobRecord = Omit<JobRecord, 'id' | 'logCount' | 'logEpoch' | 'log'> & { id?: string };

/** What must still hold for a change to be made. */
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
  /** The new log entries replace all former ones. */
  overwrite?: boolean;
  owner?: string | null;
  ticket?: string | null;
  starter?: string;
  /** Counts a new attempt, or takes one back. */
  attempts?: 1 | -1;
}

/** Which jobs a list is about; parts that are not given do not restrict it. */
export interface JobFilter {
  /** `null`: jobs that belong to nobody. */
  userId?: string | null;
  types?: readonly string[];
  statuses?: readonly number[];
  handlers?: readonly string[];
  parentId?: string;
}

/** Which of the jobs that fit somebody may see at most: by their list, because they are public, or as far as they may read the item. */
export interface JobReader {
  id: string | null;
  /** Sees all. */
  admin: boolean;
}

/** Fields a list can be sorted by. */
export const jobSortFields = ['created', 'updated', 'when', 'title', 'type', 'status', 'handler', '_id'] as const;

/** Length that the log of a job is kept below, as {@link logEntryBytes} counts; the oldest entries go first. */
export const maxLogBytes = 4 * 1024 * 1024;

/** What a log entry takes: UTF-8, and about 16 bytes for its place in the list. */
export function logEntryBytes(entry: string): number {
  return Buffer.byteLength(entry) + 16;
}
