import { canonicalText, parseSpecList } from '../../cached-files/cached-file-key.js';
import { histogramName, pictureName, type CachedEntry } from './cached-pictures.js';
import type { NewDefinedJob } from '../../jobs/running/job-starter.js';

/** Names of the jobs that make missing files of one item, as the runner knows them. */
export const cacheJobNames = { tileFrames: 'large_image_cache_tile_frames', histogram: 'large_image_cache_histograms' } as const;

/** A job that makes the files of these entries of an item. */
export function newCacheJob(itemId: string, entries: readonly CachedEntry[], userId: string | null): NewDefinedJob {
  return { userId, itemId, asynchronous: true, kwargs: { itemId, entries: canonicalText(entries) } };
}

/** Item and entries of a stored job. */
export function cacheJobData(kwargs: Record<string, unknown>): { itemId: string; entries: CachedEntry[] } {
  // Written by `newCacheJob` from entries.
  return { itemId: String(kwargs.itemId), entries: parseSpecList(String(kwargs.entries)) as CachedEntry[] };
}

/** Key of the file that a job of this kind makes of an entry. */
export function cacheJobKey(what: keyof typeof cacheJobNames, entry: CachedEntry): string {
  return (what === 'histogram' ? histogramName(entry) : pictureName(entry)).key;
}
