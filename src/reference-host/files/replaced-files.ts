import type { HostContext } from '../context.js';
import type { ItemDocument } from '../tree/item.model.js';
import { addItemSize } from '../tree/sizes.js';
import type { FileDocument } from './file.model.js';

/** Notes on the item, and announces, that the content of a file which is served in place has changed. */
export async function announceReplaced(
  context: HostContext,
  file: FileDocument,
  { formerSize, at }: { formerSize: number; at: Date },
): Promise<void> {
  const { models, events } = context;
  const item = file.itemId === null ? null : await models.item.findById(file.itemId).lean<ItemDocument>();
  if (item !== null) {
    await models.item.updateOne({ _id: item._id }, { $set: { fileChanged: at } });
    await addItemSize(context, item, (file.size ?? 0) - formerSize);
  }
  await events.emit('file.saved', { file: { ...file }, created: false, replacedAt: at });
}
