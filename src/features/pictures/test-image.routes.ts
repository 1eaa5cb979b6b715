import { enqueueFor } from '../../core/concurrency/queues.js';
import { boolean, integer, text, withDefault } from '../../http/parameters.js';
import { generatedImage } from '../../tilesource/sources/test/test-source.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import { Reply } from '../../http/reply.js';
import { dropUndefined, encodingParameters, renderParameters, parseTileAddress, tilePath } from '../images/picture-parameters.js';
import { largeImageSchema } from './schemas.js';

const shapeParameters = {
  minLevel: integer({ description: 'Coarsest level that exists; 0 by default.' }),
  maxLevel: integer({ description: 'Finest level, unless both sizes are given; 9 by default.' }),
  tileWidth: integer({ description: '256 by default.' }),
  tileHeight: integer({ description: '256 by default.' }),
  sizeX: integer({ description: 'Width in pixels.' }),
  sizeY: integer({ description: 'Height in pixels.' }),
  fractal: boolean({ description: 'Nested squares instead of plain tiles.' }),
  monochrome: boolean({ description: 'One gray band.' }),
  frames: text({ description: 'A count; counts of c, z, t and xy; or axis=count, separated by commas.' }),
};

const testImageRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  errors: ['bad-parameter', 'bad-value', 'busy'],
  parameterMessages: 'incorrect-type',
} as const;

const metadata = defineRoute({
  ...testImageRoute,
  path: '/item/test/tiles',
  summary: 'Get the metadata of the generated test image.',
  query: shapeParameters,
  returns: { schema: largeImageSchema },
  handle: ({ query }) => generatedImage(dropUndefined(query)).metadata(),
});

const tile = defineRoute({
  ...testImageRoute,
  path: '/item/test/tiles/zxy/:z/:x/:y',
  summary: 'Get a tile of the generated test image.',
  cookie: true,
  params: tilePath,
  query: {
    ...shapeParameters,
    ...encodingParameters,
    encoding: withDefault<string>(text({ description: 'PNG by default.' }), 'PNG'),
    frame: renderParameters.frame,
    style: renderParameters.style,
    edge: text({ description: 'Tiles at the border: crop, or a color to pad with.' }),
  },
  returns: { types: ['image/png', 'image/jpeg', 'image/webp'] },
  errors: [...testImageRoute.errors, 'tile-outside'],
  async handle(input, { queues }) {
    const { params, query, signal } = input;
    const { encoding, jpegQuality, jpegSubsampling, tiffCompression, frame, style, edge, ...shape } = query;
    const request = dropUndefined({ encoding, jpegQuality, jpegSubsampling, tiffCompression, frame, style, edge });
    const draw = () => generatedImage(dropUndefined(shape)).tile({ ...request, ...parseTileAddress(params), signal });
    const picture = await enqueueFor(queues.tiles, input)(draw);
    return Reply.content(picture.bytes, picture.type);
  },
});

/** Routes for a generated image, with which clients can be tested without a file. */
export const testImageRoutes = [metadata, tile];
