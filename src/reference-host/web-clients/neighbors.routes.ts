import {
  itemSchema,
  NotFoundError,
  objectOf,
  anyInteger,
  sortDirection,
  text,
  withDefault,
  type RouteDefinition,
} from '../../larger-host.js';
import type { Caller } from '../../index.js';
import { loadPrincipal } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { byId, scopes } from '../http/parameters.js';
import { createFindFilter, findTextParameter } from '../tree/finding/find-filter.js';
import type { ItemDocument } from '../tree/item.model.js';
import { loadItem } from '../tree/items.js';
import { findPosition, toSortOrder } from '../tree/lists.js';
import { itemView } from '../views.js';

const sharedMembers = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  params: byId,
  query: {
    find: findTextParameter,
    sort: text({
      description: 'Field to sort by, or JSON as for GET item. Default: the `defaultSort` of the folder, or else the name.',
    }),
    sortdir: withDefault<1 | -1>(sortDirection(), 1),
  },
  errors: ['unknown-id', 'bad-parameter', 'access-denied', 'not-found'],
} as const;

/** A request for the neighbors of an item. */
interface NeighborRequest {
  params: { id: string };
  query: { find: string | undefined; sort: string | undefined; sortdir: 1 | -1 };
  caller: Caller | null;
  signal: AbortSignal;
}

/**
 * Finds an item among the large images of its folder, in the order of the folder. The last image is followed by the first.
 *
 * @returns functions that load the first, next and previous image; the position of the item; and the number of images
 */
async function findImagesAround(context: HostContext, { params, query, caller, signal }: NeighborRequest) {
  const { item } = await loadItem(context, params.id, await loadPrincipal(context, caller), 0);
  const itemModel = context.models.item;
  const imageFilter = { folderId: item.folderId, 'largeImage.fileId': { $exists: true }, ...createFindFilter(query.find) };
  const readFolderSort = async () => {
    const order = await context.plugin.folderConfiguration.defaultSort(item.folderId.toHexString(), caller, signal);
    return order === null ? 'lowerName' : JSON.stringify(order);
  };
  const sort = query.sort ?? (await readFolderSort());
  const page = { sort, sortdir: query.sortdir };
  const [index, count] = await Promise.all([
    findPosition(itemModel, imageFilter, item._id, page),
    itemModel.countDocuments(imageFilter),
  ]);
  if (index >= count) throw new NotFoundError('Id is not an image');
  const loadImageAt = async (position: number) => {
    const matches = itemModel
      .find(imageFilter)
      .sort(toSortOrder(page))
      .skip((position + count) % count);
    const [image = item] = await matches.limit(1).lean<ItemDocument[]>();
    return itemView(image);
  };
  return {
    first: () => loadImageAt(0),
    next: () => loadImageAt(index + 1),
    previous: () => loadImageAt(index - 1),
    index,
    count,
  };
}

function defineNeighborRoute(neighbor: 'first' | 'next' | 'previous', summary: string): RouteDefinition<HostContext> {
  return defineRoute({
    ...sharedMembers,
    path: `/item/:id/${neighbor}_image`,
    summary,
    returns: { schema: itemSchema },
    handle: async (request, context) => (await findImagesAround(context, request))[neighbor](),
  });
}

/** Routes for the next and previous image in a folder. */
export const neighborRoutes: RouteDefinition<HostContext>[] = [
  defineNeighborRoute('first', 'Get the first large image of the folder of an item.'),
  defineNeighborRoute('next', 'Get the large image after an item in its folder; after the last one, the first.'),
  defineNeighborRoute('previous', 'Get the large image before an item in its folder; before the first one, the last.'),
  defineRoute({
    ...sharedMembers,
    path: '/item/:id/adjacent_images',
    summary: 'Get the large images before and after an item in its folder, its position, and the number of images.',
    returns: { schema: objectOf({ previous: itemSchema, next: itemSchema, index: anyInteger, count: anyInteger }) },
    async handle(request, context) {
      const { previous, next, index, count } = await findImagesAround(context, request);
      return { previous: await previous(), next: await next(), index, count };
    },
  }),
];
