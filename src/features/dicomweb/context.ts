import type { Queues } from '../../core/concurrency/queues.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { RouteRequest } from '../../http/route.js';
import { routeDefiner, type RouteDefinition } from '../../http/route.js';
import { scopes } from '../../http/scopes.js';
import { text, required } from '../../http/parameters.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';
import type { DicomFiles } from './answers/dicom-files.js';
import type { Instances } from './answers/instances.js';
import type { Slides } from './answers/slides.js';
import type { AnnotationInstances } from './annotations/annotation-instances.js';
import type { ImageIndex } from './images/image-index.js';
import type { Address, ImageLocator, Instance } from './images/locator.js';
import type { ImageSearch } from './search/search.js';
import { resolveVisibility } from './visibility.js';

/** Services that the routes of this feature use. */
export interface DicomContext {
  records: HostRecords;
  images: Images;
  links: Links;
  queues: Queues;
  index: ImageIndex;
  locator: ImageLocator;
  search: ImageSearch;
  slides: Slides;
  files: DicomFiles;
  annotations: AnnotationInstances;
  instances: Instances;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<DicomContext>();

/** Declares a path parameter that is a UID. */
const uidParameter = (kind: string) => required(text({ description: `UID of the ${kind}.`, pattern: '^[0-9.]{1,64}$' }));

export const studyPath = { study: uidParameter('study') };
export const seriesPath = { ...studyPath, series: uidParameter('series') };
export const instancePath = { ...seriesPath, instance: uidParameter('instance') };

/** Fields that all routes for reading have in common. Parameters are `repeatable` because the standard allows it. */
export const commonRouteFields = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  anyOrigin: true,
  repeatable: true,
  errorStatus: { 'unknown-id': 404, 'no-large-image': 404, 'tile-source': 422, 'tile-outside': 404 },
} as const;

export const retrieveErrors = [
  'bad-parameter',
  'access-denied',
  'not-found',
  'not-acceptable',
  'tile-source',
  'corrupt-tile',
  'unavailable',
  'busy',
] as const;

/** The absolute address of this service for clients. It includes the token of a link if the request has one in its path. */
export function serviceRoot({ origin, root, params }: Pick<RouteRequest, 'origin' | 'root'> & { params: object }): string {
  const { token } = params as { token?: string };
  return `${origin}${root}/dicomweb${token === undefined ? '' : `/t/${token}`}`;
}

/** The address of a study, series or instance. */
export function addressOf(root: string, { study, series, instance }: Address): string {
  const parts = [`${root}/studies/${study}`];
  if (series !== undefined) parts.push(`series/${series}`);
  if (instance !== undefined) parts.push(`instances/${instance}`);
  return parts.join('/');
}

/**
 * Loads those instances at the address in the path that the caller can read. Routes authorize their requests with this
 * function, so that their handlers get the instances.
 */
export async function loadInstances(
  request: Pick<RouteRequest, 'caller' | 'address'> & { params: Address },
  context: DicomContext,
): Promise<Instance[]> {
  return context.locator.findAt(request.params, await resolveVisibility(request, context));
}

/** Adds a copy of each route, for use with a link. The path of the copy contains the token, because many clients lose headers and queries. */
export function withLinkRoutes(routes: readonly RouteDefinition<DicomContext>[]): RouteDefinition<DicomContext>[] {
  const token = required(text({ description: 'Token of a link.' }));
  const linkRoutes = routes
    .filter(({ path }) => path.startsWith('/dicomweb/'))
    // The token of a link has no scopes.
    .map(({ scope: _scope, ...route }): RouteDefinition<DicomContext> => ({
      ...route,
      path: route.path.replace('/dicomweb/', '/dicomweb/t/:token/'),
      summary: `${route.summary.replace(/\.$/, '')}, with the token of a link.`,
      params: { token, ...route.params },
      anyOrigin: 'always',
    }));
  return [...routes, ...linkRoutes];
}
