import { canonicalText, parseSpecList } from './cached-file-key.js';
import { histogramName, pictureName, type CachedEntry } from './cached-pictures.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Names under which the job runner knows the jobs that make missing cached files of an item. */
export const cacheJobNames = { tileFrames: 'large_image_cache_tile_frames', histogram: 'large_image_cache_histograms' } as const;

/** A job that makes the files of these entries of an item. */
export function newCacheJob(itemId: string, entries: readonly CachedEntry[], userId: string | null): NewDefinedJob {
  return { userId, itemId, asynchronous: true, kwargs: { itemId, entries: canonicalText(entries) } };
}

/** The item and the entries from the arguments of a stored job. */
export function cacheJobData(kwargs: Record<string, unknown>): { itemId: string; entries: CachedEntry[] } {
  // `newCacheJob` has written the text from entries.
  return { itemId: String(kwargs.itemId), entries: parseSpecList(String(kwargs.entries)) as CachedEntry[] };
}

/** The key of the cached file that a job of this kind makes for an entry. */
export function cacheJobKey(what: keyof typeof cacheJobNames, entry: CachedEntry): string {
  return (what === 'histogram' ? histogramName(entry) : pictureName(entry)).key;
}
