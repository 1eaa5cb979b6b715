import { BadParameterError } from '../../errors.js';
import { canonicalText, parseSpecList, plainValue } from './cached-file-key.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Name of the job that makes thumbnails of all items, as the runner knows it. */
export const thumbnailJobName = 'large_image_create_thumbnails';

/** Most files made at the same time. More only make a machine slower. */
const maxConcurrent = 256;

/** Data of the job that makes thumbnails. */
export interface ThumbnailJobData {
  /** Specifications as they were sent, numbers as they were written; not all of them need be objects. */
  entries: unknown[];
  /** Seconds. */
  logInterval: number | undefined;
  concurrent: number | undefined;
}

/** The job for the data. @throws BadParameterError for a concurrency beyond the limit. */
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
    // Keys distinguish 1.0 from 1, which plain values cannot.
    ...(exact !== canonicalText(spec) && { other: { specText: exact } }),
  };
}

/**
 * The data of a stored job. Its entries were checked when they were sent. They are parsed again only because plain values do not distinguish 1.0 from
 * 1.
 */
export function thumbnailJobData({ kwargs, other }: Pick<JobRecord, 'kwargs' | 'other'>): ThumbnailJobData {
  const { spec, logInterval, concurrent } = kwargs;
  const { specText } = other;
  return {
    entries: typeof specText === 'string' ? parseSpecList(specText) : (spec as unknown[]),
    logInterval: typeof logInterval === 'number' ? logInterval : undefined,
    concurrent: typeof concurrent === 'number' ? concurrent : undefined,
  };
}
