import { canonicalText, parseSpecList } from './cached-file-key.js';
import { histogramName, pictureName, type CachedFileSpec } from './cached-pictures.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Names of the jobs that make missing cached files of an item. */
export const cacheJobNames = { tileFrames: 'large_image_cache_tile_frames', histogram: 'large_image_cache_histograms' } as const;

/** Describes a job that makes cached files of an item, one for each specification. */
export function newCacheJob(itemId: string, specs: readonly CachedFileSpec[], userId: string | null): NewDefinedJob {
  return { userId, itemId, asynchronous: true, kwargs: { itemId, entries: canonicalText(specs) } };
}

/** Reads the item and the specifications from the arguments of a stored job. */
export function readCacheJobData(kwargs: Record<string, unknown>): { itemId: string; specs: CachedFileSpec[] } {
  // `newCacheJob` made this text from specifications.
  return { itemId: String(kwargs.itemId), specs: parseSpecList(String(kwargs.entries)) as CachedFileSpec[] };
}

/** The key of the cached file that a job of this kind makes for a specification. */
export function keyOfJobFile(kind: keyof typeof cacheJobNames, spec: CachedFileSpec): string {
  return (kind === 'histogram' ? histogramName(spec) : pictureName(spec)).key;
}
