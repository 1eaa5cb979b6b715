import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailableError } from './database-options.js';
import { hostsOf, withoutCredentials } from './uri.js';

const retryDelayMs = 500;

/** Options of {@link retryWhileDatabaseIsAway}. */
export interface RetryOptions {
  uri: string;
  /** How long to wait for the database, in milliseconds. */
  waitMs: number;
  /** Called once with a message if the database is unreachable. */
  reportOutage: (text: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Does work that needs the database. As long as the database cannot be reached, the work is tried again, because the database may still be
 * starting.
 *
 * @throws DatabaseUnavailableError if the database could not be reached in time. Other errors of the work are thrown immediately.
 */
export async function retryWhileDatabaseIsAway<T>(
  work: () => Promise<T>,
  { uri, waitMs, reportOutage, signal }: RetryOptions,
): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (let isReported = false; ; isReported = true) {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      // `larger-host.js` imports almost everything, which takes a while. With a static import, `npm start` could start its database only
      // after that.
      const { isDatabaseOutage } = await import('../../larger-host.js');
      if (!isDatabaseOutage(error)) throw error;
      const reason = withoutCredentials(error instanceof Error ? error.message : String(error));
      const address = hostsOf(uri) ?? 'MONGODB_URI';
      if (performance.now() >= deadline) {
        const timeLimitText = waitMs > 0 ? ` within ${waitMs / 1000} s` : '';
        throw new DatabaseUnavailableError(`The database at ${address} could not be reached${timeLimitText}: ${reason}`, {
          cause: error,
        });
      }
      if (!isReported)
        reportOutage(`The database at ${address} cannot be reached (${reason}). Waiting for it, up to ${waitMs / 1000} s.`);
      await delay(retryDelayMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}
