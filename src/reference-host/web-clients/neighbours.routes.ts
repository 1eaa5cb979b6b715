import { itemSchema, NotFoundError, objectOf, anyInteger, type RouteDefinition } from '../../larger-host.js';
import { principalOf } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { byId, scopes } from '../http/parameters.js';
import type { ItemDocument } from '../tree/item.model.js';
import { loadItem } from '../tree/items.js';
import { itemView } from '../views.js';

const shared = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  params: byId,
  errors: ['unknown-id', 'access-denied', 'not-found'],
} as const;

/** The large images of the folder of an item, by name. */
async function imagesAround({ models }: HostContext, item: ItemDocument) {
  const images = { folderId: item.folderId, 'largeImage.fileId': { $exists: true } };
  if ((await models.item.countDocuments({ ...images, _id: item._id })) === 0) throw new NotFoundError('Id is not an image');
  const { lowerName: name, _id: id } = item;
  const before = { ...images, $or: [{ lowerName: { $lt: name } }, { lowerName: name, _id: { $lt: id } }] };
  const after = { ...images, $or: [{ lowerName: { $gt: name } }, { lowerName: name, _id: { $gt: id } }] };
  const one = async (filter: object, direction: 1 | -1) =>
    models.item.findOne(filter).sort({ lowerName: direction, _id: direction }).lean<ItemDocument>();
  const first = async () => (await one(images, 1)) ?? item;
  return {
    first,
    // The last image is followed by the first.
    next: async () => (await one(after, 1)) ?? first(),
    previous: async () => (await one(before, -1)) ?? (await one(images, -1)) ?? item,
    index: () => models.item.countDocuments(before),
    count: () => models.item.countDocuments(images),
  };
}

function neighbour(which: 'first' | 'next' | 'previous', summary: string): RouteDefinition<HostContext> {
  return defineRoute({
    ...shared,
    path: `/item/:id/${which}_image`,
    summary,
    returns: { schema: itemSchema },
    async handle({ params, caller }, context) {
      const { item } = await loadItem(context, params.id, await principalOf(context, caller), 0);
      return itemView(await (await imagesAround(context, item))[which]());
    },
  });
}

/** Routes for the next and previous image in a folder. */
export const neighbourRoutes: RouteDefinition<HostContext>[] = [
  neighbour('first', 'The first large image of the folder of an item, by name.'),
  neighbour('next', 'The large image after an item in its folder, by name; after the last one, the first.'),
  neighbour('previous', 'The large image before an item in its folder, by name; before the first one, the last.'),
  defineRoute({
    ...shared,
    path: '/item/:id/adjacent_images',
    summary: 'The large images before and after an item in its folder, with its position and their number.',
    returns: { schema: objectOf({ previous: itemSchema, next: itemSchema, index: anyInteger, count: anyInteger }) },
    async handle({ params, caller }, context) {
      const { item } = await loadItem(context, params.id, await principalOf(context, caller), 0);
      const images = await imagesAround(context, item);
      return {
        previous: itemView(await images.previous()),
        next: itemView(await images.next()),
        index: await images.index(),
        count: await images.count(),
      };
    },
  }),
];
