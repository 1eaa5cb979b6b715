import type { NextFunction, Request, Response } from 'express';
import type { HostLogger } from '../../index.js';

function escapeHtml(text: string): string {
  const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (char) => escapes[char]!);
}

/** Answers what is neither below the API nor part of the viewer by a page. */
export function answerNoPage(request: Request, response: Response): void {
  response
    .status(404)
    .set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .type('html')
    .send(`<!doctype html>\n<html lang="en"><title>Not found</title><p>Nothing is at ${escapeHtml(request.path)}.</p></html>\n`);
}

/** Answers an error that was raised outside of a route. Four parameters, since that is how Express knows it. */
export function answerError(logger: HostLogger) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    // `identifyRequests` comes before everything.
    const uid = response.getHeader('X-Request-Id');
    logger.error({ err: error, uid, path: request.path }, 'Request:Failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const message = 'An unexpected error occurred on the server.';
    response.status(500).json({ message, type: 'internal', uid });
  };
}
