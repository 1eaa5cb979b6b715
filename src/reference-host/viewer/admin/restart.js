// @ts-check
import { ApiError, request } from '../api.js';

const patienceMs = 60_000;
const pollMs = 500;

/**
 * Waits until the server has started anew.
 *
 * @param {string} formerStart the date that it gave as its start before
 * @param {AbortSignal} signal
 * @throws when that takes too long
 */
export async function untilRestarted(formerStart, signal) {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    signal.throwIfAborted();
    try {
      const { serverStartDate } = await request('GET', 'system/version', { signal });
      if (serverStartDate !== formerStart) return;
    } catch (error) {
      // Nobody answers while it restarts; what is not the server's own refusal passes.
      if (!(error instanceof ApiError)) throw error;
    }
  }
  throw new Error('The file has been updated, but the server has not come back yet.');
}
