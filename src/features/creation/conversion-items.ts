import type { Host, HostFiles, HostLogger } from '../../host.js';
import { conversionField } from '../../core/conversion-traces.js';
import type { FileRecord, FolderRecord, HostRecords, ItemRecord } from '../../core/host-records.js';
import { isFinished } from '../jobs/job-status.js';
import type { JobStore } from '../jobs/jobs.js';

interface ConversionItemParts {
  records: HostRecords;
  files: HostFiles;
  host: Pick<Host, 'createItem' | 'removeItem'>;
  jobs: JobStore;
  logger: HostLogger;
}

/** Items that conversions make for their results, and what is left of conversions that were killed. */
export class ConversionItems {
  constructor(private readonly parts: ConversionItemParts) {}

  /** Makes an item for a converted copy; it counts as unfinished until its job has succeeded. */
  async create(item: { name: string; folder: FolderRecord; creatorId: string | null; jobId: string }): Promise<ItemRecord> {
    const { records, host } = this.parts;
    const { name, folder, creatorId, jobId } = item;
    const fields = { [conversionField]: jobId };
    const made =
      host.createItem === undefined
        ? await records.insertItem({ name, folder, fields })
        : records.itemOf(await host.createItem({ name, folderId: folder.id, creatorId, fields }));
    if (made.doc[conversionField] !== jobId) await records.conversions.mark(made, jobId);
    return made;
  }

  /** Says that the items of a job are complete. */
  async complete(jobId: string): Promise<void> {
    const { conversions } = this.parts.records;
    for (const item of await conversions.items(jobId)) await conversions.mark(item, null);
  }

  /** Removes an item that {@link ConversionItems.create} has made. */
  async remove(item: ItemRecord): Promise<void> {
    const { records, host } = this.parts;
    await (host.removeItem === undefined ? records.deleteItem(item) : host.removeItem(item.doc));
  }

  /**
   * Removes what a job has stored that is of no use: files that nobody is served, items without a file.
   *
   * @returns the file of an item that is complete although its job has not said so; `null` where there is none.
   */
  async tidy(jobId: string): Promise<FileRecord | null> {
    const { records, files } = this.parts;
    const kept = new Map<string, FileRecord>();
    for (const item of await records.conversions.items(jobId)) {
      // A file is there when it is whole.
      const [file] = await records.filesOfItem(item);
      if (file === undefined) {
        await this.remove(item);
        continue;
      }
      kept.set(file.id, file);
    }
    for (const file of await records.conversions.files(jobId)) {
      if (kept.has(file.id) || (await records.markers.itemsServing(file)).length > 0) continue;
      // The file of a copy is all that its item has.
      if (file.itemId !== null && (await this.#isCopy(file))) continue;
      await files.remove(file.doc);
    }
    return [...kept.values()][0] ?? null;
  }

  async #isCopy(file: FileRecord): Promise<boolean> {
    const item = file.itemId === null ? null : await this.parts.records.findItem(file.itemId);
    return item !== null && (await this.parts.records.filesOfItem(item)).length === 1;
  }

  /** Tidies up after jobs that are over, or gone: somebody was killed after a job had been cancelled. Never rejects. */
  async sweep(): Promise<void> {
    const { records, jobs, logger } = this.parts;
    try {
      for (const jobId of await records.conversions.jobs()) {
        const job = await jobs.find(jobId);
        if (job !== null && (!isFinished(job.status) || job.run?.owner != null)) continue;
        await this.tidy(jobId);
        await this.complete(jobId);
      }
    } catch (err) {
      logger.warn({ err }, 'Conversion:SweepFailed');
    }
  }
}
