import { BadParameterError } from '../../errors.js';
import { canonicalText, parseSpecList, toPlainValue } from './cached-file-key.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';

/** Name of the job that makes thumbnails of all items. */
export const thumbnailJobName = 'large_image_create_thumbnails';

/** Maximum number of files made at the same time. More would only slow the machine down. */
const maxConcurrent = 256;

/** Data of the job that makes thumbnails. */
export interface ThumbnailJobData {
  /** Specifications as sent, with the original spelling of numbers; some may not be objects. */
  entries: unknown[];
  /** Seconds between progress entries in the log. */
  logInterval: number | undefined;
  /** Number of files made at the same time. */
  concurrent: number | undefined;
}

/** Creates the job for this data. @throws BadParameterError for a concurrency beyond the limit. */
export function newThumbnailJob(data: ThumbnailJobData, userId: string | null): NewDefinedJob {
  const { entries, logInterval, concurrent } = data;
  if (concurrent !== undefined && concurrent > maxConcurrent) {
    throw new BadParameterError(
      `Invalid value for numeric parameter concurrent: ${concurrent}. Allowed values: numbers up to ${maxConcurrent}.`,
    );
  }
  const exactText = canonicalText(entries);
  const spec = toPlainValue(entries);
  return {
    userId,
    public: true,
    asynchronous: true,
    kwargs: {
      spec,
      ...(logInterval !== undefined && { logInterval }),
      ...(concurrent !== undefined && { concurrent }),
    },
    // Keys distinguish 1.0 from 1, but plain values do not.
    ...(exactText !== canonicalText(spec) && { other: { specText: exactText } }),
  };
}

/**
 * The data of a stored job. Its entries were checked when they were sent. They are parsed again only because plain values do not
 * distinguish 1.0 from 1.
 */
export function readThumbnailJobData({ kwargs, other }: Pick<JobRecord, 'kwargs' | 'other'>): ThumbnailJobData {
  const { spec, logInterval, concurrent } = kwargs;
  const { specText } = other;
  return {
    entries: typeof specText === 'string' ? parseSpecList(specText) : (spec as unknown[]),
    logInterval: typeof logInterval === 'number' ? logInterval : undefined,
    concurrent: typeof concurrent === 'number' ? concurrent : undefined,
  };
}
