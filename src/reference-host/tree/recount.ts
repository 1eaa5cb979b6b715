import { setTimeout as delay } from 'node:timers/promises';
import type { Model, Types } from 'mongoose';
import type { HostContext } from '../context.js';
import { withTrashed } from '../trash/trash-mark.js';
import type { ItemLocation } from './item.model.js';
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

/** Creates a function that computes the sizes of items: the bytes of their files. */
export function createItemSizeComputer({ models }: HostContext): ComputeSizes {
  return (ids) => sumSizes(models.file, 'itemId', ids);
}

/** Creates a function that computes the sizes of folders: the bytes of the items directly in them. */
export function createFolderSizeComputer({ models }: HostContext): ComputeSizes {
  return (ids) => sumSizes(models.item, 'folderId', ids);
}

/** Creates a function that computes the sizes of collections or users: the bytes of all items below them. */
export function createRootSizeComputer({ models }: HostContext): ComputeSizes {
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
  // The cast is safe: only fields that all documents with a size have are used here.
  const modelWithSize = model as unknown as Model<DocumentWithSize>;
  const findWrongSizes = async (someIds: readonly Types.ObjectId[]) => {
    const documents = await modelWithSize.find({ _id: { $in: someIds } }, { size: 1 }, withTrashed).lean<DocumentWithSize[]>();
    const contentBytesById = await computeSizes(someIds);
    return documents
      .map(({ _id, size }) => ({ _id, size, contentBytes: contentBytesById.get(_id.toHexString()) ?? 0 }))
      .filter(({ size, contentBytes }) => size !== contentBytes);
  };
  const wrongSizes = await findWrongSizes(ids);
  if (wrongSizes.length === 0) return 0;
  await delay(confirmDelayMs);
  let correctedCount = 0;
  for (const { _id, size, contentBytes } of await findWrongSizes(wrongSizes.map((document) => document._id))) {
    const earlierState = wrongSizes.find((document) => document._id.equals(_id))!;
    if (earlierState.size !== size || earlierState.contentBytes !== contentBytes) continue;
    const { modifiedCount } = await modelWithSize.updateOne({ _id, size }, { $set: { size: contentBytes } }, withTrashed);
    correctedCount += modifiedCount;
  }
  return correctedCount;
}

/** Corrects the sizes of an item, its folder and its root, see {@link correctSizes}. */
export async function correctSizesAround(context: HostContext, item: ItemLocation): Promise<void> {
  const { models } = context;
  await correctSizes(models.item as never, createItemSizeComputer(context), [item._id]);
  await correctSizes(models.folder as never, createFolderSizeComputer(context), [item.folderId]);
  await correctSizes(rootModel(context, item.baseParentType) as never, createRootSizeComputer(context), [item.baseParentId]);
}
