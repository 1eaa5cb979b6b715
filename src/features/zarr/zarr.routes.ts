import type { FolderRecord, ItemRecord } from '../../core/host/records.js';
import type { Caller } from '../../host.js';
import { id, required, text } from '../../http/parameters.js';
import { routeDefiner, type RouteRequest } from '../../http/route.js';
import { component } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { LinkGrant, Links } from '../links/links.js';
import { tokenPath, tokenRoute } from '../links/token-route.js';
import { parseKey } from './keys.js';
import type { ZarrVersion } from './nodes.js';
import type { StoreRequest } from './store.js';
import type { ZarrFolders } from './zarr-folders.js';
import type { ZarrImages } from './zarr-images.js';

interface ZarrContext {
  images: Images;
  items: Items;
  links: Links;
  zarrImages: ZarrImages;
  zarrFolders: ZarrFolders;
}

const defineRoute = routeDefiner<ZarrContext>();

/** The item or folder that a request may read, and the callers of its {@link StoreRequest}. */
interface StoreAccess<Subject> {
  subject: Subject;
  caller: Caller | null;
  queuedAs: Caller | null;
  showsAssociated: boolean;
}

/**
 * Statuses of refusals. Clients treat a chunk with status 404 or 403 as one that is not stored, and fill in zeros. Therefore callers
 * without read permission get 401 for every key. An item that does not exist also gives 401, because it may have been deleted while a
 * client was reading it.
 */
const errorStatus = {
  'access-denied': 401,
  'unknown-id': 401,
  invalid: 404,
  'no-large-image': 404,
  'tile-source': 503,
} as const;

/** The schema of Zarr's documents. Chunks are bytes and have no schema. */
const documentSchema = component('ZarrDocument', {
  type: 'object',
  additionalProperties: true,
  description: 'A document of Zarr 3 or Zarr 2.',
});

const commonRouteFields = {
  method: 'get',
  errors: [
    'not-found',
    'no-large-image',
    'access-denied',
    'login-required',
    'unknown-id',
    'tile-source',
    'corrupt-tile',
    'too-large',
    'conflict',
    'precondition-failed',
    'unsatisfiable-range',
    'busy',
    'unavailable',
  ],
  returns: { schema: documentSchema, types: ['application/json', 'application/octet-stream', 'application/xml'] },
} as const;

const signedInRoute = {
  ...commonRouteFields,
  access: 'public',
  scope: scopes.read,
  cookie: true,
  anyOrigin: true,
  errorStatus,
} as const;
const linkRoute = {
  ...commonRouteFields,
  ...tokenRoute,
  errors: [...commonRouteFields.errors, 'too-often'],
  errorStatus: { ...errorStatus, ...tokenRoute.errorStatus },
} as const;

const keyPath = {
  '*': required(text({ description: 'Any name that ends in `.ome.zarr`, and the key in the store.' })),
};
const itemPath = { itemId: required(id({ description: 'The id of the item.' })), ...keyPath };
const folderPath = { folderId: required(id({ description: 'The id of the folder.' })), ...keyPath };

type StorePathRequest<Params> = Pick<RouteRequest, 'caller' | 'address'> & { params: Params };

async function authorizeItem(
  { params, caller }: StorePathRequest<{ itemId: string }>,
  { images }: ZarrContext,
): Promise<StoreAccess<ItemRecord>> {
  const subject = await images.load(params.itemId, caller);
  return { subject, caller, queuedAs: caller, showsAssociated: await images.showsAssociated(subject, caller) };
}

async function authorizeFolder(
  { params, caller }: StorePathRequest<{ folderId: string }>,
  { items }: ZarrContext,
): Promise<StoreAccess<FolderRecord>> {
  return { subject: await items.loadFolder(params.folderId, 0, caller), caller, queuedAs: caller, showsAssociated: false };
}

/** A separate caller for queues, so that requests through a link and requests of the user who made the link do not delay each other. */
function queueCallerOf({ caller, link }: LinkGrant): Caller {
  return { ...caller, id: `link ${link._id.toHexString()}` };
}

async function authorizeItemByLink(
  { params: { token, itemId }, address }: StorePathRequest<{ token: string; itemId: string }>,
  { links }: ZarrContext,
): Promise<StoreAccess<ItemRecord>> {
  const grant = await links.requireGrant(token, 'zarr', { address });
  const subject = await links.requireItem(grant, itemId);
  const showsAssociated = await links.showsAssociated(grant, subject);
  return { subject, caller: grant.caller, queuedAs: queueCallerOf(grant), showsAssociated };
}

async function authorizeFolderByLink(
  { params: { token, folderId }, address }: StorePathRequest<{ token: string; folderId: string }>,
  { links }: ZarrContext,
): Promise<StoreAccess<FolderRecord>> {
  const grant = await links.requireGrant(token, 'zarr', { address });
  return {
    subject: await links.requireFolder(grant, folderId),
    caller: grant.caller,
    queuedAs: queueCallerOf(grant),
    showsAssociated: false,
  };
}

interface StoreRouteRequest<Subject> extends Pick<RouteRequest, 'headers' | 'signal'> {
  params: { '*': string };
  authorized: StoreAccess<Subject>;
}

function toStoreRequest<Subject>(request: StoreRouteRequest<Subject>, version: ZarrVersion): StoreRequest {
  const { caller, queuedAs, showsAssociated } = request.authorized;
  return {
    version,
    headers: request.headers,
    caller,
    queuedAs,
    showsAssociated,
    // The signal is created when it is first read, so it is not read here.
    get signal() {
      return request.signal;
    },
  };
}

const answerImage =
  (version: ZarrVersion) =>
  (request: StoreRouteRequest<ItemRecord>, { zarrImages }: ZarrContext) =>
    zarrImages.answerKey(request.authorized.subject, parseKey(request.params['*']), toStoreRequest(request, version));

const answerFolder =
  (version: ZarrVersion) =>
  (request: StoreRouteRequest<FolderRecord>, { zarrFolders }: ZarrContext) =>
    zarrFolders.answerKey(request.authorized.subject, parseKey(request.params['*']), toStoreRequest(request, version));

const storeFormats = [
  { version: 3, pathName: 'zarr', format: 'OME-Zarr 0.5 (Zarr 3)' },
  { version: 2, pathName: 'zarr2', format: 'OME-Zarr 0.4 (Zarr 2)' },
] as const;

/** Routes that serve images and folders as OME-Zarr, for callers who are signed in and for links. */
export const zarrRoutes = storeFormats.flatMap(({ version, pathName, format }) => [
  defineRoute({
    ...signedInRoute,
    path: `/item/:itemId/${pathName}/*`,
    summary: `Read the image of an item as ${format}.`,
    description: 'Keys that do not exist are answered with 404, keys that the caller has no permission to read with 401.',
    params: itemPath,
    authorize: authorizeItem,
    handle: answerImage(version),
  }),
  defineRoute({
    ...linkRoute,
    path: `/item/:itemId/${pathName}/t/:token/*`,
    summary: `Read the image of an item as ${format}, through a link.`,
    params: { ...itemPath, ...tokenPath },
    authorize: authorizeItemByLink,
    handle: answerImage(version),
  }),
  defineRoute({
    ...signedInRoute,
    path: `/folder/:folderId/${pathName}/*`,
    summary: `Read the images of a folder as one ${format}, \`0/\` and so on.`,
    description: 'At most 500 images.',
    params: folderPath,
    authorize: authorizeFolder,
    handle: answerFolder(version),
  }),
  defineRoute({
    ...linkRoute,
    path: `/folder/:folderId/${pathName}/t/:token/*`,
    summary: `Read the images of a folder as one ${format}, through a link.`,
    params: { ...folderPath, ...tokenPath },
    authorize: authorizeFolderByLink,
    handle: answerFolder(version),
  }),
]);
