import type { NextFunction, Request, Response } from 'express';
import type { HostLogger } from '../../index.js';
import { respondWithError } from '../../larger-host.js';
import { escapeHtml } from './escape-html.js';

/** Answers requests for anything except the API and the viewer with a page that says that nothing was found. */
export function answerNoPage(request: Request, response: Response): void {
  response
    .status(404)
    .set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .type('html')
    .send(
      `<!doctype html>\n<html lang="en"><title>Not found</title><p>There is no page at ${escapeHtml(request.path)}.</p></html>\n`,
    );
}

/** A path without the token of a link, which must not be in logs. */
function withoutToken(path: string): string {
  return path.replace(/\/t\/[^/]+/g, '/t/***');
}

/**
 * Answers an error that was thrown outside a route, as routes answer theirs: the settings that the middleware reads are in the
 * database, which may be away. Express recognizes such a handler by its four parameters.
 */
export function answerError(logger: HostLogger) {
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    respondWithError(response, error, { anonymous: true, logger, route: withoutToken(request.path) }).catch(next);
  };
}
