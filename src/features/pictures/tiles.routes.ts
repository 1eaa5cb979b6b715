import { BadParameterError } from '../../errors.js';
import { integerText, oneOf, required, text, withDefault } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute, type PictureContext } from './context.js';
import { loadReadableItem } from './authorize.js';
import type { ItemRecord } from '../../core/host/records.js';
import { itemPath } from '../items/item-path.js';
import { dropUndefined, renderParameters, parseTileAddress, tilePath } from '../images/picture-parameters.js';
import { pictureDefaults } from '../../tilesource/picture-parameters.js';
import { replyFromTileCache, type PictureInput } from './picture-reply.js';
import { pictureHeaders, pictureTypes } from './picture-route.js';

const tileQuery = {
  ...renderParameters,
  edge: text({ description: 'Tiles at the border: crop, or a color to pad with.' }),
  redirect: withDefault(
    oneOf(['false', 'exact', 'encoding', 'any'], {
      description:
        'When to redirect to the download if the file is a single picture: never (`false`), if its encoding and quality match (`exact`), ' +
        'if its encoding matches (`encoding`), or always (`any`).',
    }),
    'false',
  ),
};

type Redirect = 'false' | 'exact' | 'encoding' | 'any';

/**
 * The address at which the file can be downloaded, if the file is one untiled picture that can be sent instead of the tile; otherwise
 * `null`. The image must have one level, and the request must be for the whole level, without style, edge or another frame.
 *
 * @param redirect which files can be sent: with `any` all JPEG and PNG files, with `encoding` those in the requested encoding, with
 * `exact` only those that also have the requested JPEG quality.
 */
async function findDownloadPath(
  { files, records, images }: PictureContext,
  item: ItemRecord,
  redirect: Redirect,
  request: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  if (redirect === 'false' || files.downloadPath === undefined) return null;
  if (
    request.style !== undefined ||
    request.edge !== undefined ||
    request.zProject !== undefined ||
    (request.frame ?? pictureDefaults.frame) !== pictureDefaults.frame
  )
    return null;
  if (request.level !== 0 || request.x !== 0 || request.y !== 0) return null;
  const file = await records.findFile(item.largeImage?.fileId ?? '');
  const encoding = request.encoding ?? pictureDefaults.encoding;
  if (file === null || (encoding !== 'JPEG' && encoding !== 'PNG')) return null;
  const webPicture = await images.detectWebPicture(file, item.largeImage?.sourceName);
  if (webPicture === null || (redirect !== 'any' && webPicture.encoding !== encoding)) return null;
  if (redirect === 'exact' && webPicture.encoding === 'JPEG') {
    const quality = typeof request.jpegQuality === 'number' ? request.jpegQuality : pictureDefaults.jpegQuality;
    if (webPicture.quality === null || Math.abs(webPicture.quality - quality) > 1) return null;
  }
  const isSingleLevel = await images.use(item, (image) => image.metadata().levels === 1);
  return isSingleLevel ? files.downloadPath(file.doc) : null;
}

async function answerTile(
  services: PictureContext,
  input: PictureInput & { authorized: ItemRecord; prefix: string },
  address: { level: number; x: number; y: number },
  { redirect, ...query }: Record<string, unknown> & { redirect: Redirect },
): Promise<Reply> {
  const item = input.authorized;
  const request = { ...dropUndefined(query), ...address };
  const downloadPath = await findDownloadPath(services, item, redirect, request);
  if (downloadPath !== null) return Reply.redirect(`${input.prefix}${downloadPath}`);
  const requestedPicture = { item, kind: 'tile', request, input };
  return replyFromTileCache(services, requestedPicture, (image, signal) => image.tile({ ...request, signal }));
}

const tileRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  returns: { types: pictureTypes },
  headers: pictureHeaders,
  errors: [
    'bad-parameter',
    'bad-value',
    'unknown-id',
    'access-denied',
    'tile-outside',
    'no-large-image',
    'tile-source',
    'corrupt-tile',
    'busy',
  ],
  errorStatus: { 'no-large-image': 404, 'tile-source': 404, 'corrupt-tile': 404 },
  parameterMessages: 'incorrect-type',
  authorize: loadReadableItem,
} as const;

const zxy = defineRoute({
  ...tileRoute,
  path: '/item/:itemId/tiles/zxy/:z/:x/:y',
  forLinks: true,
  summary: 'Get a tile of the image.',
  description:
    'Tiles at the right and bottom border are padded to full size: transparent in PNG and WEBP, black in JPEG, unless `edge` says otherwise.',
  params: { ...itemPath, ...tilePath },
  query: tileQuery,
  handle: (input, services) => answerTile(services, input, parseTileAddress(input.params), input.query),
});

const fzxy = defineRoute({
  ...tileRoute,
  path: '/item/:itemId/tiles/fzxy/:frame/:z/:x/:y',
  forLinks: true,
  summary: 'Get a tile of one frame of the image.',
  params: { ...itemPath, frame: required(integerText({ description: 'Frame, from 0.', minimum: 0 })), ...tilePath },
  query: tileQuery,
  handle(input, services) {
    const { params, query } = input;
    if (!/^[-+]?\d{1,15}$/.test(params.frame)) throw new BadParameterError('"frame" parameter is an incorrect type.');
    return answerTile(services, input, parseTileAddress(params), { ...query, frame: Number(params.frame) });
  },
});

/** Routes for tiles by level, column and row. */
export const tileRoutes = [zxy, fzxy];
