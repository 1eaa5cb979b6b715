import type { Caller } from '../../host.js';
import type { ItemRecord } from '../../core/host-records.js';
import type { Items } from '../items/items.js';

interface Request {
  params: { itemId: string };
  caller: Caller | null;
}

/** The item in the path, for those who may read it. */
export function mayRead({ params, caller }: Request, { items }: { items: Items }): Promise<ItemRecord> {
  return items.load(params.itemId, 0, caller);
}

/** The item in the path as it is now, for those who may write to it. */
export function mayWrite({ params, caller }: Request, { items }: { items: Items }): Promise<ItemRecord> {
  return items.loadFresh(params.itemId, 1, caller);
}
