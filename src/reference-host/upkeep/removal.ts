import type { Model, Types } from 'mongoose';
import { step } from '../../index.js';
import type { HostContext } from '../context.js';
import type { RemovableType } from './undertaking.model.js';

/** What may be large, or secret, and is not needed to clear what a removed document leaves. */
const notNoted = ['meta', 'words', 'description', 'passwordHash'];

/**
 * Removes a document, which nobody sees any more from one moment to the next, and then clears what belonged to it. Of several removals at
 * once one does the work. What takes longer than clients wait goes on when this
 * returns. When it ends half way the rest is cleared later, as `recovery.ts` says.
 */
export async function removeTree<D extends { _id: Types.ObjectId }>(
  context: HostContext,
  type: RemovableType,
  doc: D,
  clear: (removed: D) => Promise<void>,
): Promise<void> {
  const noted = Object.fromEntries(Object.entries(doc).filter(([name]) => !notNoted.includes(name)));
  await context.journal.finish({ kind: 'removal', type, doc: { ...noted, _id: doc._id } }, async () => {
    const removed = await modelOf(context, type).findOneAndDelete({ _id: doc._id }).lean<D>();
    if (removed === null) return;
    step(`${type}-removal:hidden`);
    await clear(removed);
    step(`${type}-removal:cleared`);
  });
}

/** Whether a document is still there. */
export async function isThere(context: HostContext, type: RemovableType, _id: Types.ObjectId): Promise<boolean> {
  return (await modelOf(context, type).exists({ _id })) !== null;
}

function modelOf({ models }: HostContext, type: RemovableType): Model<{ _id: Types.ObjectId }> {
  // Nothing but the id is used here.
  return models[type] as unknown as Model<{ _id: Types.ObjectId }>;
}
