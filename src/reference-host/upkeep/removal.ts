import type { Model, Types } from 'mongoose';
import { announceStep } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { withTrashed } from '../trash/trash-mark.js';
import type { RemovableType } from './undertaking.model.js';

/**
 * Fields that are not recorded with a removal: they may be large or secret, and are not needed to remove what belonged to the
 * document.
 */
export const unrecordedFields = ['meta', 'words', 'terms', 'phrases', 'description', 'passwordHash'];

/** The fields of a document that are recorded with its removal. */
export function selectRecordedFields<D extends { _id: Types.ObjectId }>(doc: D): { _id: Types.ObjectId } {
  return { ...Object.fromEntries(Object.entries(doc).filter(([name]) => !unrecordedFields.includes(name))), _id: doc._id };
}

/**
 * Removes a document, and then calls `removeBelongings` to remove everything that belonged to it. If several requests remove the same
 * document, one of them does the work. If the work takes longer than clients wait, it continues in the background. If the work is
 * interrupted, `recovery.ts` finishes it later.
 */
export async function removeWithBelongings<D extends { _id: Types.ObjectId }>(
  context: HostContext,
  type: RemovableType,
  doc: D,
  removeBelongings: (removedDocument: D) => Promise<void>,
): Promise<void> {
  await context.journal.undertakeWithoutUndo({ kind: 'removal', type, doc: selectRecordedFields(doc) }, async () => {
    const removedDocument = await modelOf(context, type).findOneAndDelete({ _id: doc._id }, withTrashed).lean<D>();
    if (removedDocument === null) return;
    announceStep(`${type}-removal:hidden`);
    await removeBelongings(removedDocument);
    announceStep(`${type}-removal:cleared`);
  });
}

/** Whether a document still exists. */
export async function stillExists(context: HostContext, type: RemovableType, _id: Types.ObjectId): Promise<boolean> {
  return (await modelOf(context, type).exists({ _id }).setOptions(withTrashed)) !== null;
}

function modelOf({ models }: HostContext, type: RemovableType): Model<{ _id: Types.ObjectId }> {
  // Only the id is used here, which all models have.
  return models[type] as unknown as Model<{ _id: Types.ObjectId }>;
}
