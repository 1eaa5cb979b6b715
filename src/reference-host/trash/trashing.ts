import type { AggregateOptions, Types } from 'mongoose';
import { batches, iterateInSlices, groupInBatches, announceStep, withoutReadLimit } from '../../larger-host.js';
import { systemPrincipal } from '../access/access.js';
import type { HostContext } from '../context.js';
import { escapeName, createPath } from '../resources/resources.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { releaseNames } from '../tree/names/names.js';
import type { FolderOrItem } from '../tree/tree-documents.js';
import { withTrashed, type TrashedDocument } from './trash-mark.js';

/** Number of items that are announced together. */
const announcementSize = 500;

/**
 * Puts folders, with everything in them, and items into the trash. They disappear immediately, and their names are free again. If hiding the
 * contents of folders takes longer than clients wait, this continues in the background.
 */
export async function moveToTrash(
  context: HostContext,
  resources: readonly FolderOrItem[],
  by: Types.ObjectId | null,
): Promise<void> {
  // Folders come first, so that items in one of the named folders are hidden together with it.
  const orderedResources = resources.toSorted((one, other) => Number(one.type === 'item') - Number(other.type === 'item'));
  const named = orderedResources.map(({ type, doc }): TrashedDocument => ({ type, id: doc._id }));
  const at = new Date();
  await context.journal.undertakeWithoutUndo({ kind: 'trashing', named, at }, async () => {
    for (const { type, doc } of orderedResources) if (type === 'folder') await hideFolder(context, doc, { at, by });
    const items = orderedResources.flatMap(({ type, doc }) => (type === 'item' ? [doc] : []));
    await hideItems(context, items, { at, by });
    await finishTrashing(context, { named, at });
  });
}

interface TrashingFields {
  at: Date;
  by: Types.ObjectId | null;
}

/** The path of a folder; `null` if a folder above it is already in the trash, so that the folder is hidden with the folder above. */
async function findVisiblePath(context: HostContext, folder: FolderDocument | null): Promise<string | null> {
  const path = folder === null ? '' : await createPath(context, { type: 'folder', doc: folder }, systemPrincipal);
  return /^\/(collection|user)\//.test(path) ? path : null;
}

async function hideFolder(context: HostContext, folder: FolderDocument, { at, by }: TrashingFields): Promise<void> {
  const { _id } = folder;
  const path = await findVisiblePath(context, folder);
  if (path === null) return;
  // If another request has moved the folder to the trash first, this finds nothing.
  await context.models.folder.updateOne({ _id }, { $set: { trashed: { root: _id, entry: at, by, path } } });
  announceStep('trash:hidden');
}

async function hideItems(context: HostContext, items: readonly ItemDocument[], { at, by }: TrashingFields): Promise<void> {
  const { models } = context;
  const folderPaths = new Map<string, string | null>();
  for (const batch of batches(items)) {
    const updates = [];
    for (const { _id, folderId, name } of batch) {
      const key = folderId.toHexString();
      if (!folderPaths.has(key))
        folderPaths.set(key, await findVisiblePath(context, await models.folder.findById(folderId).lean<FolderDocument>()));
      const folderPath = folderPaths.get(key);
      if (typeof folderPath !== 'string') continue;
      const trashed = { root: _id, entry: at, by, path: `${folderPath}/${escapeName(name)}` };
      updates.push({ updateOne: { filter: { _id, trashed: null }, update: { $set: { trashed } } } });
    }
    if (updates.length > 0) await models.item.collection.bulkWrite(updates as never, { ordered: false });
    announceStep('trash:hidden');
  }
}

/**
 * Hides the contents of folders that were marked as trashed at time `at`, and counts and announces everything that is hidden. Documents
 * that have been counted are skipped, so this can be repeated.
 */
export async function finishTrashing(
  context: HostContext,
  { named, at }: { named: readonly TrashedDocument[]; at: Date },
): Promise<void> {
  const idsOf = (requestedType: TrashedDocument['type']) => named.flatMap(({ type, id }) => (type === requestedType ? [id] : []));
  const { models, events } = context;
  for (const id of idsOf('folder')) {
    const uncountedFilter = { _id: id, 'trashed.entry': at, 'trashed.size': null };
    if ((await models.folder.exists(uncountedFilter).setOptions(withTrashed)) === null) continue;
    await releaseNames(context, [id]);
    await hideContents(context, id);
    await events.emit('access.changed', {});
    await announceItems(context, 'item.hidden', { 'trashed.root': id });
    const { folders, items, size } = await countTrashed(context, id);
    const countFields = { 'trashed.folders': folders, 'trashed.items': items, 'trashed.size': size };
    await models.folder.updateOne(uncountedFilter, { $set: countFields }, withTrashed);
    announceStep('trash:counted');
  }
  for (const batch of batches(idsOf('item'))) {
    const uncountedFilter = { _id: { $in: [...batch] }, 'trashed.entry': at, 'trashed.size': null };
    const items = await models.item.find(uncountedFilter, { size: 1 }, withTrashed).lean();
    if (items.length === 0) continue;
    const ids = items.map(({ _id }) => _id);
    await releaseNames(context, ids);
    await announceItems(context, 'item.hidden', { 'trashed.root': { $in: ids } });
    const counts = items.map(({ _id, size }) => {
      const countFields = { 'trashed.folders': 0, 'trashed.items': 1, 'trashed.size': size };
      return { updateOne: { filter: { _id, 'trashed.entry': at }, update: { $set: countFields } } };
    });
    await models.item.collection.bulkWrite(counts as never, { ordered: false });
    announceStep('trash:counted');
  }
}

/** Marks everything below a folder as trashed with it, except what is in the trash already. */
async function hideContents({ models }: HostContext, rootId: Types.ObjectId): Promise<void> {
  const $set = { trashed: { root: rootId } };
  for (let parentIds = [rootId]; parentIds.length > 0;) {
    const childIds: Types.ObjectId[] = [];
    for (const batch of batches(parentIds)) {
      const batchCondition = { $in: [...batch] };
      const childFilter = { parentId: batchCondition, $or: [{ trashed: null }, { 'trashed.root': rootId }] };
      const folders = models.folder.find(childFilter, { _id: 1 }, { ...withTrashed, ...withoutReadLimit }).lean();
      for await (const { _id } of iterateInSlices<FolderDocument>(folders)) childIds.push(_id);
      // Folders are hidden first, so that a request that creates an item in one of them finds that the folder no longer exists.
      await models.folder.updateMany({ parentId: batchCondition }, { $set });
      await models.item.updateMany({ folderId: batchCondition }, { $set });
      announceStep('trash:below');
    }
    parentIds = childIds;
  }
}

/**
 * Counts what was put into the trash with a folder or item: items, and folders below it. Adds up the sizes of the items in bytes.
 */
export async function countTrashed(context: HostContext, rootId: Types.ObjectId) {
  const contentsFilter = { 'trashed.root': rootId };
  const options = { ...withTrashed, ...withoutReadLimit };
  const [folders, sum] = await Promise.all([
    context.models.folder.countDocuments({ ...contentsFilter, _id: { $ne: rootId } }, options),
    countItems(context, contentsFilter, options),
  ]);
  return { folders, ...sum };
}

/** Counts the items that match a filter, and adds up their sizes in bytes. */
export async function countItems({ models }: Pick<HostContext, 'models'>, filter: object, options: AggregateOptions) {
  const [sum] = await models.item.aggregate<{ items: number; size: number }>(
    [{ $match: filter }, { $group: { _id: null, items: { $sum: 1 }, size: { $sum: '$size' } } }],
    options,
  );
  return { items: sum?.items ?? 0, size: sum?.size ?? 0 };
}

/** Tells the plugin about items, in batches. @throws the error of a listener, after which the call must be repeated. */
export async function announceItems(
  { models, events }: HostContext,
  name: 'item.hidden' | 'item.shown',
  filter: Record<string, unknown>,
): Promise<void> {
  const query = models.item.find(filter, { meta: 0, words: 0 }, { ...withTrashed, ...withoutReadLimit }).lean();
  for await (const items of groupInBatches(iterateInSlices<ItemDocument>(query), announcementSize)) {
    await events.deliver(name, { items: items.map((item) => ({ ...item })) });
    announceStep('trash:announced');
  }
}
