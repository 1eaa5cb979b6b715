import { setTimeout as delay } from 'node:timers/promises';
import type { Model, Types } from 'mongoose';
import type { HostContext } from '../context.js';
import { withTrashed } from '../trash/trash-mark.js';
import type { ItemPosition } from './item.model.js';
import { rootModel } from './sizes.js';

/**
 * Time in milliseconds after which a wrong size is corrected. Requests update sizes just after they have recorded the file, so a shorter
 * difference may be due to a request that is still running.
 */
const settleMs = 500;

interface Sized {
  _id: Types.ObjectId;
  size: number;
}

/** Computes the sizes of several documents from their contents, by id. Documents without contents are missing. */
export type SumOf = (ids: readonly Types.ObjectId[]) => Promise<Map<string, number>>;

/** Bytes of the files of items. */
export function itemSums({ models }: HostContext): SumOf {
  return (ids) => sum(models.file, 'itemId', ids);
}

/** Total bytes of the items directly in each folder. */
export function folderSums({ models }: HostContext): SumOf {
  return (ids) => sum(models.item, 'folderId', ids);
}

/** Bytes of the items below collections and users. */
export function rootSums({ models }: HostContext): SumOf {
  return (ids) => sum(models.item, 'baseParentId', ids);
}

/** Time limit of a query for sums, in milliseconds. A collection may contain millions of items, and no client waits for the result. */
const sumTimeoutMs = 10 * 60 * 1000;

async function sum<D>(model: Model<D>, field: string, ids: readonly Types.ObjectId[]): Promise<Map<string, number>> {
  const groups = await model.aggregate<Sized>(
    [{ $match: { [field]: { $in: ids } } }, { $group: { _id: `$${field}`, size: { $sum: '$size' } } }],
    // Files in the trash still take space.
    { maxTimeMS: sumTimeoutMs, ...withTrashed },
  );
  return new Map(groups.map(({ _id, size }) => [_id.toHexString(), size]));
}

/**
 * Corrects sizes that are wrong because a process was killed between recording a file and updating the size.
 *
 * @returns the number of corrected sizes
 */
export async function recount(model: Model<never>, sumOf: SumOf, ids: readonly Types.ObjectId[]): Promise<number> {
  // Only fields that all documents with a size have are used here.
  const documents = model as unknown as Model<Sized>;
  const wrongSizes = async (among: readonly Types.ObjectId[]) => {
    const sizes = await documents.find({ _id: { $in: among } }, { size: 1 }, withTrashed).lean<Sized[]>();
    const counted = await sumOf(among);
    const compared = sizes.map(({ _id, size }) => ({ _id, size, counted: counted.get(_id.toHexString()) ?? 0 }));
    return compared.filter((each) => each.size !== each.counted);
  };
  const first = await wrongSizes(ids);
  if (first.length === 0) return 0;
  await delay(settleMs);
  let corrected = 0;
  for (const now of await wrongSizes(first.map(({ _id }) => _id))) {
    const before = first.find(({ _id }) => _id.equals(now._id))!;
    if (before.size !== now.size || before.counted !== now.counted) continue;
    const { modifiedCount } = await documents.updateOne(
      { _id: now._id, size: now.size },
      { $set: { size: now.counted } },
      withTrashed,
    );
    corrected += modifiedCount;
  }
  return corrected;
}

/** {@link recount} for an item, its folder and its root. */
export async function recountAround(context: HostContext, item: ItemPosition): Promise<void> {
  const { models } = context;
  await recount(models.item as never, itemSums(context), [item._id]);
  await recount(models.folder as never, folderSums(context), [item.folderId]);
  await recount(rootModel(context, item.baseParentType) as never, rootSums(context), [item.baseParentId]);
}
