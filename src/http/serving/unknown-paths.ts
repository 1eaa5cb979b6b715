import type { RequestHandler } from 'express';
import { BadParameterError, NotFoundError } from '../../errors.js';
import { runWithRequestId } from '../../core/request-id.js';
import { respondWithError } from './respond.js';
import type { RouteOutline } from '../route.js';

/** A path for logs and messages, which must not contain the token of a link. */
export function hideLinkTokens(path: string): string {
  return path.replace(/(^|\/)t\/+[^/]+/gi, '$1t/***');
}

/**
 * A middleware that answers requests below the API that no route has answered, in JSON: with 400 if the resource (the first segment
 * of the path) has routes, otherwise with 404. Resources of open standards, such as `iiif`, are always answered with 404. A host adds
 * the middleware after its last route: `app.use(apiRoot, answerUnknownPaths(installation.routes))`.
 */
export function answerUnknownPaths(routes: readonly Pick<RouteOutline, 'path' | 'anyOrigin'>[]): RequestHandler {
  const resources = new Set(
    routes.filter(({ anyOrigin }) => anyOrigin !== true).map(({ path }) => path.split('/')[1]!.toLowerCase()),
  );
  return (request, response, next) => {
    const segments = request.path.split('/').filter((segment) => segment !== '');
    const isKnown = resources.has((segments[0] ?? '').toLowerCase());
    // Existing clients show the path without the API root.
    const message = `No matching route for "${request.method} ${hideLinkTokens(segments.slice(isKnown ? 1 : 0).join('/'))}"`;
    const error = isKnown ? new BadParameterError(message) : new NotFoundError(message);
    const answer = () => respondWithError(response, error, { anonymous: false, route: request.path });
    runWithRequestId(request, response, answer).catch(next);
  };
}
