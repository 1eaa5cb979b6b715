import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import type { HostLogger, RouteDefinition } from '../../index.js';

function escapeHtml(text: string): string {
  const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (char) => escapes[char]!);
}

/** Without the query, which may hold a token. */
function pathOf(request: Request): string {
  return new URL(request.originalUrl, 'http://localhost').pathname;
}

/** Answers what no route has answered: an error in JSON below a known resource, a page anywhere else. */
export function answerUnmatched(apiRoot: string, routes: readonly Pick<RouteDefinition, 'path'>[]) {
  const resources = new Set(routes.map(({ path }) => path.split('/')[1]!));
  return (request: Request, response: Response): void => {
    const pathname = pathOf(request);
    if (pathname.startsWith(`${apiRoot}/`)) {
      const [resource = '', ...rest] = pathname.slice(apiRoot.length + 1).split('/');
      if (resources.has(resource)) {
        const message = `No matching route for "${request.method} ${rest.filter((part) => part !== '').join('/')}"`;
        response.setHeader('Girder-Request-Uid', randomUUID());
        response.status(400).json({ message, type: 'rest' });
        return;
      }
    }
    response
      .status(404)
      .set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
      .type('html')
      .send(`<!doctype html>\n<html lang="en"><title>Not found</title><p>Nothing is at ${escapeHtml(pathname)}.</p></html>\n`);
  };
}

/** Answers an error that was raised outside of a route. Four parameters, since that is how Express knows it. */
export function answerError(logger: HostLogger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const uid = randomUUID();
    logger.error({ err: error, uid, path: pathOf(request) }, 'Request:Failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const message = 'An unexpected error occurred on the server.';
    response.status(500).json({ message, type: 'internal', uid });
  };
}
