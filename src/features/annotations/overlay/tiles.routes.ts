import { BadParameterError } from '../../../errors.js';
import type { AnnotationOnItem, AnnotationTileRequest, AnnotationTiles } from './tiles.js';
import { answerConditional, entityTag } from '../../../http/conditional.js';
import { scopes } from '../../../http/scopes.js';
import { tileAddress, tilePath as addressPath } from '../../images/picture-parameters.js';
import { id, json, number, oneOf, required, withDefault, type Parameter } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { routeDefiner, type RouteRequest } from '../../../http/route.js';

/** Services of these routes. */
interface OverlayContext {
  overlays: AnnotationTiles;
}

type Asked = Pick<RouteRequest, 'caller'> & { params: { id: string } };

const defineRoute = routeDefiner<OverlayContext>();

const annotationPath = { id: required(id({ description: 'The id of the annotation.' })) };

const tilePath = { ...annotationPath, ...addressPath };

/** Maximum number of groups in a request. */
const maxGroups = 1000;

function groupNames(description: string): Parameter<(string | null)[] | undefined> {
  const text = json({ kind: 'array', description });
  return {
    ...text,
    absent: undefined,
    parse(value, name) {
      const listed = text.parse(value, name) ?? [];
      if (listed.length > maxGroups) throw new BadParameterError(`Parameter ${name} must name at most ${maxGroups} groups.`);
      return listed.map((entry) => {
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
  groups: groupNames('JSON list of the groups to show; null stands for elements without a group. Default: all.'),
  without: groupNames('JSON list of groups that are not shown, even if they are in `groups`.'),
};

const shared = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  errors: [
    'bad-parameter',
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
  authorize: ({ params, caller }: Asked, { overlays }: OverlayContext) => overlays.load(params.id, caller),
} as const;

/**
 * Answers with a tile, or with 304 if the client's tag is current. Clients revalidate tiles each time, because the annotation may
 * have changed.
 */
async function answerTile(
  { overlays }: OverlayContext,
  asked: Pick<RouteRequest, 'caller' | 'headers' | 'signal'> & { granted: AnnotationOnItem },
  request: AnnotationTileRequest,
): Promise<Reply> {
  const tile = await overlays.tile(asked.granted, request);
  const tag = entityTag(tile.key);
  const headers = { ETag: tag, 'Cache-Control': 'private, no-cache' };
  const unchanged = answerConditional(asked.headers, tag, headers);
  if (unchanged !== null) return unchanged;
  const { bytes, type } = await tile.make(asked);
  return Reply.content(bytes, type, { headers });
}

const png = defineRoute({
  ...shared,
  path: '/annotation/:id/tiles/zxy/:z/:x/:y',
  summary: 'Get a picture of the elements of an annotation over a tile of its image.',
  description:
    'PNG with transparent background, with the size and position of the tile of the item. Shapes of less than four pixels are shown as density: the share of each pixel that they cover, by color.',
  params: tilePath,
  query: {
    ...styleQuery,
    gain: number({
      minimum: 0.01,
      maximum: 1000,
      description: 'Factor for densities; 1 shows true shares. By default, typical pixels of the level are shown at 75 %.',
    }),
  },
  returns: { types: ['image/png'] },
  handle: (asked, services) => answerTile(services, asked, { kind: 'png', ...tileAddress(asked.params), ...asked.query }),
});

const vector = defineRoute({
  ...shared,
  path: '/annotation/:id/tiles/mvt/:z/:x/:y',
  summary: 'Get the elements of an annotation over a tile of its image as a Mapbox vector tile.',
  description:
    'Layer `elements`: outlines cut to the tile, with id, type, group, label, fillColor, fillOpacity, lineColor, lineOpacity and lineWidth (image pixels). Layer `density`: for shapes of less than four pixels, points with the share of 8 by 8 pixels that they cover. 4096 units are the width of a tile. Each layer has at most 20 000 features, the largest.',
  params: tilePath,
  query: styleQuery,
  returns: { types: ['application/vnd.mapbox-vector-tile'] },
  handle: (asked, services) => answerTile(services, asked, { kind: 'mvt', ...tileAddress(asked.params), ...asked.query }),
});

const integer = { type: 'integer' };

const description = defineRoute({
  ...shared,
  path: '/annotation/:id/tiles',
  summary: 'Get levels and sizes of the tiles of an annotation, and the colors and counts of its groups.',
  params: annotationPath,
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
        densityBelow: { type: 'number', description: 'Shapes with a shorter diagonal, in pixels, are shown as density.' },
        vectorExtent: { ...integer, description: 'Units along the width of a vector tile.' },
      },
    },
  },
  async handle({ params, granted, headers, signal }, { overlays }) {
    const value = await overlays.describe(granted, signal);
    const tag = entityTag(`annotation-tiles/${params.id}/${JSON.stringify(value)}`);
    const replyHeaders = { ETag: tag, 'Cache-Control': 'private, no-cache' };
    return answerConditional(headers, tag, replyHeaders) ?? Reply.json(value, { headers: replyHeaders });
  },
});

/** Annotations as tiles above the image. */
export const annotationTileRoutes = [png, vector, description];
