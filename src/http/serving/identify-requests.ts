import type { RequestHandler } from 'express';
import { underRequestId } from '../../core/request-id.js';

/**
 * A middleware that gives each request an id: that of its `X-Request-Id`, or a new one. The answer carries the id, and so does every line that the
 * plugin logs for the request. The plugin's own routes do that by themselves; a server adds this middleware for its other routes.
 */
export const identifyRequests: RequestHandler = (request, response, next) => underRequestId(request, response, () => next());
