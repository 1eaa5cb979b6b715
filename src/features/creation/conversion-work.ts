import type { ConversionOptions } from '../../tilesource/convert/options.js';
import type { JobRecord } from '../jobs/job-record.js';
import { activeStatuses, jobStatus } from '../jobs/job-status.js';

/** Name of the conversion job, and type of its records. */
export const conversionJobName = 'large_image_tiff';

/** Plain data of a conversion, stored with its job. */
export interface ConversionWork {
  itemId: string;
  fileId: string;
  options: ConversionOptions;
  /** Whether the owner gets a message when the job ends. */
  notify: boolean;
  /** The folder and name of a new item for the result; `null` if the result becomes the large image of the item. */
  target: { folderId: string; name: string | null } | null;
  /** The large image that the item had before, and gets back if the job does not succeed. */
  previous: Record<string, string> | null;
  /** Whether the owner was a site administrator when they requested the job. */
  asAdmin: boolean;
}

/** Last progress message of a job that has succeeded. */
export function createdMessage(name: string): string {
  return `Large image created for item ${name}`;
}

/** Whether a job may still deliver a result. */
export function isPending(status: number): boolean {
  return status === jobStatus.inactive || status === jobStatus.queued || activeStatuses.includes(status);
}

/** The work that a job was created for; `null` for jobs of a different kind. */
export function workOf(job: JobRecord): ConversionWork | null {
  const work = job.run?.task === conversionJobName ? job.other.conversion : undefined;
  // The code that creates conversion jobs stores a `ConversionWork` in this member.
  return typeof work === 'object' && work !== null ? (work as ConversionWork) : null;
}
