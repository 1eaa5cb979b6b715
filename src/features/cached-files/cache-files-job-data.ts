import { canonicalText, parseSpecList } from './cached-file-key.js';
import { histogramName, pictureName, type CachedEntry } from './cached-pictures.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Names of the jobs that make missing cached files of an item. */
export const cacheJobNames = { tileFrames: 'large_image_cache_tile_frames', histogram: 'large_image_cache_histograms' } as const;

/** Describes a job that makes cached files of an item, one for each entry. */
export function newCacheJob(itemId: string, entries: readonly CachedEntry[], userId: string | null): NewDefinedJob {
  return { userId, itemId, asynchronous: true, kwargs: { itemId, entries: canonicalText(entries) } };
}

/** Reads the item and the entries from the arguments of a stored job. */
export function readCacheJobData(kwargs: Record<string, unknown>): { itemId: string; entries: CachedEntry[] } {
  // `newCacheJob` made this text from entries.
  return { itemId: String(kwargs.itemId), entries: parseSpecList(String(kwargs.entries)) as CachedEntry[] };
}

/** The key of the cached file that a job of this kind makes for an entry. */
export function keyOfJobEntry(kind: keyof typeof cacheJobNames, entry: CachedEntry): string {
  return (kind === 'histogram' ? histogramName(entry) : pictureName(entry)).key;
}
