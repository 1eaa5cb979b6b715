import type { NextFunction, Request, Response } from 'express';
import type { HostContext } from '../context.js';

/** Longest origin that is compared. Names of hosts are shorter, with scheme and port. */
const maxOriginLength = 300;

/**
 * Whether an origin matches an entry of the setting, in which `*` matches any text and `?` any character. After a mismatch, only
 * the last `*` is extended, so the time is at most proportional to the product of the lengths.
 */
export function isAllowed(origin: string, entry: string): boolean {
  if (origin.length > maxOriginLength) return false;
  const text = origin.toLowerCase();
  const pattern = entry.toLowerCase();
  let at = 0;
  let star = -1;
  let readCount = 0;
  for (let i = 0; i < text.length;) {
    if (pattern[at] === '*') {
      star = at++;
      readCount = i;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[i])) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++readCount;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

/** Answers `OPTIONS` on every path that no route has answered. */
export function answerOptions(request: Request, response: Response, next: NextFunction): void {
  if (request.method === 'OPTIONS') response.status(200).end();
  else next();
}

/**
 * Adds the headers that let pages of other origins use the API, as the settings allow. Routes for pages of every origin extend
 * them.
 */
export function cors(context: HostContext) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { origin } = request.headers;
    if (origin === undefined) next();
    else addHeaders(context, origin, request, response).then(() => next(), next);
  };
}

async function addHeaders(context: HostContext, origin: string, request: Request, response: Response): Promise<void> {
  const entries = (await context.setting('core.cors.allow_origin')).split(',').filter((entry) => entry !== '');
  if (entries.length === 0) return;
  // The response depends on the origin, even if the origin is refused.
  response.vary('Origin');
  response.setHeader('Access-Control-Allow-Credentials', 'true');
  response.setHeader('Access-Control-Expose-Headers', await context.setting('core.cors.expose_headers'));
  if (entries.includes('*')) response.setHeader('Access-Control-Allow-Origin', '*');
  else if (entries.some((entry) => isAllowed(origin, entry))) response.setHeader('Access-Control-Allow-Origin', origin);
  if (request.method !== 'OPTIONS') return;
  response.setHeader('Access-Control-Allow-Methods', await context.setting('core.cors.allow_methods'));
  response.setHeader('Access-Control-Allow-Headers', await context.setting('core.cors.allow_headers'));
}
