import pLimit from 'p-limit';
import { batches, announceStep } from '../../larger-host.js';
import { removeUser } from '../accounts/users/users.js';
import type { HostContext } from '../context.js';
import { removeCollection } from '../tree/collections.js';
import { removeFolder } from '../tree/folder-trees.js';
import { removeItems } from '../tree/item-removals.js';
import type { DocumentReference } from '../upkeep/undertaking.model.js';
import { loadExistingResources } from './named-resources.js';
import type { Resource } from './resources.js';

/** Maximum number of documents that are removed at the same time. */
const maxConcurrentRemovals = 8;

/**
 * Removes several documents. Their ids are recorded first, so that an interrupted removal can be finished. If the removal takes longer than
 * clients wait, it continues after the promise has resolved.
 */
export function removeResources(context: HostContext, resources: readonly Resource[]): Promise<void> {
  const named = resources.map(({ type, doc }) => ({ type, id: doc._id }));
  return context.journal.undertakeWithoutUndo({ kind: 'removals', named }, async () => {
    announceStep('removals:noted');
    await removeEach(context, resources);
  });
}

/** Removes the documents that still exist. Can be repeated. */
export async function finishRemovals(context: HostContext, references: readonly DocumentReference[]): Promise<void> {
  for (const batch of batches(references)) await removeEach(context, await loadExistingResources(context, batch));
}

/** Removes documents, several at the same time. @throws the first error, after all other documents have been removed. */
async function removeEach(context: HostContext, resources: readonly Resource[]): Promise<void> {
  const limitRemovals = pLimit(maxConcurrentRemovals);
  const items = resources.flatMap(({ type, doc }) => (type === 'item' ? [doc] : []));
  const others = resources.filter(({ type }) => type !== 'item');
  const results = await Promise.allSettled([
    removeItems(context, items),
    ...others.map((resource) => limitRemovals(() => removeFolderOrRoot(context, resource))),
  ]);
  const failure = results.find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}

/** Removes a folder, collection or user with everything in it. */
async function removeFolderOrRoot(context: HostContext, { type, doc }: Resource): Promise<void> {
  if (type === 'folder') await removeFolder(context, doc);
  else if (type === 'collection') await removeCollection(context, doc);
  else if (type === 'user') await removeUser(context, doc);
}
