import { BadParameterError } from '../../errors.js';
import { integer, integerText, required, text } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import { pictureHeaders } from './picture-route.js';
import { loadReadableItem } from './authorize.js';
import { itemPath } from '../items/item-path.js';
import { dropUndefined, renderParameters } from '../images/picture-parameters.js';
import { replyFromTileCache } from './picture-reply.js';

const deepZoomRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  errors: ['bad-parameter', 'unknown-id', 'access-denied', 'no-large-image', 'tile-source', 'corrupt-tile', 'busy'],
  parameterMessages: 'incorrect-type',
  errorStatus: { 'tile-outside': 400 },
  authorize: loadReadableItem,
} as const;

const gridParameters = {
  overlap: integer({ description: 'Pixels that neighboring tiles share on each side; 0 by default.' }),
  tilesize: integer({ description: 'A power of two; 256 by default.' }),
};

const dziDescription = defineRoute({
  ...deepZoomRoute,
  path: '/item/:itemId/tiles/dzi.dzi',
  summary: 'Get the Deep Zoom description of the image.',
  params: itemPath,
  query: { ...gridParameters, encoding: text({ description: 'JPEG (default) or PNG.' }) },
  returns: { types: ['text/xml'] },
  async handle({ query, authorized: item }, { images }) {
    const xml = await images.use(item, (image) => image.dzi(dropUndefined(query)));
    return Reply.content(xml, 'text/xml;charset=utf-8');
  },
});

const dziTile = defineRoute({
  ...deepZoomRoute,
  path: '/item/:itemId/tiles/dzi_files/:level/:xandy',
  summary: 'Get a Deep Zoom tile.',
  description: 'The extension of the name chooses JPEG or PNG.',
  params: {
    ...itemPath,
    level: required(integerText({ description: '0 is one pixel; each further level is twice as large.', minimum: 0 })),
    xandy: required(text({ description: '<column>_<row>.<extension>' })),
  },
  query: { ...gridParameters, ...renderParameters },
  returns: { types: ['image/jpeg', 'image/png'] },
  headers: pictureHeaders,
  async handle(input, services) {
    const { params, query, authorized: item } = input;
    if (!/^\d{1,4}$/.test(params.level)) throw new BadParameterError('level must be between 0 and the image scale');
    const request = { ...dropUndefined(query), level: Number(params.level), name: params.xandy };
    return replyFromTileCache(services, { item, kind: 'dzi', request, input }, (image, signal) =>
      image.dziTile({ ...request, signal }),
    );
  },
});

/** Routes that serve the image as a Deep Zoom pyramid. */
export const deepZoomRoutes = [dziDescription, dziTile];
