import type { Host, HostFiles } from '../../host.js';
import { conversionField } from '../../core/host/schema-extension.js';
import type { ConversionMarks } from './conversion-marks.model.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import { hasEnded } from '../../core/database/leases/process-name.js';
import { announceStep } from '../../core/steps.js';
import type { JobRecord } from '../jobs/job-record.js';
import { isFinished } from '../jobs/job-status.js';
import type { JobStore } from '../jobs/jobs.js';

interface ConversionItemParts {
  records: HostRecords;
  conversionMarks: ConversionMarks;
  files: HostFiles;
  host: Pick<Host, 'createItem' | 'removeItem'>;
  jobs: JobStore;
}

/** A process that has not cleaned up this many milliseconds after the end of its job counts as killed. */
const deadAfterMs = 24 * 60 * 60 * 1000;

/** Makes items for the results of conversions, and cleans up after conversions that were killed. */
export class ConversionItems {
  constructor(private readonly parts: ConversionItemParts) {}

  /** Makes an item for a converted copy. The item counts as unfinished until its job has succeeded. */
  async create(item: { name: string; folder: FolderRecord; creatorId: string | null; jobId: string }): Promise<ItemRecord> {
    const { records, host } = this.parts;
    const { name, folder, creatorId, jobId } = item;
    const fields = { [conversionField]: jobId };
    const newItem =
      host.createItem === undefined
        ? await records.insertItem({ name, folder, fields })
        : records.itemOf(await host.createItem({ name, folderId: folder.id, creatorId, fields }));
    if (newItem.doc[conversionField] !== jobId) await this.parts.conversionMarks.setMarkOfItem(newItem, jobId);
    announceStep('conversion:item-made');
    return newItem;
  }

  /** Removes the marks from everything that a job has stored. From then on, these items and files no longer count as unfinished. */
  async completeResults(jobId: string): Promise<void> {
    const { conversionMarks } = this.parts;
    // Files come first, because the file of a copy is found by the mark of its item.
    for (const file of await conversionMarks.findFiles(jobId)) await conversionMarks.setMarkOfFile(file, null);
    announceStep('conversion:file-completed');
    for (const item of await conversionMarks.findItems(jobId)) await conversionMarks.setMarkOfItem(item, null);
  }

  /** Removes an item that {@link ConversionItems.create} has made. */
  async remove(item: ItemRecord): Promise<void> {
    const { records, host } = this.parts;
    await (host.removeItem === undefined ? records.deleteItem(item) : host.removeItem(item.doc));
  }

  /**
   * Removes leftovers of a job: files from which no item is served, and items without a file. It must not be called while a
   * process works on the job.
   *
   * @returns `copy`, the file of a complete new item that an earlier attempt of the job has stored, or `null`; and the numbers of removed
   * items and files.
   */
  async removeLeftovers(jobId: string): Promise<{ copy: FileRecord | null; removedItems: number; removedFiles: number }> {
    const { records, files } = this.parts;
    const copyFileById = new Map<string, FileRecord>();
    let removedItems = 0;
    let removedFiles = 0;
    for (const item of await this.parts.conversionMarks.findItems(jobId)) {
      // A file gets its record only when it is complete.
      const [file] = await records.findFilesOfItem(item);
      if (file !== undefined) {
        copyFileById.set(file.id, file);
        continue;
      }
      await this.remove(item);
      removedItems += 1;
    }
    for (const file of await this.parts.conversionMarks.findFiles(jobId)) {
      if (copyFileById.has(file.id)) continue;
      if ((await records.markers.findItemsServedFrom([file])).length > 0) {
        await this.parts.conversionMarks.setMarkOfFile(file, null);
        continue;
      }
      await files.remove(file.doc);
      removedFiles += 1;
    }
    return { copy: [...copyFileById.values()][0] ?? null, removedItems, removedFiles };
  }

  /**
   * Cleans up after jobs that have ended or were removed, if their process was killed before it could clean up.
   *
   * @returns the numbers of removed items and files.
   */
  async sweep(signal: AbortSignal): Promise<{ convertedItems: number; convertedFiles: number }> {
    const { jobs } = this.parts;
    const removedCounts = { convertedItems: 0, convertedFiles: 0 };
    for (const jobId of await this.parts.conversionMarks.findJobIds()) {
      signal.throwIfAborted();
      const job = await jobs.find(jobId);
      if (job !== null && !hasStopped(job)) continue;
      const { removedItems, removedFiles } = await this.removeLeftovers(jobId);
      await this.completeResults(jobId);
      removedCounts.convertedItems += removedItems;
      removedCounts.convertedFiles += removedFiles;
    }
    return removedCounts;
  }
}

/** Whether a job has ended and no process works on it. A process that is still stopping cleans up itself, unless it was killed. */
function hasStopped({ status, run, updated }: JobRecord): boolean {
  if (!isFinished(status)) return false;
  const workingProcess = run?.owner ?? null;
  return workingProcess === null || hasEnded(workingProcess) || updated.getTime() < Date.now() - deadAfterMs;
}
