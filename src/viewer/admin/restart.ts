import { ApiError, pause, request } from '../api.js';
import { adminTexts } from '../texts.js';

const patienceMs = 60_000;
const pollMs = 500;

/**
 * Waits until the server has started anew.
 *
 * @param formerStart the date that it gave as its start before
 * @throws when that takes too long
 */
export interface ServerVersion {
  serverStartDate: string;
}

export async function untilRestarted(formerStart: string, signal: AbortSignal) {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    await pause(pollMs, signal);
    signal.throwIfAborted();
    try {
      const { serverStartDate } = await request<ServerVersion>('GET', 'system/version', { signal });
      if (serverStartDate !== formerStart) return;
    } catch (error) {
      // Nobody answers while it restarts; what is not the server's own refusal passes.
      if (!(error instanceof ApiError)) throw error;
    }
  }
  throw new Error(adminTexts.notBack);
}
