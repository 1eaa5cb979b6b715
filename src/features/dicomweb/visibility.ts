import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Caller } from '../../host.js';
import type { RouteRequest } from '../../http/route.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';

/** The caller of a request, and the images that the request can show: with a link, only those of the link. */
export interface Asker {
  caller: Caller | null;
  /** Lists the ids of the items of a link, in batches; `null` if all items that the caller can read are shown. */
  listItemIds: (() => AsyncIterable<readonly string[]>) | null;
  /** Whether an image that the caller can read is shown. */
  shows: (item: ItemRecord) => boolean;
  /** Whether the label and overview of an image are shown too. */
  showsAssociated(item: ItemRecord): Promise<boolean>;
}

/** Dependencies of {@link askerOf}. */
export interface AskerParts {
  records: HostRecords;
  images: Images;
  links: Links;
}

/** The caller of a request, or the maker of the link whose token is in its path. @throws LargeImageError if there is no link with this token. */
export async function askerOf(
  { params, caller, address }: Pick<RouteRequest, 'caller' | 'address'> & { params: object },
  { records, images, links }: AskerParts,
): Promise<Asker> {
  const { token } = params as { token?: string };
  if (token === undefined) {
    return { caller, listItemIds: null, shows: () => true, showsAssociated: (item) => images.showsAssociated(item, caller) };
  }
  const grant = await links.requireGrant(token, 'dicomweb', { address });
  const { subject } = grant.link;
  return {
    caller: grant.caller,
    listItemIds: () => (subject.type === 'item' ? yieldOnly([subject.id]) : records.itemIdsIn(subject.id, { recurse: false })),
    shows: ({ id, folderId }) => (subject.type === 'item' ? id : folderId) === subject.id,
    showsAssociated: (item) => links.showsAssociated(grant, item),
  };
}

async function* yieldOnly<T>(value: T): AsyncGenerator<T> {
  yield value;
}
