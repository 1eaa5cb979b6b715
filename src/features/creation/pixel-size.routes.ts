import { BadValueError } from '../../errors.js';
import { number, required } from '../../http/parameters.js';
import { scopes } from '../../http/scopes.js';
import { itemPath } from '../items/item-path.js';
import { largeImageSchema } from '../pictures/schemas.js';
import { defineRoute } from './context.js';

/** From a tenth of a nanometer to ten meters. */
const sizeRangeMm = { minimum: 1e-7, maximum: 1e4 };

const pixelSizeRoute = {
  path: '/item/:itemId/tiles/pixel_size',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  errors: ['bad-parameter', 'bad-value', 'unknown-id', 'access-denied', 'login-required', 'no-large-image', 'tile-source'],
} as const;

const put = defineRoute({
  ...pixelSizeRoute,
  method: 'put',
  summary: 'Enter the pixel size of an image whose file does not state it.',
  description: 'All metadata, regions and exports of the image then use it. Answers with the metadata of the image.',
  query: {
    mm_x: required(number({ ...sizeRangeMm, description: 'Width of a pixel in millimeters.' })),
    mm_y: number({ ...sizeRangeMm, description: 'Height of a pixel in millimeters; default mm_x.' }),
  },
  returns: { schema: largeImageSchema },
  async handle({ params, query, caller }, { items, images, imageMarking }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    const metadata = await images.use(item, (image) => image.metadata());
    if (metadata.geospatial)
      throw new BadValueError(
        'The image is georeferenced, so its file states the pixel size. Only a missing pixel size can be entered.',
      );
    if (metadata.mm_x !== null && !metadata.pixelSizeEntered)
      throw new BadValueError('The file states the pixel size. Only a missing pixel size can be entered.');
    const scaledItem = await imageMarking.setScale(item, { mmX: query.mm_x, mmY: query.mm_y ?? query.mm_x });
    return images.use(scaledItem, (image) => image.metadata());
  },
});

const remove = defineRoute({
  ...pixelSizeRoute,
  method: 'delete',
  summary: 'Remove the entered pixel size.',
  description: 'Answers with the metadata of the image.',
  returns: { schema: largeImageSchema },
  async handle({ params, caller }, { items, images, imageMarking }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    const unscaledItem = await imageMarking.setScale(item, null);
    return images.use(unscaledItem, (image) => image.metadata());
  },
});

/** Routes for the size of a pixel that users enter. */
export const pixelSizeRoutes = [put, remove];
