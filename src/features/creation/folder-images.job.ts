import { InvalidError } from '../../errors.js';
import type { Callers } from '../../core/host/callers.js';
import type { Items } from '../items/items.js';
import type { JobDefinition } from '../jobs/running/definition.js';
import type { FolderImages } from './folder-images.js';
import { type FolderImageCounts, folderImagesJobName, readFolderImagesWork } from './folder-images-job-data.js';

/** Dependencies of the job. */
interface FolderImagesParts {
  folderImages: FolderImages;
  callers: Pick<Callers, 'loadRequester'>;
  items: Items;
}

/**
 * The job that makes large images of the items that the request for a folder has not reached. When it runs again after a crash, it
 * skips the images that it has made, unless the request recreates existing images.
 */
export function folderImagesJob({ folderImages, callers, items }: FolderImagesParts): JobDefinition {
  return {
    name: folderImagesJobName,
    title: 'Create large images from the items of a folder',
    type: folderImagesJobName,
    resumable: true,
    async run({ job, signal, log, setProgress, setResults }) {
      const { folderId, options, counts, position, asAdmin } = readFolderImagesWork(job);
      if (job.userId === null) throw new InvalidError('This job was not requested by a user.');
      const caller = await callers.loadRequester({ id: job.userId, admin: asAdmin });
      const folder = await items.loadFolder(folderId, 1, caller);
      log(`Continuing after ${counts.totalItems} items\n`);
      const onItem = ({ totalItems }: FolderImageCounts) => setProgress({ current: totalItems });
      const progress = await folderImages.continueAfter(folder, caller, options, { counts, position }, { signal, onItem });
      setResults({ ...progress.counts });
      log(`Finished: ${JSON.stringify(progress.counts)}\n`);
    },
  };
}
