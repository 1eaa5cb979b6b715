import { stat } from 'node:fs/promises';
import type { HiddenItems } from '../../core/host/hidden-items.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import { idText } from '../../core/database/id-text.js';
import type { Sweep } from '../../core/database/sweeper.js';
import type { HostFiles, StoredDocument } from '../../host.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { isCurrentFile, type CachedFileModel } from './cached-file.model.js';

/** Options of {@link cachedFilesSweep}. */
interface CachedFilesSweepOptions {
  model: CachedFileModel;
  records: HostRecords;
  hidden: HiddenItems;
  files: HostFiles;
}

/** Number of files that are checked and removed at the same time. */
const concurrency = 8;

/**
 * Removes cached files that will never be shown again: files of removed items, of previous images and of older versions of the
 * rendering, duplicates of the same key, and files that are missing from the disk or have the wrong size.
 */
export function cachedFilesSweep({ model, records, hidden, files }: CachedFilesSweepOptions): Sweep {
  return async ({ full, signal }) => {
    let removedCount = 0;
    for (const kind of full ? (['thumbnail', 'data'] as const) : []) {
      for await (const docs of model.iterateBatchesByItem(kind)) {
        signal.throwIfAborted();
        const itemId = idText(docs[0]!.attachedToId);
        const item = await records.findItem(itemId);
        if (item === null && (await hidden.isHidden(itemId))) continue;
        const uselessDocs = item === null ? docs : await findUselessDocs(item, docs, { records, files });
        await mapConcurrently(uselessDocs, concurrency, (doc) => files.remove(doc));
        removedCount += uselessDocs.length;
      }
    }
    return { cachedFiles: removedCount };
  };
}

/** Finds the files that can be removed. Of usable files with the same key, the first is kept. @param docs sorted newest first. */
async function findUselessDocs(
  item: ItemRecord,
  docs: readonly StoredDocument[],
  { records, files }: Pick<CachedFilesSweepOptions, 'records' | 'files'>,
): Promise<StoredDocument[]> {
  const imageState = await records.readImageState(item);
  const isUsable = async (doc: StoredDocument) =>
    isCurrentFile(doc, imageState) && !(await isMissingOrTruncated(doc, { records, files }));
  const areUsable = await mapConcurrently(docs, concurrency, isUsable);
  const keptKeys = new Set<unknown>();
  return docs.filter((doc, index) => {
    if (!areUsable[index] || keptKeys.has(doc.thumbnailKey)) return true;
    keptKeys.add(doc.thumbnailKey);
    return false;
  });
}

/** Whether a file that should be on this machine is missing or has the wrong size. */
async function isMissingOrTruncated(
  doc: StoredDocument,
  { records, files }: Pick<CachedFilesSweepOptions, 'records' | 'files'>,
): Promise<boolean> {
  const path = await files.localPath(doc);
  if (path === null) return false;
  const size = await stat(path).then(
    (stats) => stats.size,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? -1 : null),
  );
  // If the disk cannot be read, it is unknown whether the file exists.
  return size !== null && size !== records.fileOf(doc).size;
}
