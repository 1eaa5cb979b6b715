import { scopes } from '../../http/scopes.js';
import { itemPath } from '../items/item-path.js';
import { loadReadableItem } from './authorize.js';

/** Media types of pictures. */
export const pictureTypes = ['image/jpeg', 'image/png', 'image/webp', 'image/tiff', 'image/avif', 'image/gif'];

/** Headers of pictures. */
export const pictureHeaders = {
  'Large-Image-Corrupt-Tiles': 'Number of corrupt tiles of the image that are shown as hatched holes, if there are any.',
};

/** Declarations shared by the routes that answer with a picture. */
export const pictureRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: itemPath,
  errors: ['bad-parameter', 'bad-value', 'unknown-id', 'access-denied', 'no-large-image', 'tile-source', 'corrupt-tile', 'busy'],
  errorStatus: { 'tile-outside': 400 },
  parameterMessages: 'incorrect-type',
  authorize: loadReadableItem,
} as const;
