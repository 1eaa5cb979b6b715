import { LargeImageError } from '../../errors.js';
import { callerWithScope } from '../../http/authentication.js';
import { scopes } from '../../http/scopes.js';
import type { RouteRequest } from '../../http/route.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Images } from '../images/images.js';
import { loadWritableItem } from '../items/item-path.js';
import type { Items } from '../items/items.js';

type ItemRequest = Pick<RouteRequest, 'caller'> & { params: { itemId: string } };

/** Loads the item in the path. The caller must be allowed to read it and the items of all files that its image is made from. */
export function loadReadableItem({ params, caller }: ItemRequest, { images }: { images: Images }): Promise<ItemRecord> {
  return images.load(params.itemId, caller);
}

/**
 * Loads the item in the path. The caller must be allowed to read it. A request with `cache=schedule` starts a job, so its caller
 * must also be allowed to write to the item, and its token must have the scope for writing. A token from a cookie is refused if a
 * page of another site has sent the request.
 */
export async function loadItemToReadOrSchedule(
  request: ItemRequest & Pick<RouteRequest, 'verified' | 'tokenFromCookie' | 'fromOtherSite'> & { query: { cache: string } },
  context: { items: Items; images: Images },
): Promise<ItemRecord> {
  const { query, verified, tokenFromCookie, fromOtherSite } = request;
  if (query.cache !== 'schedule') return loadReadableItem(request, context);
  const isForeignCookie = tokenFromCookie && fromOtherSite;
  if (request.caller !== null && (isForeignCookie || callerWithScope(verified, scopes.write) === null)) {
    throw new LargeImageError(
      'login-required',
      `Scheduling needs a token with the scope ${scopes.write}, and the request must not come from a page of another site.`,
    );
  }
  await loadReadableItem(request, context);
  return loadWritableItem(request, context);
}
