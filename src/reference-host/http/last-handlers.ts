import type { NextFunction, Request, Response } from 'express';
import type { HostLogger } from '../../index.js';
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

/** Answers an error that was thrown outside a route. Express recognizes such a handler by its four parameters. */
export function answerError(logger: HostLogger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    // `identifyRequests`, the first handler of all, has set it.
    const uid = response.getHeader('X-Request-Id');
    logger.error({ err: error, uid, path: withoutToken(request.path) }, 'Request:Failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const message = 'An unexpected error occurred on the server.';
    response.status(500).json({ message, type: 'internal', uid });
  };
}
