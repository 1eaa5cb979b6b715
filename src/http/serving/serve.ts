import type { Core } from '../../core/core.js';
import type { OnClose } from '../../core/undo.js';
import { packageVersion } from '../../core/version.js';
import type { Host } from '../../host.js';
import { describeRoutes } from '../describe/describe.routes.js';
import { ApiDocuments } from '../describe/documents.js';
import { bindRoutes, type BoundRoute, type RouteOutline } from '../route.js';
import { mountRoutes, type RequestObserver } from './mount.js';
import type { VerifyToken } from './request-tokens.js';
import { mountRouterAt } from './router-slot.js';

/**
 * Mounts routes as one router, together with the routes that describe the API.
 *
 * @param app `null` in processes that serve no requests.
 * @param onClose registers the function that removes the router.
 * @returns all routes of the plugin and the host, as `GET describe` shows them.
 * @throws InvalidHostError if something else answers at the path.
 */
export async function serveRoutes(
  boundRoutes: readonly BoundRoute[],
  {
    core: { host, brand, logger },
    app,
    authenticate,
    observe,
  }: { core: Core; app: Host['app'] | null; authenticate: VerifyToken; observe: RequestObserver | undefined },
  onClose: OnClose,
): Promise<RouteOutline[]> {
  const describedRoutes: RouteOutline[] = [];
  const { apiRoot } = host;
  const title = 'Large images';
  const { cookieName = 'girderToken', headerName = 'Girder-Token' } = host.auth;
  const documents = new ApiDocuments(describedRoutes, { title, version: packageVersion, headerName, brand });
  const describeContext = { documents, title };
  const routes = [...boundRoutes, ...bindRoutes(describeRoutes, describeContext)];
  describedRoutes.push(...routes, ...(host.routes ?? []));
  const router = mountRoutes(routes, {
    context: undefined,
    authenticate,
    tokenLocations: { cookieName, headerName },
    logger,
    observe,
  });
  if (app !== null) onClose(await mountRouterAt(app, apiRoot, router));
  return describedRoutes;
}
