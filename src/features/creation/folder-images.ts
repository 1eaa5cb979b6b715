import { LargeImageError } from '../../errors.js';
import { answerLimitMs } from '../../core/concurrency/answer-in-time.js';
import { checkConversion } from '../../tilesource/convert/options.js';
import type { Caller, HostAccess, HostLogger } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import { activeStatuses, jobStatus } from '../jobs/job-status.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { JobStore } from '../jobs/jobs.js';
import type { ImageMarking } from '../images/image-marking.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import {
  folderImagesJobName,
  newFolderImagesJob,
  type FolderImageCounts,
  type FolderImageOptions,
  type FolderImageProgress,
} from './folder-images-job-data.js';
import { walkFolder } from './folder-walk.js';
import type { CreationOptions, LargeImageCreation } from './large-image-creation.js';

/** The options of the request, and the options for making one large image. */
type ItemOptions = FolderImageOptions & { creationOptions: CreationOptions };

/** Options of one pass over a folder. */
interface PassOptions {
  signal: AbortSignal;
  /** Asked after each item and folder whether to stop. */
  shouldStop?: () => boolean;
  /** Called after each item. */
  onItem?: (counts: FolderImageCounts) => void;
}

interface FolderImageParts {
  records: HostRecords;
  items: Items;
  images: Images;
  imageMarking: ImageMarking;
  jobs: JobStore;
  runner: JobStarter;
  creation: LargeImageCreation;
  access: HostAccess;
  logger: HostLogger;
}

/** Statuses of jobs that could not be canceled, and may still deliver a result. */
const uncanceledStatuses: readonly number[] = [jobStatus.inactive, jobStatus.queued, jobStatus.running];

const zeroCounts: FolderImageCounts = {
  childFoldersRecursed: 0,
  itemsSkipped: 0,
  jobsCanceled: 0,
  jobsFailedToCancel: 0,
  largeImagesCreated: 0,
  largeImagesNotCreated: 0,
  largeImagesRemovedAndRecreated: 0,
  largeImagesRemovedAndNotRecreated: 0,
  totalItems: 0,
};

function creationOptionsOf({ createJobs, localJobs }: FolderImageOptions, caller: Caller): CreationOptions {
  const createJob = ({ true: 'when needed', false: 'never', always: 'always' } as const)[createJobs];
  return { createJob, localJob: localJobs, notify: false, conversionOptions: checkConversion({}), sentParameters: {}, caller };
}

/** Makes large images of many items, and removes unfinished large images. */
export class FolderImages {
  constructor(private readonly parts: FolderImageParts) {}

  /**
   * Makes large images of the items of a folder; with `recurse`, also of the items in subfolders that the caller may read. Items
   * that the caller may not change are skipped.
   *
   * @returns the counts, and the job that continues if there is more to do than a request can wait for.
   */
  async create(
    folder: FolderRecord,
    caller: Caller,
    options: FolderImageOptions,
    signal: AbortSignal,
  ): Promise<{ counts: FolderImageCounts; job: JobRecord | null }> {
    const deadline = performance.now() + answerLimitMs;
    const initialProgress: FolderImageProgress = { counts: { ...zeroCounts }, position: null };
    const result = await this.continueAfter(folder, caller, options, initialProgress, {
      signal,
      shouldStop: () => performance.now() >= deadline,
    });
    const { counts, position } = result;
    if (position === null) return { counts, job: null };
    const { runner } = this.parts;
    const newJob = newFolderImagesJob({ folderId: folder.id, caller, options, counts, position });
    const job = await runner.create(folderImagesJobName, newJob);
    await runner.start(job);
    return { counts, job };
  }

  /** Handles the items after a position until all items are done, or `shouldStop` returns true. */
  async continueAfter(
    folder: FolderRecord,
    caller: Caller,
    options: FolderImageOptions,
    { counts: startCounts, position: startPosition }: FolderImageProgress,
    { signal, shouldStop = () => false, onItem }: PassOptions,
  ): Promise<FolderImageProgress> {
    const { records, access } = this.parts;
    const counts = { ...startCounts };
    const itemOptions: ItemOptions = { ...options, creationOptions: creationOptionsOf(options, caller) };
    for await (const step of walkFolder({ records, access, caller, recurse: options.recurse }, folder, startPosition)) {
      signal.throwIfAborted();
      if (step.kind === 'folder') counts.childFoldersRecursed++;
      else {
        counts.totalItems++;
        // Below the requested folder there may be items that the caller can only read.
        const level = await access.level(caller, { type: 'item', doc: step.item.doc });
        if (level < 1) counts.itemsSkipped++;
        else await this.#handleItem(step.item, itemOptions, counts);
        onItem?.(counts);
      }
      if (shouldStop()) return { counts, position: step.position };
    }
    return { counts, position: null };
  }

  async #handleItem(item: ItemRecord, options: ItemOptions, counts: FolderImageCounts): Promise<void> {
    if (item.largeImage === null) {
      const files = await this.parts.records.findFilesOfItem(item);
      if (files.length !== 1) counts.itemsSkipped++;
      else if (await this.#attempt(item, () => this.#createOrRecreate(item, files[0]!, options))) counts.largeImagesCreated++;
      else counts.largeImagesNotCreated++;
      return;
    }
    if (item.largeImage.expected === true) {
      if (!options.cancelJobs) counts.itemsSkipped++;
      else if (!(await this.#cancelJob(item))) {
        counts.jobsFailedToCancel++;
        counts.itemsSkipped++;
      } else {
        counts.jobsCanceled++;
        await this.#recreateAndCount((await this.parts.records.findItem(item.id)) ?? item, item, options, counts);
      }
      return;
    }
    if (!options.redoExisting && (await this.#isReadable(item))) counts.itemsSkipped++;
    else await this.#recreateAndCount(item, item, options, counts);
  }

  /**
   * Makes the large image of an item again, and counts the outcome.
   *
   * @param itemBeforeCanceling the item before its job was canceled. Its marker names the original file.
   */
  async #recreateAndCount(
    item: ItemRecord,
    itemBeforeCanceling: ItemRecord,
    options: ItemOptions,
    counts: FolderImageCounts,
  ): Promise<void> {
    const { creation } = this.parts;
    const file = await this.#findOriginalFile(itemBeforeCanceling);
    const makeImage = () =>
      file === null
        ? Promise.reject(new LargeImageError('not-found', `The file of the large image of item ${item.id} no longer exists.`))
        : this.#createOrRecreate(item, file, options);
    if (await this.#attempt(item, makeImage)) {
      counts.largeImagesRemovedAndRecreated++;
      return;
    }
    counts.largeImagesRemovedAndNotRecreated++;
    // If the new image cannot be made, an old image that can still be shown is kept.
    const currentItem = await this.parts.records.findItem(item.id);
    if (currentItem !== null && currentItem.largeImage !== null && !(await this.#isReadable(currentItem)))
      await creation.remove(currentItem);
  }

  /** @throws LargeImageError if the file cannot become an image, now or by a job. */
  async #createOrRecreate(item: ItemRecord, file: FileRecord, { creationOptions }: ItemOptions): Promise<unknown> {
    const { creation, imageMarking } = this.parts;
    // A job that would certainly fail is not started, because nobody reads the logs of many jobs.
    if (creationOptions.createJob === 'always') await imageMarking.requireImage(file);
    return item.largeImage === null
      ? creation.create(item, file, creationOptions)
      : creation.recreate(item, file, creationOptions);
  }

  async #findOriginalFile({ largeImage }: ItemRecord): Promise<FileRecord | null> {
    const { records } = this.parts;
    const originalFile = largeImage?.originalId === undefined ? null : await records.findFile(largeImage.originalId);
    if (originalFile !== null || largeImage?.fileId === undefined) return originalFile;
    return records.findFile(largeImage.fileId);
  }

  /** Runs `work`. @returns false if it failed with a LargeImageError, which is logged. */
  async #attempt(item: ItemRecord, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.parts.logger.info({ itemId: item.id, reason: error.message }, 'LargeImage:NotCreated');
      return false;
    }
  }

  async #isReadable(item: ItemRecord): Promise<boolean> {
    try {
      await this.parts.images.use(item, (image) => image.metadata());
      return true;
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      return false;
    }
  }

  /** Cancels the job of an item. @returns false if the job may still deliver a result. */
  async #cancelJob({ largeImage }: ItemRecord): Promise<boolean> {
    const status = largeImage?.jobId === undefined ? null : await this.parts.creation.cancel(largeImage.jobId);
    return status === null || !uncanceledStatuses.includes(status);
  }

  /** Cancels the jobs that items still wait for, and removes the large images of these items. */
  async removeIncomplete(options: { signal?: AbortSignal } = {}): Promise<{ removed: number; message?: string }> {
    const { records, jobs, creation } = this.parts;
    let removed = 0;
    const deadline = performance.now() + answerLimitMs;
    for (;;) {
      options.signal?.throwIfAborted();
      if (performance.now() >= deadline) return { removed, message: 'There are more. Send this again.' };
      const item = await records.markers.findUnfinished();
      if (item === null) return { removed };
      const { jobId } = item.largeImage ?? {};
      const job = jobId === undefined ? null : await jobs.find(jobId);
      if (job !== null && [jobStatus.inactive, ...activeStatuses, jobStatus.queued].includes(job.status)) {
        const status = await creation.cancel(job.id);
        if (status === jobStatus.queued || status === jobStatus.running) {
          return { removed, message: `The job for item ${item.id} could not be canceled` };
        }
      }
      // Canceling a job removes the marker of its item, or restores the previous one. For jobs of other processes, that happens
      // later.
      const currentItem = await records.findItem(item.id);
      if (currentItem?.largeImage?.expected === true && !(await creation.abandon(currentItem))) continue;
      removed++;
    }
  }
}
