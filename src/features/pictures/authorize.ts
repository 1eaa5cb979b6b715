import { LargeImageError } from '../../errors.js';
import { callerFor } from '../../http/authentication.js';
import { scopes } from '../../http/scopes.js';
import type { RouteRequest } from '../../http/route.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';

type Request = Pick<RouteRequest, 'caller'> & { params: { itemId: string } };

/** The item in the path, for those who may read it and what its image is made of. */
export function mayRead({ params, caller }: Request, { images }: { images: Images }): Promise<ItemRecord> {
  return images.load(params.itemId, caller);
}

/** The item in the path as it is now, for those who may write to it. */
export function mayWrite({ params, caller }: Request, { items }: { items: Items }): Promise<ItemRecord> {
  return items.loadFresh(params.itemId, 1, caller);
}

/**
 * The item in the path: for those who may read it, and where the request is to start a job for those who may write to it, with a token for
 * writing that no page of another site has made their browser send.
 */
export async function mayReadOrSchedule(
  request: Request & Pick<RouteRequest, 'verified' | 'tokenFromCookie' | 'fromOtherSite'> & { query: { cache: string } },
  context: { items: Items; images: Images },
): Promise<ItemRecord> {
  const { query, verified, tokenFromCookie, fromOtherSite } = request;
  if (query.cache !== 'schedule') return mayRead(request, context);
  const isRefused = tokenFromCookie && fromOtherSite;
  if (request.caller !== null && (isRefused || callerFor(verified, scopes.write) === null)) {
    throw new LargeImageError(
      'login-required',
      `Scheduling needs a token with the scope ${scopes.write}, sent by this server's own pages.`,
    );
  }
  await mayRead(request, context);
  return mayWrite(request, context);
}
