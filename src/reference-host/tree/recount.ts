import { setTimeout as delay } from 'node:timers/promises';
import type { Model, Types } from 'mongoose';
import type { HostContext } from '../context.js';
import { withTrashed } from '../trash/trash-mark.js';
import type { ItemPosition } from './item.model.js';
import { rootModel } from './sizes.js';

/**
 * A size is only corrected if it is still wrong after this time, in milliseconds. Requests update sizes just after they have recorded the
 * file, so a size may be wrong for a moment.
 */
const confirmDelayMs = 500;

/** A document with its size in bytes. */
interface DocumentWithSize {
  _id: Types.ObjectId;
  size: number;
}

/** Computes the sizes of documents from their contents, in bytes by id. Documents without contents are missing in the result. */
export type ComputeSizes = (ids: readonly Types.ObjectId[]) => Promise<Map<string, number>>;

/** Computes the sizes of items: the bytes of their files. */
export function itemSizes({ models }: HostContext): ComputeSizes {
  return (ids) => sumSizes(models.file, 'itemId', ids);
}

/** Computes the sizes of folders: the bytes of the items directly in them. */
export function folderSizes({ models }: HostContext): ComputeSizes {
  return (ids) => sumSizes(models.item, 'folderId', ids);
}

/** Computes the sizes of collections or users: the bytes of all items below them. */
export function rootSizes({ models }: HostContext): ComputeSizes {
  return (ids) => sumSizes(models.item, 'baseParentId', ids);
}

/** Time limit of a query for sums, in milliseconds. A collection may contain millions of items, and no client waits for the result. */
const sumTimeoutMs = 10 * 60 * 1000;

async function sumSizes<D>(model: Model<D>, field: string, ids: readonly Types.ObjectId[]): Promise<Map<string, number>> {
  const groups = await model.aggregate<DocumentWithSize>(
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
export async function correctSizes(
  model: Model<never>,
  computeSizes: ComputeSizes,
  ids: readonly Types.ObjectId[],
): Promise<number> {
  // Only fields that all documents with a size have are used here.
  const documents = model as unknown as Model<DocumentWithSize>;
  const findWrongSizes = async (someIds: readonly Types.ObjectId[]) => {
    const sizes = await documents.find({ _id: { $in: someIds } }, { size: 1 }, withTrashed).lean<DocumentWithSize[]>();
    const counted = await computeSizes(someIds);
    const compared = sizes.map(({ _id, size }) => ({ _id, size, counted: counted.get(_id.toHexString()) ?? 0 }));
    return compared.filter((each) => each.size !== each.counted);
  };
  const firstWrong = await findWrongSizes(ids);
  if (firstWrong.length === 0) return 0;
  await delay(confirmDelayMs);
  let correctedCount = 0;
  for (const now of await findWrongSizes(firstWrong.map(({ _id }) => _id))) {
    const before = firstWrong.find(({ _id }) => _id.equals(now._id))!;
    if (before.size !== now.size || before.counted !== now.counted) continue;
    const { modifiedCount } = await documents.updateOne(
      { _id: now._id, size: now.size },
      { $set: { size: now.counted } },
      withTrashed,
    );
    correctedCount += modifiedCount;
  }
  return correctedCount;
}

/** {@link correctSizes} for an item, its folder and its root. */
export async function correctSizesAround(context: HostContext, item: ItemPosition): Promise<void> {
  const { models } = context;
  await correctSizes(models.item as never, itemSizes(context), [item._id]);
  await correctSizes(models.folder as never, folderSizes(context), [item.folderId]);
  await correctSizes(rootModel(context, item.baseParentType) as never, rootSizes(context), [item.baseParentId]);
}
