import type { QueryFilter, Types } from 'mongoose';
import { batches, iterateInSlices, groupInBatches } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import { toSortOrder, type Page } from '../tree/lists.js';
import { treeModel } from '../tree/tree-documents.js';
import { withTrashed } from './trash-mark.js';

/** Number of files, and of documents in the trash, that are looked up together. */
const batchSize = 500;

/** The document that a file belongs to. */
function ownerOf({ itemId, attachedToType, attachedToId }: FileDocument) {
  return itemId === null ? { type: attachedToType, id: attachedToId } : { type: 'item', id: itemId };
}

/** Leaves out the files that belong to something in the trash. */
async function filterOutTrashed(context: HostContext, files: readonly FileDocument[]): Promise<FileDocument[]> {
  const trashedIds = new Set<string>();
  for (const type of ['folder', 'item'] as const) {
    const ids = files.flatMap((file) => (ownerOf(file).type === type ? (ownerOf(file).id ?? []) : []));
    for (const batch of batches(ids)) {
      const query = { _id: { $in: [...batch] }, trashed: { $ne: null } };
      for (const { _id } of await treeModel(context, type).find(query, { _id: 1 }, withTrashed).lean())
        trashedIds.add(String(_id));
    }
  }
  return files.filter((file) => !trashedIds.has(String(ownerOf(file).id)));
}

/** One page of the files that match a filter and do not belong to anything in the trash, and the number of all of them. */
export async function listShownFiles(
  context: HostContext,
  filter: QueryFilter<FileDocument>,
  page: Page,
): Promise<{ files: FileDocument[]; total: number }> {
  const matches = context.models.file.find(filter).sort(toSortOrder(page)).lean();
  const pageFiles: FileDocument[] = [];
  let earlierCount = 0;
  for await (const batch of groupInBatches(iterateInSlices<FileDocument>(matches), batchSize)) {
    const shownFiles = await filterOutTrashed(context, batch);
    const filesFromOffset = shownFiles.slice(Math.max(0, page.offset - earlierCount));
    earlierCount += shownFiles.length;
    pageFiles.push(...(page.limit === 0 ? filesFromOffset : filesFromOffset.slice(0, page.limit - pageFiles.length)));
    if (page.limit > 0 && pageFiles.length >= page.limit) break;
  }
  return { files: pageFiles, total: await countShownFiles(context, filter) };
}

async function countShownFiles(context: HostContext, filter: QueryFilter<FileDocument>): Promise<number> {
  const { file } = context.models;
  let count = await file.countDocuments(filter);
  for (const type of ['folder', 'item'] as const) {
    const trashedDocuments = treeModel(context, type)
      .find({ trashed: { $ne: null } }, { _id: 1 }, withTrashed)
      .lean();
    for await (const batch of groupInBatches(iterateInSlices<{ _id: Types.ObjectId }>(trashedDocuments), batchSize)) {
      const batchCondition = { $in: batch.map(({ _id }) => _id) };
      const ownedByTrashedFilter = {
        $or: [{ attachedToType: type, attachedToId: batchCondition }, ...(type === 'item' ? [{ itemId: batchCondition }] : [])],
      };
      count -= await file.countDocuments({ $and: [filter, ownedByTrashedFilter] } as QueryFilter<FileDocument>);
    }
  }
  return Math.max(0, count);
}
