import { BadParameterError, InvalidError, TileSourceError } from '../../errors.js';
import type { Caller, HostFiles, HostLogger, HostNotification } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import { idText } from '../../core/database/id-text.js';
import type { JobRecord } from '../jobs/job-record.js';
import type { ConversionOptions } from '../../tilesource/convert/options.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import { announceStep } from '../../core/steps.js';
import type { ConversionMarks } from './conversion-marks.model.js';
import type { ConversionItems } from './conversion-items.js';
import { conversionJobName, createdMessage, isPending, workOf, type ConversionWork } from './conversion-work.js';
import { assertCreatable, type ImageMarking } from '../images/image-marking.js';
import type { Callers } from '../../core/host/callers.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import { isFinished, jobStatus, localHandler, workerHandler } from '../jobs/job-status.js';
import type { JobEvent, JobStore } from '../jobs/jobs.js';

/** How a large image is made. */
export interface CreationOptions {
  /** Whether a job converts the file: never, only if no source reads it, or always. */
  createJob: 'never' | 'when needed' | 'always';
  /** Whether the processes of the server run the job. Otherwise separate worker processes run it, if there are any. */
  localJob: boolean;
  /** Whether the caller is notified when the job ends. */
  notify: boolean;
  conversionOptions: ConversionOptions;
  /** The parameters as the client has sent them. They are shown with the job. */
  sentParameters: Readonly<Record<string, string>>;
  caller: Caller | null;
}

/** The work of a job, its documents, and the user who has requested it. */
interface LoadedWork {
  work: ConversionWork;
  item: ItemRecord;
  file: FileRecord;
  /** The folder of the new item for a converted copy; `null` if the result becomes the large image of `item`. */
  folder: FolderRecord | null;
  requester: Caller | null;
}

/** Options of {@link LargeImageCreation}. */
interface CreationParts {
  registry: TileSourceRegistry;
  records: HostRecords;
  conversionMarks: ConversionMarks;
  items: Items;
  callers: Pick<Callers, 'loadRequester'>;
  imageMarking: ImageMarking;
  files: HostFiles;
  conversionItems: ConversionItems;
  jobs: JobStore;
  runner: JobStarter;
  notify: ((notification: HostNotification) => Promise<void>) | undefined;
  logger: HostLogger;
}

const notificationLifetimeMs = 30_000;

/** Makes items large images, by conversion if necessary, and keeps their records in step with the jobs. */
export class LargeImageCreation {
  constructor(private readonly parts: CreationParts) {}

  /**
   * Makes an item a large image of one of its files.
   *
   * @returns the job that converts the file; `null` if no job is needed.
   * @throws BadParameterError if the item is or is becoming a large image; TileSourceError if no source reads the file and no job
   * may be used.
   */
  async create(item: ItemRecord, file: FileRecord, options: CreationOptions): Promise<JobRecord | null> {
    const currentItem = await this.#removeLostMarker(item);
    assertCreatable(currentItem, file);
    if (options.createJob !== 'always') {
      try {
        await this.parts.imageMarking.create(currentItem, file);
        return null;
      } catch (error) {
        if (!(error instanceof TileSourceError) || options.createJob === 'never') throw error;
        if (!(await this.parts.imageMarking.needsConversion(file))) throw error;
      }
    }
    return this.#startJob(currentItem, file, options, null);
  }

  /**
   * Makes the large image of an item again. The previous image is kept until the new one is known to work. It is restored if a job fails.
   *
   * @throws TileSourceError if no source reads the file and no job may be used.
   */
  async recreate(item: ItemRecord, file: FileRecord, options: CreationOptions): Promise<JobRecord | null> {
    const { records, imageMarking, items } = this.parts;
    if (options.createJob !== 'always') {
      try {
        const sourceName = await imageMarking.findSource(file);
        const convertedFile = await this.#markConvertedFile(item);
        const updatedItem = await records.markers.replace(item, { fileId: file.doc._id, sourceName });
        items.forget(item.id);
        if (updatedItem === null) throw new BadParameterError('Someone else has changed the item.');
        announceStep('creation:replaced');
        await imageMarking.discardPrevious(item);
        await this.#removeFile(convertedFile);
        return null;
      } catch (error) {
        if (!(error instanceof TileSourceError) || options.createJob === 'never') throw error;
        if (!(await this.parts.imageMarking.needsConversion(file))) throw error;
      }
    }
    return this.#startJob(item, file, options, item.largeImage?.fileId === undefined ? null : { ...markerWithTextIds(item) });
  }

  /** Starts a job that writes a converted copy of a file into a new item. */
  async convert(
    item: ItemRecord,
    file: FileRecord,
    target: { folder: FolderRecord; name: string | null },
    options: Omit<CreationOptions, 'createJob' | 'notify'>,
  ): Promise<JobRecord> {
    const job = await this.#newJob(item, file, { ...options, notify: false }, null, {
      folderId: target.folder.id,
      name: target.name,
    });
    return (await this.parts.runner.start(job)) ?? job;
  }

  /**
   * Removes the large image of an item. A job that is making it is canceled, and a file that a job has made is removed; the
   * uploaded file is kept.
   *
   * @returns false if there was none.
   */
  async remove(item: ItemRecord): Promise<boolean> {
    const { largeImage } = item;
    if (largeImage === null) return false;
    const convertedFile = await this.#markConvertedFile(item);
    const wasRemoved = await this.parts.imageMarking.remove(item);
    if (!wasRemoved) return false;
    // The job is canceled only now. If it has just ended, its process finds that no item waits for the job.
    if (largeImage.expected === true && largeImage.jobId !== undefined) await this.cancel(largeImage.jobId);
    announceStep('removal:canceled');
    await this.#removeFile(convertedFile);
    return true;
  }

  /**
   * Makes an item stop waiting for its job. The item gets its previous large image back if it had one.
   *
   * @returns false if the item was no longer waiting.
   */
  async abandon(item: ItemRecord): Promise<boolean> {
    const { jobId } = item.largeImage ?? {};
    const job = jobId === undefined ? null : await this.parts.jobs.find(jobId);
    const work = job === null ? null : workOf(job);
    const previous = work === null ? null : await this.#findPreviousMarker(work);
    if (job === null || previous === null) return this.remove(item);
    const settledItem = await this.parts.records.markers.replaceAfterJob({ itemId: item.id, jobId: job.id }, previous);
    this.parts.items.forget(item.id);
    return settledItem !== null;
  }

  /** Cancels a job if that is still possible. @returns the status of the job afterwards; `null` if the job no longer exists. */
  async cancel(jobId: string): Promise<number | null> {
    const { jobs } = this.parts;
    try {
      return (await jobs.cancel(jobId))?.status ?? null;
    } catch (error) {
      // The job has ended, or is already being canceled.
      if (!(error instanceof InvalidError)) throw error;
      return (await jobs.find(jobId))?.status ?? null;
    }
  }

  /**
   * Loads the work of a job and its documents.
   *
   * @throws InvalidError if one of the documents no longer exists, or the item no longer waits for the job; AccessDeniedError if the
   * user who requested the job has lost permission.
   */
  async loadWork(job: JobRecord): Promise<LoadedWork> {
    const { records, items, callers } = this.parts;
    const work = workOf(job);
    if (work === null) throw new InvalidError(`Job ${job.id} is not a conversion.`);
    const [item, file] = await Promise.all([records.findItem(work.itemId), records.findFile(work.fileId)]);
    if (item === null) throw new InvalidError(`The item ${work.itemId} no longer exists.`);
    if (file === null) throw new InvalidError(`The file ${work.fileId} no longer exists.`);
    if (work.target === null && !(item.largeImage?.expected === true && item.largeImage.jobId === job.id)) {
      throw new InvalidError(`The item ${item.name} no longer waits for this job.`);
    }
    const folder = work.target === null ? null : await records.findFolder(work.target.folderId);
    if (folder === null && work.target !== null) throw new InvalidError(`The folder ${work.target.folderId} no longer exists.`);
    const requester = job.userId === null ? null : await callers.loadRequester({ id: job.userId, admin: work.asAdmin });
    if (requester !== null) {
      await items.loadFresh(item.id, folder === null ? 1 : 0, requester);
      if (folder !== null) await items.loadFolder(folder.id, 1, requester);
    }
    return { work, item, file, folder, requester };
  }

  /** Id of the file that a job delivered before its process was killed; `null` if there is none. */
  async findDeliveredFileId(job: JobRecord): Promise<string | null> {
    const work = workOf(job);
    if (work === null || work.target !== null) return null;
    const { jobId, fileId, expected } = (await this.parts.records.findItem(work.itemId))?.largeImage ?? {};
    return jobId === job.id && expected !== true ? (fileId ?? null) : null;
  }

  /** Makes a stored file the large image of an item that waits for a job. @returns false if the item no longer waits for the job. */
  async deliver(job: JobRecord, work: ConversionWork, file: FileRecord): Promise<boolean> {
    const { records, registry, items, conversionItems } = this.parts;
    const previousFile =
      work.previous?.originalId === undefined ? null : await this.#findAndMarkFile(work.previous.fileId, job.id);
    const settledItem = await records.markers.replaceAfterJob(
      { itemId: work.itemId, jobId: job.id },
      {
        fileId: file.doc._id,
        sourceName: registry.readerOfConversions,
        originalId: (await records.findFile(work.fileId))?.doc._id ?? work.fileId,
        jobId: job.id,
      },
    );
    items.forget(work.itemId);
    if (settledItem === null) return false;
    announceStep('conversion:delivered');
    await this.#removeFile(previousFile);
    await conversionItems.completeResults(job.id);
    return true;
  }

  /** Keeps the item of a conversion in step with its job, and notifies the owner when the job ends. */
  async handleJobChange({ kind, job, previousStatus }: JobEvent): Promise<void> {
    const work = workOf(job);
    if (work === null || kind === 'created') return;
    const hasJobEnded = kind === 'removed' ? !isFinished(job.status) : isFinished(job.status) && previousStatus !== job.status;
    if (!hasJobEnded) return;
    const status = kind === 'removed' ? jobStatus.canceled : job.status;
    const { records, items, conversionItems } = this.parts;
    announceStep('conversion:ended');
    // A process that still works on the job cleans up itself.
    if (status !== jobStatus.success && job.run?.owner == null) await conversionItems.removeLeftovers(job.id);
    // A complete copy is a separate item, for which no other item waits.
    if (work.target !== null) return status === jobStatus.success ? conversionItems.completeResults(job.id) : undefined;
    if (status !== jobStatus.success) {
      const settledItem = await records.markers.replaceAfterJob(
        { itemId: work.itemId, jobId: job.id },
        await this.#findPreviousMarker(work),
      );
      items.forget(work.itemId);
      if (settledItem !== null && status === jobStatus.error)
        await records.markers.storeRefusal(settledItem, failedConversionReason);
    }
    await this.#notify(job, work, status, kind === 'removed');
  }

  async #notify(job: JobRecord, work: ConversionWork, status: number, isRemoved: boolean): Promise<void> {
    if (!work.notify) return;
    const { records, jobs, notify, logger } = this.parts;
    const name = (await records.findItem(work.itemId))?.name ?? work.itemId;
    const message =
      status === jobStatus.success
        ? createdMessage(name)
        : status === jobStatus.canceled
          ? `Large image creation canceled for item ${name}`
          : `FAILED: Large image creation failed for item ${name}`;
    // A job that succeeded has already recorded its own message.
    if (!isRemoved && status !== jobStatus.success) await jobs.updateProgress(job.id, { message });
    if (notify === undefined || job.userId === null) return;
    try {
      await notify({
        userId: job.userId,
        type: 'large_image.finished_image_item',
        data: { job_id: job.id, item_id: work.itemId, success: status === jobStatus.success, status },
        expires: new Date(Date.now() + notificationLifetimeMs),
      });
    } catch (err) {
      logger.warn({ err, jobId: job.id }, 'LargeImage:NotificationFailed');
    }
  }

  async #startJob(
    item: ItemRecord,
    file: FileRecord,
    options: CreationOptions,
    previous: Record<string, string> | null,
  ): Promise<JobRecord> {
    const { records, items, imageMarking, jobs, runner } = this.parts;
    const job = await this.#newJob(item, file, options, previous, null);
    announceStep('creation:job-stored');
    const marker = { expected: true, notify: options.notify, originalId: file.doc._id, jobId: job.id };
    const claimedItem =
      item.largeImage === null ? await records.markers.claim(item, marker) : await records.markers.replace(item, marker);
    items.forget(item.id);
    if (claimedItem === null) {
      await jobs.remove(job.id);
      throw new BadParameterError('Item is scheduled to generate a largeImage.');
    }
    announceStep('creation:marked');
    if (item.largeImage !== null) await imageMarking.discardPrevious(item);
    return (await runner.start(job)) ?? job;
  }

  #newJob(
    item: ItemRecord,
    file: FileRecord,
    { localJob, notify, conversionOptions, sentParameters, caller }: Omit<CreationOptions, 'createJob'>,
    previous: Record<string, string> | null,
    target: ConversionWork['target'],
  ): Promise<JobRecord> {
    const userId = caller?.id ?? null;
    const asAdmin = caller?.admin === true;
    const work: ConversionWork = {
      itemId: item.id,
      fileId: file.id,
      options: conversionOptions,
      notify,
      target,
      previous,
      asAdmin,
    };
    return this.parts.runner.create(conversionJobName, {
      title: `Large Image Conversion: ${file.name}`,
      handler: localJob ? localHandler : workerHandler,
      userId,
      itemId: item.id,
      meta: { creator: 'large_image', itemId: item.id, task: 'createImageItem' },
      kwargs: { ...sentParameters, itemId: item.id, fileId: file.id, userId, toFolder: target !== null },
      other: { conversion: work },
    });
  }

  /** Removes the marker of an item if its job has ended or was removed, as after a crash. @returns the current item. */
  async #removeLostMarker(item: ItemRecord): Promise<ItemRecord> {
    const { largeImage } = item;
    if (largeImage?.expected !== true || largeImage.fileId !== undefined) return item;
    const job = largeImage.jobId === undefined ? null : await this.parts.jobs.find(largeImage.jobId);
    if (job !== null && isPending(job.status)) return item;
    await this.parts.imageMarking.remove(item);
    return (await this.parts.records.findItem(item.id)) ?? item;
  }

  /** The stored marker that an item had before; `null` if it had none, or its file no longer exists. */
  async #findPreviousMarker({ previous }: ConversionWork): Promise<Record<string, unknown> | null> {
    if (previous?.fileId === undefined) return null;
    const { records } = this.parts;
    const file = await records.findFile(previous.fileId);
    if (file === null) return null;
    const originalFile = previous.originalId === undefined ? null : await records.findFile(previous.originalId);
    return { ...previous, fileId: file.doc._id, ...(originalFile && { originalId: originalFile.doc._id }) };
  }

  /** Marks the file that a job has made for an item, because the file is useless once it is no longer the item's large image. */
  async #markConvertedFile({ largeImage }: ItemRecord): Promise<FileRecord | null> {
    const { fileId, originalId, jobId } = largeImage ?? {};
    if (originalId === undefined || fileId === originalId) return null;
    return this.#findAndMarkFile(fileId, jobId ?? 'unknown');
  }

  async #findAndMarkFile(fileId: string | undefined, jobId: string): Promise<FileRecord | null> {
    const file = fileId === undefined ? null : await this.parts.records.findFile(fileId);
    if (file === null) return null;
    await this.parts.conversionMarks.setMarkOfFile(file, jobId);
    announceStep('creation:product-marked');
    return file;
  }

  async #removeFile(file: FileRecord | null): Promise<void> {
    if (file !== null) await this.parts.files.remove(file.doc);
  }

  /**
   * Completes the work of killed processes: removes leftovers of jobs that have ended or were removed, and stops items from
   * waiting for such jobs.
   *
   * @returns the numbers of removed files, of removed items, and of items that no longer wait.
   */
  async sweep(signal: AbortSignal): Promise<Record<string, number>> {
    const { records, jobs, conversionItems } = this.parts;
    const removedCounts = await conversionItems.sweep(signal);
    let abandonedItems = 0;
    for await (const item of records.markers.iterateUnfinished()) {
      signal.throwIfAborted();
      const { jobId } = item.largeImage ?? {};
      const job = jobId === undefined ? null : await jobs.find(jobId);
      if (job !== null && isPending(job.status)) continue;
      if (await this.abandon(item)) abandonedItems += 1;
    }
    return { ...removedCounts, abandonedItems };
  }
}

const failedConversionReason = 'Its conversion has failed; the log of the job says why.';

/** The marker of an item with ids as texts, as a job stores it. */
function markerWithTextIds(item: ItemRecord): Record<string, string> {
  const { fileId, sourceName, originalId, jobId } = item.largeImage ?? {};
  return Object.fromEntries(
    Object.entries({ fileId, sourceName, originalId, jobId }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, idText(value)]],
    ),
  );
}
