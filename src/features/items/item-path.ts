import type { ItemRecord } from '../../core/host/records.js';
import { id, required } from '../../http/parameters.js';
import type { RouteRequest } from '../../http/route.js';
import type { Items } from './items.js';

/** Path parameters of routes about an item. */
export const itemPath = { itemId: required(id({ description: 'The id of the item.' })) };

/** Loads the item in the path from the database, not from a cache. The caller must have write access to it. */
export function loadWritableItem(
  { params, caller }: Pick<RouteRequest, 'caller'> & { params: { itemId: string } },
  { items }: { items: Items },
): Promise<ItemRecord> {
  return items.loadFresh(params.itemId, 1, caller);
}
