import type { Request, Response } from 'express';

/**
 * The kind of client that sent a request.
 * - `own`: a page of this server, a page whose origin the host's CORS headers name and allow to send credentials, or a client that
 *   is not a browser.
 * - `any-site`: a page whose origin the host's CORS headers allow, but not to send credentials.
 * - `foreign`: any other page.
 */
export type Sender = 'own' | 'any-site' | 'foreign';

export const foreignMessage =
  'A page of another site cannot change anything here without a token. Send one in a header, or allow the origin on the server.';

/**
 * Determines the sender of a request from headers that browsers add and pages cannot change. The host's CORS headers are read from
 * the response, so the middleware that sets them must run before the routes.
 */
export function senderOf(request: Request, response: Response): Sender {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site === undefined ? origin === undefined : site === 'same-origin' || site === 'none') return 'own';
  const allowed = response.getHeader('Access-Control-Allow-Origin');
  if (allowed === '*') return 'any-site';
  // Sandboxed pages of any site have the origin `null`.
  if (origin === undefined || origin === 'null') return 'foreign';
  // Browsers do not send Sec-Fetch-Site over plain HTTP.
  if (site === undefined && hostOf(origin) === request.host) return 'own';
  if (allowed !== origin) return 'foreign';
  return response.getHeader('Access-Control-Allow-Credentials') === 'true' ? 'own' : 'any-site';
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
