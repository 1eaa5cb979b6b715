import { NotFoundError } from '../../../errors.js';
import { required, type Parameter } from '../../../http/parameters.js';
import type { RouteRequest } from '../../../http/route.js';
import { scopes } from '../../../http/scopes.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { PictureContext } from '../context.js';

/** Declarations that all IIIF routes share. */
export const iiifRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  anyOrigin: true,
  errorStatus: { 'unknown-id': 404, 'no-large-image': 404 },
} as const;

/** A frame of an item. Each frame is an image in the sense of IIIF. */
interface ImageIdentifier {
  itemId: string;
  frame: number;
}

const identifierParameter: Parameter<ImageIdentifier | undefined> = {
  schema: { type: 'string', description: 'The id of the item; `<id>_<frame>` for a frame other than the first.' },
  required: true,
  defaultValue: undefined,
  parse(value) {
    const [, itemId, frame = '0'] = /^([0-9a-f]{24})(?:_(\d{1,9}))?$/i.exec(value) ?? [];
    if (itemId === undefined) throw new NotFoundError('There is no image with this identifier.');
    return { itemId: itemId.toLowerCase(), frame: Number(frame) };
  },
};

/** Path parameter that names the image. */
export const imagePath = { identifier: required(identifierParameter) };

/** The identifier of an image as written in addresses. Parsing the path parameter reverses this. */
export function identifierOf({ itemId, frame }: ImageIdentifier): string {
  return frame === 0 ? itemId : `${itemId}_${frame}`;
}

/**
 * Loads the item of the image in the path. The caller must be allowed to read it and the items of all files that its image is made
 * from.
 */
export function loadReadableImage(
  { params, caller }: Pick<RouteRequest, 'caller'> & { params: { identifier: ImageIdentifier } },
  { images }: Pick<PictureContext, 'images'>,
): Promise<ItemRecord> {
  return images.load(params.identifier.itemId, caller);
}

/** The start of all IIIF addresses, with the origin under which the client has reached this server. */
export function iiifRoot({ origin, root }: Pick<RouteRequest, 'origin' | 'root'>): string {
  return `${origin}${root}/iiif`;
}
