import type { AggregateOptions, Types } from 'mongoose';
import { batches, eachInSlices, inParts, step, withoutReadLimit } from '../../larger-host.js';
import { system } from '../access/access.js';
import type { HostContext } from '../context.js';
import { pathOf } from '../resources/resources.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { releaseNames } from '../tree/names/names.js';
import { treeModel, type FolderOrItem } from '../tree/tree-documents.js';
import { withTrashed, type TrashedDocument } from './trash-mark.js';

/** Number of items that are announced together. */
const announcedTogether = 500;

/**
 * Puts folders, with everything in them, and items into the trash. They disappear at once and free their names. If hiding what is in
 * them takes longer than clients wait, it continues after this returns.
 */
export async function trash(context: HostContext, resources: readonly FolderOrItem[], by: Types.ObjectId | null): Promise<void> {
  // Folders come first, so that items in a folder that is named too go with it.
  const ordered = resources.toSorted((one, other) => Number(one.type === 'item') - Number(other.type === 'item'));
  const named = ordered.map(({ type, doc }): TrashedDocument => ({ type, id: doc._id }));
  const at = new Date();
  await context.journal.finish({ kind: 'trashing', named, at }, async () => {
    for (const resource of ordered) await hide(context, resource, { at, by });
    await finishTrashing(context, { named, at });
  });
}

async function hide(context: HostContext, resource: FolderOrItem, { at, by }: { at: Date; by: Types.ObjectId | null }) {
  const { _id } = resource.doc;
  const path = await pathOf(context, resource, system);
  // It goes with a folder above it that has just been put into the trash, so that its path no longer begins at a root.
  if (!/^\/(collection|user)\//.test(path)) return;
  const $set = { trashed: { root: _id, entry: at, by, path } };
  // If somebody else was faster, this finds nothing.
  await treeModel(context, resource.type).updateOne({ _id }, { $set });
  step('trash:hidden');
}

/** Does the steps after documents were marked at some time. Can be repeated. */
export async function finishTrashing(
  context: HostContext,
  { named, at }: { named: readonly TrashedDocument[]; at: Date },
): Promise<void> {
  for (const { type, id } of named) {
    const model = treeModel(context, type);
    const marked = { _id: id, 'trashed.entry': at, 'trashed.size': null };
    if ((await model.exists(marked).setOptions(withTrashed)) === null) continue;
    await releaseNames(context, [id]);
    if (type === 'folder') {
      await hideContents(context, id);
      await context.events.emit('access.changed', {});
    }
    await announceItems(context, 'item.hidden', { 'trashed.root': id });
    const { folders, items, size } = await countOf(context, id);
    const counted = { 'trashed.folders': folders, 'trashed.items': items, 'trashed.size': size };
    await model.updateOne(marked, { $set: counted }, withTrashed);
    step('trash:counted');
  }
}

/** Marks everything below a folder, except what is in the trash already. */
async function hideContents({ models }: HostContext, root: Types.ObjectId): Promise<void> {
  const $set = { trashed: { root } };
  for (let level = [root]; level.length > 0;) {
    const below: Types.ObjectId[] = [];
    for (const some of batches(level)) {
      const parents = { $in: [...some] };
      const children = { parentId: parents, $or: [{ trashed: null }, { 'trashed.root': root }] };
      const folders = models.folder.find(children, { _id: 1 }, { ...withTrashed, ...withoutReadLimit }).lean();
      for await (const { _id } of eachInSlices<FolderDocument>(folders)) below.push(_id);
      // Folders come first, so that items which are created meanwhile find that their folder no longer exists.
      await models.folder.updateMany({ parentId: parents }, { $set });
      await models.item.updateMany({ folderId: parents }, { $set });
      step('trash:below');
    }
    level = below;
  }
}

/** Number and size of the items that were put into the trash with a folder or item, and number of the folders below it. */
export async function countOf(context: HostContext, root: Types.ObjectId) {
  const inIt = { 'trashed.root': root };
  const options = { ...withTrashed, ...withoutReadLimit };
  const [folders, sum] = await Promise.all([
    context.models.folder.countDocuments({ ...inIt, _id: { $ne: root } }, options),
    sumOfItems(context, inIt, options),
  ]);
  return { folders, ...sum };
}

/** Number and total size of items. */
export async function sumOfItems({ models }: Pick<HostContext, 'models'>, filter: object, options: AggregateOptions) {
  const [sum] = await models.item.aggregate<{ items: number; size: number }>(
    [{ $match: filter }, { $group: { _id: null, items: { $sum: 1 }, size: { $sum: '$size' } } }],
    options,
  );
  return { items: sum?.items ?? 0, size: sum?.size ?? 0 };
}

/** Tells the plugin about items, some at a time. @throws the error of a listener, after which it must be repeated. */
export async function announceItems(
  { models, events }: HostContext,
  name: 'item.hidden' | 'item.shown',
  filter: Record<string, unknown>,
): Promise<void> {
  const query = models.item.find(filter, { meta: 0, words: 0 }, { ...withTrashed, ...withoutReadLimit }).lean();
  for await (const items of inParts(eachInSlices<ItemDocument>(query), announcedTogether)) {
    await events.deliver(name, { items: items.map((item) => ({ ...item })) });
    step('trash:announced');
  }
}
