import type { HostContext } from '../context.js';
import type { ItemDocument } from '../tree/item.model.js';
import { addItemSize } from '../tree/sizes.js';
import type { FileDocument } from './file.model.js';

/** Announces that the content of a file served in place has changed, and updates its item. */
export async function announceReplaced(
  context: HostContext,
  file: FileDocument,
  { formerSize, replacedAt }: { formerSize: number; replacedAt: Date },
): Promise<void> {
  const { models, events } = context;
  const item = file.itemId === null ? null : await models.item.findById(file.itemId).lean<ItemDocument>();
  if (item !== null) {
    await models.item.updateOne({ _id: item._id }, { $set: { fileChanged: replacedAt } });
    await addItemSize(context, item, (file.size ?? 0) - formerSize);
  }
  await events.emit('file.saved', { file: { ...file }, created: false, replacedAt });
}
