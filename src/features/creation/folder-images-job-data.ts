import type { Caller } from '../../host.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { NewDefinedJob } from '../jobs/running/job-starter.js';
import type { FolderPosition } from './folder-walk.js';

/** Name of the job that makes large images of the remaining items of a folder, and type of its records. */
export const folderImagesJobName = 'large_image_folder_images';

/** The counts in the response of PUT folder/:id/tiles. */
export interface FolderImageCounts {
  childFoldersRecursed: number;
  itemsSkipped: number;
  jobsCanceled: number;
  jobsFailedToCancel: number;
  largeImagesCreated: number;
  largeImagesNotCreated: number;
  largeImagesRemovedAndRecreated: number;
  largeImagesRemovedAndNotRecreated: number;
  totalItems: number;
}

/** How the items of a folder are handled, as sent by the client. */
export interface FolderImageOptions {
  createJobs: 'true' | 'false' | 'always';
  localJobs: boolean;
  recurse: boolean;
  cancelJobs: boolean;
  redoExisting: boolean;
}

/** The progress through the items of a folder. */
export interface FolderImageProgress {
  counts: FolderImageCounts;
  /** `null` before the first item and after the last. */
  position: FolderPosition | null;
}

/** The state with which the job continues, stored with its record. */
interface FolderImagesWork extends FolderImageProgress {
  folderId: string;
  options: FolderImageOptions;
  position: FolderPosition;
  /** Whether the owner was a site administrator when they sent the request. */
  asAdmin: boolean;
}

/** Creates the job for the remaining items of a folder. */
export function newFolderImagesJob(start: {
  folderId: string;
  caller: Caller;
  options: FolderImageOptions;
  counts: FolderImageCounts;
  position: FolderPosition;
}): NewDefinedJob {
  const { folderId, caller, options, counts, position } = start;
  const folderImages: FolderImagesWork = { folderId, options, counts, position, asAdmin: caller.admin };
  return { userId: caller.id, asynchronous: true, kwargs: { folderId, ...options }, other: { folderImages } };
}

/** Reads the work of a stored job. */
export function readFolderImagesWork({ other }: Pick<JobRecord, 'other'>): FolderImagesWork {
  // Only `newFolderImagesJob` writes this member.
  return other.folderImages as FolderImagesWork;
}
