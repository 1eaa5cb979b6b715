import { BadParameterError } from '../../errors.js';
import { canonicalText, parseSpecList, plainValue } from '../cached-files/cached-file-key.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Name of the job that makes thumbnails of all items, as the runner knows it. */
export const thumbnailJobName = 'large_image_create_thumbnails';

/** Files made at once: beyond this a machine only gets slower. */
const maxConcurrent = 256;

/** What the job that makes thumbnails works on. */
export interface ThumbnailJobData {
  /** Specifications as they were sent, numbers as they were written; not all of them need be objects. */
  entries: unknown[];
  /** Seconds. */
  logInterval: number | undefined;
  concurrent: number | undefined;
}

/** The job for the data. @throws BadParameterError for a concurrency that no machine has. */
export function newThumbnailJob(data: ThumbnailJobData, userId: string | null): NewDefinedJob {
  const { entries, logInterval, concurrent } = data;
  if (concurrent !== undefined && concurrent > maxConcurrent) {
    throw new BadParameterError(
      `Invalid value for numeric parameter concurrent: ${concurrent}. Allowed values: numbers up to ${maxConcurrent}.`,
    );
  }
  const exact = canonicalText(entries);
  const spec = plainValue(entries);
  return {
    userId,
    public: true,
    asynchronous: true,
    kwargs: {
      spec,
      ...(logInterval !== undefined && { logInterval }),
      ...(concurrent !== undefined && { concurrent }),
    },
    // Plain values do not tell 1.0 from 1, keys do.
    ...(exact !== canonicalText(spec) && { other: { specText: exact } }),
  };
}

/** The data of a stored job. Entries were parsed when they were sent: only what plain values do not tell is parsed again. */
export function thumbnailJobData({ kwargs, other }: Pick<JobRecord, 'kwargs' | 'other'>): ThumbnailJobData {
  const { spec, logInterval, concurrent } = kwargs;
  const { specText } = other;
  return {
    entries: typeof specText === 'string' ? parseSpecList(specText) : (spec as unknown[]),
    logInterval: typeof logInterval === 'number' ? logInterval : undefined,
    concurrent: typeof concurrent === 'number' ? concurrent : undefined,
  };
}
