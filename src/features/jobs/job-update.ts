import { logEntryBytes, maxLogBytes, type JobChanges, type JobProgress, type JobRecord } from './job-record.js';

/** A change of a job's record. */
export interface JobUpdate {
  /** Log entries to append. */
  log?: string | readonly string[];
  /** Whether the new log replaces the stored log. */
  overwrite?: boolean;
  status?: number;
  /** Missing members stay unchanged. */
  progress?: Partial<JobProgress>;
  results?: Record<string, unknown>;
  /** Whether the owner gets a message. Default true. */
  notify?: boolean;
}

/** Computes the changes that an update makes to the stored record. */
export function toChanges(update: JobUpdate, jobBefore: JobRecord): JobChanges {
  const log = typeof update.log === 'string' ? [update.log] : (update.log ?? []);
  const entries = dropOldestEntries(log.filter((entry) => entry !== '').map(shortenToEnd));
  return {
    ...(update.status !== undefined && update.status !== jobBefore.status && { status: update.status }),
    ...(update.progress !== undefined && {
      progress: { total: null, current: null, message: null, ...jobBefore.progress, ...update.progress },
    }),
    ...(update.results !== undefined && { results: update.results }),
    ...(entries.length > 0 && { log: entries, overwrite: update.overwrite ?? false }),
  };
}

/** Drops the oldest entries if all entries together exceed the maximum size of a log. */
function dropOldestEntries(entries: string[]): string[] {
  let bytes = 0;
  const lastDroppedIndex = entries.findLastIndex((entry) => (bytes += logEntryBytes(entry)) > maxLogBytes);
  return lastDroppedIndex < 0 ? entries : entries.slice(lastDroppedIndex + 1);
}

/** Shortens an entry that is longer than a log can be. The end of the entry is kept, because it says how the work ended. */
function shortenToEnd(entry: string): string {
  if (logEntryBytes(entry) <= maxLogBytes) return entry;
  const bytes = Buffer.from(entry);
  let start = bytes.length - maxLogBytes + logEntryBytes('');
  // Characters are not split: their continuation bytes are 10xxxxxx.
  while ((bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.toString('utf8', start);
}
