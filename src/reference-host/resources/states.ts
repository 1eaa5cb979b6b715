import { UnknownIdError } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { ItemDocument } from '../tree/item.model.js';
import { writeMetadata } from '../tree/metadata.js';

/** The review states of an image. */
export const itemStates = ['todo', 'review', 'done'] as const;

export type ItemState = (typeof itemStates)[number];

/**
 * Sets the state of an item, with the user and the time, or removes all three. They are members of the item's metadata, so that lists can be
 * filtered and sorted by them, and other clients can read them.
 */
export async function setItemState(
  context: HostContext,
  item: ItemDocument,
  change: { state: ItemState | undefined; login: string },
): Promise<void> {
  const { state, login } = change;
  const stateFields = { reviewState: state, reviewStateBy: login, reviewStateAt: new Date().toISOString() };
  const entries = Object.entries(stateFields).map(([name, value]) => [`meta.${name}`, state === undefined ? '' : value]);
  const metadataFields = Object.fromEntries(entries) as Record<string, ''>;
  const update = state === undefined ? { $set: {}, $unset: metadataFields } : { $set: metadataFields, $unset: {} };
  const changedItem = await writeMetadata(context.models.item, item, update);
  if (changedItem === null) throw new UnknownIdError('item', item._id.toHexString());
  // Listeners expect plain objects.
  await context.events.emit('item.saved', { item: { ...changedItem } });
}
