import { followStream, pause } from '../api.js';
import { imageState, type Item } from './model.js';

/** How often an item is asked for again where its job cannot be followed, in milliseconds. */
const pollMs = 3000;
/** How long after the end of a job the item is asked for. */
const settleMs = 1000;
/** The longest that one job is followed before the other items are looked at, which may be ready earlier. */
const longestMs = 30_000;

/** Waits until one of the images that are being prepared may be ready. */
export async function preparationEnd(items: readonly Item[], signal: AbortSignal) {
  const jobId = items.find((item) => imageState(item) === 'soon')?.largeImage?.jobId;
  if (jobId === undefined || document.hidden) return pause(pollMs, signal);
  const late = AbortSignal.timeout(longestMs);
  const following = { signal: AbortSignal.any([signal, late]), onEvent: () => undefined };
  await followStream(`job/${jobId}/events`, following).catch(() => (late.aborted ? undefined : pause(pollMs, signal)));
  return pause(settleMs, signal);
}
