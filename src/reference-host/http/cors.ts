import type { NextFunction, Request, Response } from 'express';
import type { HostContext } from '../context.js';

/** Maximum length of an origin that is compared. The longest host name, with scheme and port, is shorter. */
const maxOriginLength = 300;

/**
 * Whether an origin matches an entry of the setting, in which `*` matches any text and `?` any character. After a mismatch, only
 * the last `*` is extended, so the time is at most proportional to the product of the lengths.
 */
export function matchesOrigin(origin: string, entry: string): boolean {
  if (origin.length > maxOriginLength) return false;
  const text = origin.toLowerCase();
  const pattern = entry.toLowerCase();
  let patternIndex = 0;
  let starIndex = -1;
  let starEnd = 0;
  for (let i = 0; i < text.length;) {
    if (pattern[patternIndex] === '*') {
      starIndex = patternIndex++;
      starEnd = i;
    } else if (patternIndex < pattern.length && (pattern[patternIndex] === '?' || pattern[patternIndex] === text[i])) {
      patternIndex++;
      i++;
    } else if (starIndex >= 0) {
      patternIndex = starIndex + 1;
      i = ++starEnd;
    } else return false;
  }
  while (pattern[patternIndex] === '*') patternIndex++;
  return patternIndex === pattern.length;
}

/** Answers `OPTIONS` requests that no route has answered. */
export function answerOptions(request: Request, response: Response, next: NextFunction): void {
  if (request.method === 'OPTIONS') response.status(200).end();
  else next();
}

/**
 * Creates middleware that adds the headers that let pages of other origins use the API, as the settings allow. Routes that are open to pages
 * of every origin add these headers themselves.
 */
export function createCorsMiddleware(context: HostContext) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { origin } = request.headers;
    if (origin === undefined) next();
    else addCorsHeaders(context, origin, request, response).then(() => next(), next);
  };
}

async function addCorsHeaders(context: HostContext, origin: string, request: Request, response: Response): Promise<void> {
  const entries = (await context.setting('core.cors.allow_origin')).split(',').filter((entry) => entry !== '');
  if (entries.length === 0) return;
  // The response depends on the origin, even if the origin is refused.
  response.vary('Origin');
  response.setHeader('Access-Control-Allow-Credentials', 'true');
  response.setHeader('Access-Control-Expose-Headers', await context.setting('core.cors.expose_headers'));
  if (entries.includes('*')) response.setHeader('Access-Control-Allow-Origin', '*');
  else if (entries.some((entry) => matchesOrigin(origin, entry))) response.setHeader('Access-Control-Allow-Origin', origin);
  if (request.method !== 'OPTIONS') return;
  response.setHeader('Access-Control-Allow-Methods', await context.setting('core.cors.allow_methods'));
  response.setHeader('Access-Control-Allow-Headers', await context.setting('core.cors.allow_headers'));
}
