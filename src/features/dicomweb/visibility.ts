import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Caller } from '../../host.js';
import type { RouteRequest } from '../../http/route.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';

/** The caller, and which of the images that they can read are shown to them. */
export interface Asker {
  caller: Caller | null;
  /** The items that can be shown, in lists; `null` for all that the caller can read. */
  itemIds: (() => AsyncIterable<readonly string[]>) | null;
  /** Whether an image can be shown. */
  shows: (item: ItemRecord) => boolean;
  /** Whether its label and overview can be shown too. */
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
    return { caller, itemIds: null, shows: () => true, showsAssociated: (item) => images.showsAssociated(item, caller) };
  }
  const grant = await links.grant(token, 'dicomweb', { address });
  const { subject } = grant.link;
  return {
    caller: grant.caller,
    itemIds: () => (subject.type === 'item' ? yieldOnly([subject.id]) : records.itemIdsIn(subject.id, { recurse: false })),
    shows: ({ id, folderId }) => (subject.type === 'item' ? id : folderId) === subject.id,
    showsAssociated: (item) => links.showsAssociated(grant, item),
  };
}

async function* yieldOnly<T>(value: T): AsyncGenerator<T> {
  yield value;
}
