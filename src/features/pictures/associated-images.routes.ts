import { enqueueFor } from '../../core/concurrency/queues.js';
import { required, text } from '../../http/parameters.js';
import { scopes } from '../../http/scopes.js';
import { associatedImageSchema } from './schemas.js';
import { defineRoute } from './context.js';
import { AccessDeniedError } from '../../errors.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Images } from '../images/images.js';
import { loadReadableItem } from './authorize.js';
import { itemPath } from '../items/item-path.js';
import { dispositionParameters, encodingParameters, toPictureRequest, routeParameters } from '../images/picture-parameters.js';
import { dispositionHeader, replyFromCachedFile } from './picture-reply.js';

/** Loads the item in the path. The caller must be allowed to see its associated images. */
async function loadItemForAssociatedImages(
  request: Parameters<typeof loadReadableItem>[0],
  { images }: { images: Images },
): Promise<ItemRecord> {
  const item = await loadReadableItem(request, { images });
  if (await images.showsAssociated(item, request.caller)) return item;
  throw new AccessDeniedError(
    `Associated images of item ${item.id} need more than read access (setting large_image.associated_images).`,
  );
}

const associatedImageRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  errors: ['unknown-id', 'access-denied', 'no-large-image', 'tile-source', 'corrupt-tile', 'busy'],
  authorize: loadItemForAssociatedImages,
} as const;

const imagePath = {
  ...itemPath,
  image: required(text({ description: 'Name of the associated image, such as label or macro.' })),
};

const list = defineRoute({
  ...associatedImageRoute,
  path: '/item/:itemId/tiles/images',
  forLinks: true,
  summary: 'List the names of the associated images: label, macro, thumbnail.',
  description: 'The list is empty for callers without permission to see them.',
  params: itemPath,
  returns: { schema: { type: 'array', items: { type: 'string' } } },
  authorize: loadReadableItem,
  async handle({ authorized: item, caller }, { images }) {
    const names = await images.use(item, (image) => image.associatedImages());
    return (await images.showsAssociated(item, caller)) ? names : [];
  },
});

const get = defineRoute({
  ...associatedImageRoute,
  path: '/item/:itemId/tiles/images/:image',
  forLinks: true,
  summary: 'Get an associated image, scaled to fit the given size.',
  description: 'The response is empty if there is no image with this name.',
  cookie: true,
  params: imagePath,
  query: {
    ...routeParameters('width', 'height'),
    ...encodingParameters,
    ...dispositionParameters,
  },
  parameterMessages: 'incorrect-type',
  returns: { types: ['image/jpeg', 'image/png', 'image/tiff', 'application/octet-stream'] },
  async handle(input, services) {
    const { params, query, authorized: item } = input;
    const request = toPictureRequest(query);
    const extraHeaders = dispositionHeader(item, params.image, query);
    const requestedPicture = { item, kind: 'associated', request: { ...request, name: params.image }, input, extraHeaders };
    return replyFromCachedFile(services, requestedPicture, { ...request, imageKey: params.image });
  },
});

const metadata = defineRoute({
  ...associatedImageRoute,
  path: '/item/:itemId/tiles/images/:image/metadata',
  summary: 'Get the size, mode and format of an associated image.',
  params: imagePath,
  returns: { schema: associatedImageSchema },
  async handle(input, { images, queues }) {
    const { params, authorized: item, signal } = input;
    const read = () => images.use(item, (image) => image.associatedImageMetadata(params.image, { signal }), signal);
    return enqueueFor(queues.pictures, input)(read);
  },
});

/** Routes for associated images. */
export const associatedImageRoutes = [list, get, metadata];
