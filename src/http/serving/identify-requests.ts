import type { RequestHandler } from 'express';
import { runWithRequestId } from '../../core/request-id.js';

/**
 * A middleware that gives each request an id: its `X-Request-Id`, or a new one. The response contains the id, and so does every log
 * line about the request. The plugin's own routes do this automatically; add this middleware for the other routes of a server.
 */
export const identifyRequests: RequestHandler = (request, response, next) => runWithRequestId(request, response, () => next());
