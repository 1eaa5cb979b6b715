import { LargeImageError } from '../../errors.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import { isDatabaseOutage } from '../../core/database/outage.js';
import { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { HostLogger } from '../../host.js';
import type { CachedFileName, CachedFiles } from './cached-files.js';
import type { Images } from '../images/images.js';
import { obtainPicture, pictureName, type CachedFileSpec } from './cached-pictures.js';

/** Counts of the files that a run has handled so far. */
export interface ThumbnailCounts {
  /** Number of files that already existed. */
  checked: number;
  created: number;
  failed: number;
  /** The item of the latest failure. */
  lastFailedItemId: string | null;
  /** Number of items times number of specifications; `null` while it is unknown. */
  total: number | null;
}

interface ThumbnailRunOptions {
  /** Number of files that are made at the same time. */
  concurrency: number;
  signal: AbortSignal;
  /** Called with the current counts after each file. */
  onFile: () => void;
}

/** Number of items whose existing files are found by one query. */
const pageSize = 100;
/** Number of items in progress, in addition to four for each picture that may be made at the same time. */
const extraItems = 16;

/** The services that making thumbnails needs. */
export interface ThumbnailServices {
  records: HostRecords;
  images: Images;
  cachedFiles: CachedFiles;
  logger: HostLogger;
}

/**
 * Makes the missing pictures for every large image, by ascending item id, and keeps `counts` up to date. Stops early, without an
 * error, if the signal is aborted.
 *
 * @throws the database's error if the database cannot be reached. A second run then finds the files that the first one has made.
 */
export async function createThumbnailFiles(
  services: ThumbnailServices,
  specs: readonly CachedFileSpec[],
  counts: ThumbnailCounts,
  { concurrency, signal, onFile }: ThumbnailRunOptions,
): Promise<void> {
  counts.total = (await services.records.markers.count()) * specs.length;
  if (specs.length === 0) return;
  const names = specs.map(pictureName);
  const renderingQueue = new WorkQueue({ name: 'thumbnails', running: concurrency });
  const itemTasks = new Set<Promise<void>>();
  // While pictures of some items are being made, queries and writes for other items run. They are grouped over several items.
  const maxItemsInProgress = 4 * concurrency + extraItems;
  let outage: { error: unknown } | null = null;
  const mustStop = () => signal.aborted || outage !== null;

  const makePictures = async (item: ItemRecord, existingFiles: ReadonlySet<string>) => {
    for (const [position, spec] of specs.entries()) {
      if (mustStop()) return;
      const name = names[position]!;
      try {
        const exists = existingFiles.has(`${item.id}\n${name.key}`);
        const wasCreated = !exists && (await makeThumbnail(services, renderingQueue, item, { spec, name, signal }));
        if (wasCreated) counts.created += 1;
        else counts.checked += 1;
      } catch (error) {
        // A picture that was canceled does not count as a failure.
        if (mustStop()) return;
        // Without the database every file would be counted as failed.
        if (isDatabaseOutage(error)) {
          outage = { error };
          return;
        }
        counts.failed += 1;
        counts.lastFailedItemId = item.id;
        logFailure(services, item, name, error);
      }
      onFile();
    }
  };

  for await (const { item, existingFiles } of iterateItemsWithExistingFiles(services, names)) {
    while (itemTasks.size >= maxItemsInProgress && !mustStop()) await Promise.race(itemTasks);
    if (mustStop()) break;
    const task = makePictures(item, existingFiles).finally(() => itemTasks.delete(task));
    itemTasks.add(task);
  }
  await Promise.all(itemTasks);
  if (outage !== null) throw (outage as { error: unknown }).error;
}

/** Makes a picture and stores it. @returns false if the file was made elsewhere in the meantime. */
async function makeThumbnail(
  { cachedFiles, images }: ThumbnailServices,
  renderingQueue: WorkQueue,
  item: ItemRecord,
  { spec, name, signal }: { spec: CachedFileSpec; name: CachedFileName; signal: AbortSignal },
): Promise<boolean> {
  const { created } = await obtainPicture({ cachedFiles, images }, item, spec, {
    name,
    isAbsent: true,
    storeMissing: true,
    mustStore: true,
    signal,
    enqueueRendering: (work, sharedSignal) => renderingQueue.run(work, { signal: sharedSignal }),
  });
  return created;
}

function logFailure({ logger }: ThumbnailServices, item: ItemRecord, name: CachedFileName, error: unknown): void {
  const fields = { itemId: item.id, key: name.key };
  if (error instanceof LargeImageError) logger.info({ ...fields, reason: error.message }, 'Thumbnail:Refused');
  else logger.error({ ...fields, err: error }, 'Thumbnail:Failed');
}

async function* iterateItemsWithExistingFiles(
  { records, cachedFiles }: ThumbnailServices,
  names: readonly CachedFileName[],
): AsyncGenerator<{ item: ItemRecord; existingFiles: ReadonlySet<string> }> {
  const keys = names.map(({ key }) => key);
  let after: ItemRecord | null = null;
  for (;;) {
    const page: ItemRecord[] = await records.markers.findPage({ after, limit: pageSize });
    const lastItem = page.at(-1);
    if (lastItem === undefined) return;
    const existingFiles = await cachedFiles.findExisting(page, 'thumbnail', keys);
    for (const item of page) yield { item, existingFiles };
    after = lastItem;
  }
}
