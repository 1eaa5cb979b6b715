import type { Types } from 'mongoose';
import { batches, iterateInSlices, groupInBatches } from '../../larger-host.js';
import { levelOn, requireLevel, type Principal } from '../access/access.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { treeModel, type FolderOrItem } from '../tree/tree-documents.js';
import { notInTrashError, withTrashed } from './trash-mark.js';

/** Number of documents whose rights are checked together. */
const checkedBatchSize = 200;

/** Folders by id, in the trash or not. */
async function loadFoldersById({ models }: HostContext, ids: readonly Types.ObjectId[]): Promise<Map<string, FolderDocument>> {
  const folders = new Map<string, FolderDocument>();
  for (const batch of batches(ids)) {
    const query = models.folder.find({ _id: { $in: [...batch] } }, { meta: 0 }, withTrashed).lean();
    for await (const folder of iterateInSlices<FolderDocument>(query)) folders.set(folder._id.toHexString(), folder);
  }
  return folders;
}

/**
 * Whether the caller may restore a document from the trash, or remove it there. This needs the same rights as removing a document that is not
 * in the trash. An item whose folder no longer exists belongs to the user who put it into the trash.
 */
function mayManage({ type, doc }: FolderOrItem, folder: FolderDocument | undefined, principal: Principal): boolean {
  if (type === 'folder') return levelOn(doc, principal) >= 2;
  if (folder !== undefined) return levelOn(folder, principal) >= 1;
  return principal.admin || (principal.id !== null && doc.trashed?.by?.equals(principal.id) === true);
}

/** The folders and items in the trash that the caller may restore, newest first. Includes folders that are being removed. */
export async function* listTrash(context: HostContext, principal: Principal): AsyncGenerator<FolderOrItem> {
  const entries: { trashedAtMs: number; type: 'folder' | 'item'; id: Types.ObjectId }[] = [];
  for (const type of ['folder', 'item'] as const) {
    const trashedFilter = { 'trashed.entry': { $ne: null }, ...(type === 'item' && { 'trashed.removing': null }) };
    const query = treeModel(context, type).find(trashedFilter, { 'trashed.entry': 1 }, withTrashed).lean();
    for await (const { _id, trashed } of iterateInSlices<Pick<FolderDocument, '_id' | 'trashed'>>(query)) {
      entries.push({ trashedAtMs: trashed!.entry!.getTime(), type, id: _id });
    }
  }
  entries.sort((one, other) => other.trashedAtMs - one.trashedAtMs);
  for (const batch of batches(entries, checkedBatchSize)) {
    const references = batch.map(({ type, id }): [FolderOrItem['type'], string] => [type, id.toHexString()]);
    for (const document of await loadTrashedDocuments(context, references)) {
      if (document !== null && mayManage(document.resource, document.folder, principal)) yield document.resource;
    }
  }
}

/** Documents in the trash, items with their folders; `null` for documents that are not in the trash. */
async function loadTrashedDocuments(context: HostContext, references: readonly [string, string][]) {
  const idsOf = (requestedType: string) => references.flatMap(([type, id]) => (type === requestedType ? [id] : []));
  const readByType = async <D extends FolderDocument | ItemDocument>(type: FolderOrItem['type']) => {
    const documents = new Map<string, D>();
    const model = treeModel(context, type);
    for (const batch of batches(idsOf(type))) {
      const query = model.find({ _id: { $in: [...batch] }, 'trashed.entry': { $ne: null } }, { words: 0 }, withTrashed).lean();
      for await (const doc of iterateInSlices<D>(query)) documents.set(doc._id.toHexString(), doc);
    }
    return documents;
  };
  const folders = await readByType<FolderDocument>('folder');
  const items = await readByType<ItemDocument>('item');
  const parents = await loadFoldersById(
    context,
    [...items.values()].map(({ folderId }) => folderId),
  );
  return references.map(([type, id]) => {
    const doc = type === 'folder' ? folders.get(id) : items.get(id);
    if (doc === undefined) return null;
    const folder = 'folderId' in doc ? parents.get(doc.folderId.toHexString()) : undefined;
    return { resource: { type, doc } as FolderOrItem, folder };
  });
}

/**
 * Loads documents in the trash that the caller may restore.
 *
 * @throws LargeImageError `unknown-id` for a document that is not in the trash; AccessDeniedError for a document that the caller may not restore
 */
export async function loadRestorable(
  context: HostContext,
  references: readonly [string, string][],
  principal: Principal,
): Promise<FolderOrItem[]> {
  const documents = await loadTrashedDocuments(context, references);
  return documents.map((each, index) => {
    const [type, id] = references[index]!;
    if (each === null) throw notInTrashError(type, id);
    const { resource, folder } = each;
    if (mayManage(resource, folder, principal)) return resource;
    if (resource.type === 'folder') requireLevel('folder', resource.doc, principal, 2);
    if (folder !== undefined) requireLevel('folder', folder, principal, 1);
    throw notInTrashError(type, id);
  });
}

/** A page of the caller's trash, and the total number of entries. */
export async function readTrashPage(
  context: HostContext,
  principal: Principal,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ entries: FolderOrItem[]; total: number }> {
  const entries: FolderOrItem[] = [];
  let total = 0;
  for await (const batch of groupInBatches(listTrash(context, principal), checkedBatchSize)) {
    for (const each of batch) {
      if (total >= offset && (limit === 0 || entries.length < limit)) entries.push(each);
      total += 1;
    }
  }
  return { entries, total };
}
