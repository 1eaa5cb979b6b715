import type { Types } from 'mongoose';
import { batches, iterateInSlices } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { CollectionDocument } from '../tree/collection.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { Principal } from './access.js';

/** Identifies a document that was shared with a user. */
export interface SharedEntry {
  type: 'collection' | 'folder';
  id: Types.ObjectId;
}

type FolderWithParent = Pick<FolderDocument, '_id' | 'parentId'>;

/**
 * The collections and folders that others have shared with a user: their lists of permissions have an entry for the user, or for a group
 * of the user. A folder is left out if its parent is listed. A document that the user can see only because it is public is not listed.
 */
export async function listSharedWith({ models }: HostContext, { id, groups }: Principal): Promise<SharedEntry[]> {
  if (id === null) return [];
  const filter = { $or: [{ 'access.users.id': id }, { 'access.groups.id': { $in: groups } }], creatorId: { $ne: id } };
  const order = { naturalName: 1, _id: 1 } as const;
  const collections = await models.collection.find(filter, { _id: 1 }).sort(order).lean();
  const foldersOfOthersFilter = { ...filter, baseParentId: { $ne: id } };
  const folders: FolderWithParent[] = [];
  for await (const folder of iterateInSlices<FolderWithParent>(
    models.folder.find(foldersOfOthersFilter, { parentId: 1 }).sort(order).lean(),
  ))
    folders.push(folder);
  const listedIds = new Set([...collections, ...folders].map(({ _id }) => _id.toHexString()));
  return [
    ...collections.map(({ _id }) => ({ type: 'collection' as const, id: _id })),
    ...folders
      .filter(({ parentId }) => !listedIds.has(parentId.toHexString()))
      .map(({ _id }) => ({ type: 'folder' as const, id: _id })),
  ];
}

/** Loads the documents of entries, in the same order. Removed documents are left out. */
export async function loadSharedDocuments({ models }: HostContext, entries: readonly SharedEntry[]) {
  const idsOf = (entryType: SharedEntry['type']) => entries.flatMap(({ type, id }) => (type === entryType ? [id] : []));
  const documentsById = new Map<
    string,
    { type: 'collection'; doc: CollectionDocument } | { type: 'folder'; doc: FolderDocument }
  >();
  for (const batch of batches(idsOf('collection'))) {
    const query = models.collection.find({ _id: { $in: [...batch] } }).lean();
    for await (const doc of iterateInSlices<CollectionDocument>(query))
      documentsById.set(doc._id.toHexString(), { type: 'collection', doc });
  }
  for (const batch of batches(idsOf('folder'))) {
    const query = models.folder.find({ _id: { $in: [...batch] } }).lean();
    for await (const doc of iterateInSlices<FolderDocument>(query))
      documentsById.set(doc._id.toHexString(), { type: 'folder', doc });
  }
  return entries.flatMap(({ id }) => documentsById.get(id.toHexString()) ?? []);
}
