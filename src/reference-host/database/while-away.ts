import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailableError } from './database-options.js';
import { hostsOf, withoutCredentials } from './uri.js';

const pauseMs = 500;

/** Options of {@link retryWhileDatabaseIsAway}. */
export interface RetryOptions {
  uri: string;
  /** Maximum time, in milliseconds. */
  waitMs: number;
  /** Called once with a message if the database is unreachable. */
  report: (text: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Does work that needs the database. As long as the database cannot be reached, the work is tried again, because the database may still be starting.
 *
 * @throws DatabaseUnavailableError if it could not be reached in time; other errors immediately.
 */
export async function retryWhileDatabaseIsAway<T>(
  work: () => Promise<T>,
  { uri, waitMs, report, signal }: RetryOptions,
): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (let isReported = false; ; isReported = true) {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      // This module imports everything, so `npm start` loads it while its database starts.
      const { isDatabaseOutage } = await import('../../larger-host.js');
      if (!isDatabaseOutage(error)) throw error;
      const reason = withoutCredentials(error instanceof Error ? error.message : String(error));
      const address = hostsOf(uri) ?? 'MONGODB_URI';
      if (performance.now() >= deadline) {
        const time = waitMs > 0 ? ` within ${waitMs / 1000} s` : '';
        throw new DatabaseUnavailableError(`The database at ${address} could not be reached${time}: ${reason}`, { cause: error });
      }
      if (!isReported)
        report(`The database at ${address} cannot be reached (${reason}). Waiting for it, up to ${waitMs / 1000} s.`);
      await delay(pauseMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}
