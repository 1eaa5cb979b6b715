import { enqueueFor } from '../../core/concurrency/queues.js';
import type { LargeImage } from '../../tilesource/requests.js';
import { number, text } from '../../http/parameters.js';
import { defineRoute } from './context.js';
import {
  dispositionParameters,
  integerList,
  toPictureRequest,
  regionParameters,
  renderParameters,
  routeParameters,
  zParameters,
} from '../images/picture-parameters.js';
import { dispositionHeader, regionDispositionHeader, replyWithNewPicture, replyFromCachedFile } from './picture-reply.js';
import { pixelSchema } from './schemas.js';
import { pictureHeaders, pictureTypes, pictureRoute } from './picture-route.js';

const thumbnail = defineRoute({
  ...pictureRoute,
  path: '/item/:itemId/tiles/thumbnail',
  forLinks: true,
  summary: 'Get the whole image, scaled to fit the given size; 256 by 256 by default.',
  query: {
    ...routeParameters('width', 'height', 'fill', 'composite'),
    ...renderParameters,
    ...dispositionParameters,
  },
  returns: { types: pictureTypes },
  headers: pictureHeaders,
  async handle(input, services) {
    const { query, authorized: item } = input;
    const request = toPictureRequest(query);
    const extraHeaders = dispositionHeader(item, 'thumbnail', query);
    const requestedPicture = { item, kind: 'thumbnail', request, input, extraHeaders };
    if (request.encoding === 'TILED') {
      return replyWithNewPicture(services, requestedPicture, (image, signal) => image.thumbnail({ ...request, signal }));
    }
    return replyFromCachedFile(services, requestedPicture, request);
  },
});

const region = defineRoute({
  ...pictureRoute,
  path: '/item/:itemId/tiles/region',
  forLinks: true,
  summary: 'Get a region of the image at a size or scale.',
  description:
    'For an empty region, or one outside the image, the body is empty. `encoding=TILED` gives a pyramidal TIFF of any size, ' +
    '`encoding=OMETIFF` the samples as stored, of several frames, with pixel size and names of channels.',
  query: {
    ...regionParameters,
    ...renderParameters,
    frameList: integerList('For OMETIFF: the frames to return; by default the channels of the frame.'),
    ...dispositionParameters,
  },
  returns: { types: pictureTypes },
  headers: pictureHeaders,
  async handle(input, services) {
    const { query, authorized: item } = input;
    const request = toPictureRequest(query);
    const extraHeaders = regionDispositionHeader(item, query);
    const requestedPicture = { item, kind: 'region', request, input, extraHeaders };
    return replyWithNewPicture(services, requestedPicture, (image, signal) => image.region({ ...request, signal }));
  },
});

const pixel = defineRoute({
  ...pictureRoute,
  path: '/item/:itemId/tiles/pixel',
  forLinks: true,
  summary: 'Get the samples of one pixel, and how it is displayed.',
  query: {
    left: number({ description: 'Distance from the left edge.' }),
    top: number({ description: 'Distance from the upper edge.' }),
    units: text({ description: 'Units of left and top; base_pixels by default.' }),
    ...routeParameters('frame', 'style'),
    ...zParameters,
    frameList: integerList('Frames to look at; the response is then a list.'),
  },
  returns: { schema: pixelSchema },
  async handle(input, { images, queues }) {
    const { query, authorized: item, signal } = input;
    const { frameList, ...pixelQuery } = query;
    const request = { ...toPictureRequest(pixelQuery), signal };
    const read = (image: LargeImage): Promise<unknown> =>
      frameList === undefined || frameList.length === 0 ? image.pixel(request) : image.pixels(request, frameList);
    return enqueueFor(queues.pictures, input)(() => images.use(item, read, signal));
  },
});

/** Routes for pictures of the image or of parts of it, and for single pixels. */
export const pictureRoutes = [thumbnail, region, pixel];
