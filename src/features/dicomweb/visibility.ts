import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Caller } from '../../host.js';
import type { RouteRequest } from '../../http/route.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';

/** Whose permissions a request has, and which images it can show: with a link, only the images of the link. */
export interface Visibility {
  caller: Caller | null;
  /** Lists the ids of the items of a link, in batches; `null` if all items that the caller can read are shown. */
  listItemIds: (() => AsyncIterable<readonly string[]>) | null;
  /** Whether an image that the caller can read is shown. */
  shows: (item: ItemRecord) => boolean;
  /** Whether the label and overview of an image are shown too. */
  showsAssociated(item: ItemRecord): Promise<boolean>;
}

/** Dependencies of {@link resolveVisibility}. */
export interface VisibilityServices {
  records: HostRecords;
  images: Images;
  links: Links;
}

/**
 * The visibility for the caller of a request. If the path contains the token of a link, it is the visibility for the link's creator.
 *
 * @throws LargeImageError if there is no link with this token.
 */
export async function resolveVisibility(
  { params, caller, address }: Pick<RouteRequest, 'caller' | 'address'> & { params: object },
  { records, images, links }: VisibilityServices,
): Promise<Visibility> {
  const { token } = params as { token?: string };
  if (token === undefined) {
    return { caller, listItemIds: null, shows: () => true, showsAssociated: (item) => images.showsAssociated(item, caller) };
  }
  const grant = await links.requireGrant(token, 'dicomweb', { address });
  const { subject } = grant.link;
  return {
    caller: grant.caller,
    listItemIds: () =>
      subject.type === 'item' ? yieldOnly([subject.id]) : records.listItemIdsIn(subject.id, { recurse: false }),
    shows: ({ id, folderId }) => (subject.type === 'item' ? id : folderId) === subject.id,
    showsAssociated: (item) => links.showsAssociated(grant, item),
  };
}

async function* yieldOnly<T>(value: T): AsyncGenerator<T> {
  yield value;
}
