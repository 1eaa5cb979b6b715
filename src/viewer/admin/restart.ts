import { ApiError, pause, request } from '../api.js';
import { adminTexts } from '../admin-texts.js';

const maxWaitMs = 60_000;
const pollIntervalMs = 500;

/**
 * Waits until the server has restarted.
 *
 * @param previousStart the start date that the server reported before the restart
 * @throws if the server has not restarted after a minute
 */
export async function waitForRestart(previousStart: string, signal: AbortSignal) {
  const deadline = Date.now() + maxWaitMs;
  while (Date.now() < deadline) {
    await pause(pollIntervalMs, signal);
    signal.throwIfAborted();
    try {
      const { serverStartDate } = await request('GET', 'system/version', { signal });
      if (serverStartDate !== previousStart) return;
    } catch (error) {
      // While the server restarts, requests fail with an ApiError.
      if (!(error instanceof ApiError)) throw error;
    }
  }
  throw new Error(adminTexts.notRestarted);
}
