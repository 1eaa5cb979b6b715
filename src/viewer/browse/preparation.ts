import { followStream, pause } from '../api.js';
import { imageState, type Item } from './model.js';

/** Interval in milliseconds at which an item is requested again if its job cannot be followed. */
const pollMs = 3000;
/** Time in milliseconds between the end of a job and the request for the item. */
const settleMs = 1000;
/** Longest time in milliseconds that a job is followed before the other items are checked, which may be ready earlier. */
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
