import type { NextFunction, Request, Response } from 'express';
import type { HostLogger } from '../../index.js';
import { hideLinkTokens, respondWithError } from '../../larger-host.js';
import { escapeHtml } from './escape-html.js';

/** Answers with status 404 and a page. It is mounted last, for paths outside the API and the viewer. */
export function answerPageNotFound(request: Request, response: Response): void {
  response
    .status(404)
    .set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .type('html')
    .send(
      `<!doctype html>\n<html lang="en"><title>Not found</title><p>There is no page at ${escapeHtml(hideLinkTokens(request.path))}.</p></html>\n`,
    );
}

/**
 * Creates a handler that answers errors that are thrown outside routes, in the same form as routes do. For example, middleware throws an error
 * if the database with the settings cannot be reached. Express recognizes an error handler by its four parameters.
 */
export function createErrorHandler(logger: HostLogger) {
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    respondWithError(response, error, { anonymous: true, logger, route: hideLinkTokens(request.path) }).catch(next);
  };
}
