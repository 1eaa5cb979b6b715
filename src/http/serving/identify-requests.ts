import type { RequestHandler } from 'express';
import { underRequestId } from '../../core/request-id.js';

/**
 * A middleware that gives each request an id, that of its `X-Request-Id` where it has one: the answer has it, and every line that the plugin logs
 * for the request. Routes of the plugin do so themselves; before the others of a server it makes theirs the same.
 */
export const identifyRequests: RequestHandler = (request, response, next) => underRequestId(request, response, () => next());
