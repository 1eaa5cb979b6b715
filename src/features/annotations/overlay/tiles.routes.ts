import { BadParameterError } from '../../../errors.js';
import type { AnnotationOnItem, AnnotationTileRequest, AnnotationTiles } from './tiles.js';
import { answerConditional, entityTag } from '../../../http/conditional.js';
import { scopes } from '../../../http/scopes.js';
import { parseTileAddress, tilePath as addressPath } from '../../images/picture-parameters.js';
import { id, json, number, oneOf, required, text, withDefault, type Parameter } from '../../../http/parameters.js';
import type { ColoringRequest } from './coloring/coloring-request.js';
import { Reply } from '../../../http/reply.js';
import { routeDefiner, type RouteRequest } from '../../../http/route.js';

/** The context of the routes of tiles. */
interface OverlayContext {
  overlays: AnnotationTiles;
}

type AnnotationRequest = Pick<RouteRequest, 'caller'> & { params: { id: string } };

const defineRoute = routeDefiner<OverlayContext>();

const annotationPath = { id: required(id({ description: 'The id of the annotation.' })) };

const tilePath = { ...annotationPath, ...addressPath };

/** Maximum number of groups in a request. */
const maxGroups = 1000;

function groupNamesParameter(description: string): Parameter<(string | null)[] | undefined> {
  const listParameter = json({ kind: 'array', description });
  return {
    ...listParameter,
    defaultValue: undefined,
    parse(value, name) {
      const entries = listParameter.parse(value, name) ?? [];
      if (entries.length > maxGroups) throw new BadParameterError(`Parameter ${name} must name at most ${maxGroups} groups.`);
      return entries.map((entry) => {
        if (entry === null || typeof entry === 'string') return entry;
        throw new BadParameterError(`Parameter ${name} must be a JSON array of group names and null.`);
      });
    },
  };
}

const styleQuery = {
  color: withDefault(
    oneOf(['element', 'group'], { description: 'Whether shapes have their own colors or those of their groups.' }),
    'element',
  ),
  groups: groupNamesParameter('JSON list of the groups to show; null means elements without a group. Default: all.'),
  without: groupNamesParameter('JSON list of groups that are not shown, even if they are in `groups`.'),
};

const coloringQuery = {
  colorBy: text({
    description: 'Column of the table of the annotation by whose values shapes are colored: `group`, `area`, `/score`, …',
  }),
  palette: text({ description: 'Name of the palette for numbers, as for bands of images. Default: viridis.' }),
  low: number({ description: 'Number with the first color of the palette. Default: the smallest one of the annotation.' }),
  high: number({ description: 'Number with the last color. Default: the largest one.' }),
  colors: json({
    kind: 'array',
    description:
      'Colors of categories: [["tumor", "#d62728"], …]. Others have colors derived from their names. Without colorBy, categories are groups, and other groups keep the colors of their shapes.',
  }),
  filter: json({
    kind: 'object',
    description: 'Elements to show, as a condition, see `GET annotation/:id/table/rows`. Default: all.',
  }),
  heat: oneOf(['number', 'mean'], {
    description:
      'Show shapes that are too small to be drawn individually as a heat map of 4 × 4 pixels: their number per million pixels of the image, or the mean of colorBy.',
  }),
};

/** Picks the parameters of a coloring from a query. */
function toColoringRequest({ colorBy, palette, low, high, colors, filter, heat }: ColoringRequest): ColoringRequest {
  return { colorBy, palette, low, high, colors, filter, heat };
}

const sharedRouteOptions = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  errors: [
    'bad-parameter',
    'bad-value',
    'invalid',
    'unknown-id',
    'not-found',
    'access-denied',
    'tile-outside',
    'no-large-image',
    'unavailable',
    'busy',
  ],
  errorStatus: { 'no-large-image': 404, 'tile-source': 404, 'corrupt-tile': 404 },
  authorize: ({ params, caller }: AnnotationRequest, { overlays }: OverlayContext) => overlays.load(params.id, caller),
} as const;

/**
 * Answers with a tile, or with 304 if the client's tag is current. Clients revalidate tiles each time, because the annotation may
 * have changed.
 */
async function answerTile(
  { overlays }: OverlayContext,
  input: Pick<RouteRequest, 'caller' | 'headers' | 'signal'> & { authorized: AnnotationOnItem },
  request: AnnotationTileRequest,
): Promise<Reply> {
  const tile = await overlays.openTile(input.authorized, request);
  const tag = entityTag(tile.key);
  const headers = { ETag: tag, 'Cache-Control': 'private, no-cache' };
  const unchanged = answerConditional(input.headers, tag, headers);
  if (unchanged !== null) return unchanged;
  const { bytes, type } = await tile.make(input);
  return Reply.content(bytes, type, { headers });
}

type StyleQuery = ColoringRequest & Pick<AnnotationTileRequest, 'color' | 'groups' | 'without' | 'gain'>;

function toTileRequest(
  kind: AnnotationTileRequest['kind'],
  { params, query }: { params: Parameters<typeof parseTileAddress>[0]; query: StyleQuery },
): AnnotationTileRequest {
  const { color, groups, without, gain } = query;
  return { kind, ...parseTileAddress(params), color, groups, without, gain, coloring: toColoringRequest(query) };
}

const png = defineRoute({
  ...sharedRouteOptions,
  path: '/annotation/:id/tiles/zxy/:z/:x/:y',
  forLinks: true,
  summary: 'Get a picture of the elements of an annotation over a tile of its image.',
  description:
    'PNG with transparent background, with the size and position of the tile of the item. Shapes smaller than four pixels are shown as density: the share of each pixel that they cover, by color.',
  params: tilePath,
  query: {
    ...styleQuery,
    ...coloringQuery,
    gain: number({
      minimum: 0.01,
      maximum: 1000,
      description:
        'Factor for densities; 1 shows the covered share as opacity. By default, a typical pixel of the level is shown at 75%.',
    }),
  },
  returns: { types: ['image/png'] },
  handle: (input, services) => answerTile(services, input, toTileRequest('png', input)),
});

const vector = defineRoute({
  ...sharedRouteOptions,
  path: '/annotation/:id/tiles/mvt/:z/:x/:y',
  forLinks: true,
  summary: 'Get the elements of an annotation over a tile of its image as a Mapbox vector tile.',
  description:
    'Layer `elements`: outlines cut to the tile, with id, type, group, label, fillColor, fillOpacity, lineColor, lineOpacity and lineWidth (image pixels). Layer `density`: points with the share of their 8 by 8 pixels that shapes smaller than four pixels cover. 4096 units are the width of a tile. Each layer has at most 20,000 features, the largest.',
  params: tilePath,
  query: { ...styleQuery, ...coloringQuery },
  returns: { types: ['application/vnd.mapbox-vector-tile'] },
  handle: (input, services) => answerTile(services, input, toTileRequest('mvt', input)),
});

const integer = { type: 'integer' };

const cell = { type: ['string', 'boolean', 'null'] };

const coloringSchema = {
  type: 'object',
  description: 'The meaning of the colors. Absent if there is no colorBy, filter or heat.',
  required: ['count', 'columns', 'scale', 'categories'],
  properties: {
    count: { ...integer, description: 'Number of elements that match the filter.' },
    columns: {
      type: 'object',
      description: 'Types of the columns of colorBy and filter: number, text, boolean or id.',
      additionalProperties: { type: 'string' },
    },
    scale: {
      type: ['object', 'null'],
      description: 'Range and colors of numbers, or of a heat map.',
      required: ['low', 'high', 'colors', 'none'],
      properties: {
        low: { type: 'number' },
        high: { type: 'number' },
        colors: { type: 'array', items: { type: 'string' }, description: 'Equally spaced colors from low to high, as #rrggbb.' },
        none: { type: 'string', description: 'Color of elements without a value.' },
      },
    },
    categories: {
      type: ['array', 'null'],
      description: 'Categories with their colors and numbers of elements, most frequent first.',
      items: {
        type: 'object',
        required: ['value', 'color', 'count'],
        properties: { value: cell, color: { type: 'string' }, count: integer },
      },
    },
  },
};

const describeTiles = defineRoute({
  ...sharedRouteOptions,
  path: '/annotation/:id/tiles',
  forLinks: true,
  summary: 'Get levels and sizes of the tiles of an annotation, and the colors and counts of its groups.',
  params: annotationPath,
  query: coloringQuery,
  returns: {
    schema: {
      type: 'object',
      required: ['sizeX', 'sizeY', 'tileWidth', 'tileHeight', 'levels', 'elementCount', 'version', 'groups'],
      properties: {
        sizeX: integer,
        sizeY: integer,
        tileWidth: integer,
        tileHeight: integer,
        levels: { ...integer, description: 'Number of levels, the same as of the tiles of the item. Level 0 is the smallest.' },
        elementCount: integer,
        version: integer,
        groups: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: ['string', 'null'] },
              color: { type: 'string', description: 'The color of most elements of the group, as #rrggbb.' },
              count: { ...integer, description: 'Number of elements.' },
            },
            required: ['name', 'color', 'count'],
          },
        },
        densityBelow: {
          type: 'number',
          description: 'Shapes with a shorter diagonal than this, in pixels, are shown as density.',
        },
        vectorExtent: { ...integer, description: 'Width of a vector tile in its units.' },
        coloring: coloringSchema,
      },
    },
  },
  async handle({ params, query, authorized, headers, caller, signal }, { overlays }) {
    const value = await overlays.describe(authorized, toColoringRequest(query), { caller, signal });
    const tag = entityTag(`annotation-tiles/${params.id}/${JSON.stringify(value)}`);
    const replyHeaders = { ETag: tag, 'Cache-Control': 'private, no-cache' };
    return answerConditional(headers, tag, replyHeaders) ?? Reply.json(value, { headers: replyHeaders });
  },
});

/** Routes for tiles that show annotations over the image. */
export const annotationTileRoutes = [png, vector, describeTiles];
