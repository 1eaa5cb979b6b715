import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Caller } from '../../host.js';
import type { RouteRequest } from '../../http/route.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';

/** Who asks, and what of the images that they may read is shown to them. */
export interface Asker {
  caller: Caller | null;
  /** The items that may be shown, in lists; `null`: all that the caller may read. */
  itemIds: (() => AsyncIterable<readonly string[]>) | null;
  /** Whether an image may be shown. */
  shows: (item: ItemRecord) => boolean;
  /** Whether its label and overview may be shown as well. */
  showsAssociated(item: ItemRecord): Promise<boolean>;
}

/** What {@link askerOf} works with. */
export interface AskerParts {
  records: HostRecords;
  images: Images;
  links: Links;
}

/** The caller of a request, or the maker of the link whose token is in its path. @throws LargeImageError for a token of no such link. */
export async function askerOf(
  { params, caller, address }: Pick<RouteRequest, 'caller' | 'address'> & { params: object },
  { records, images, links }: AskerParts,
): Promise<Asker> {
  const { token } = params as { token?: string };
  if (token === undefined) {
    return { caller, itemIds: null, shows: () => true, showsAssociated: (item) => images.showsAssociated(item, caller) };
  }
  const grant = await links.grant(token, 'dicomweb', { address });
  const { subject } = grant.link;
  return {
    caller: grant.caller,
    itemIds: () => (subject.type === 'item' ? one([subject.id]) : records.itemIdsIn(subject.id, { recurse: false })),
    shows: ({ id, folderId }) => (subject.type === 'item' ? id : folderId) === subject.id,
    showsAssociated: (item) => links.showsAssociated(grant, item),
  };
}

async function* one<T>(value: T): AsyncGenerator<T> {
  yield value;
}
