import type { NextFunction, Request, Response } from 'express';
import type { HostContext } from '../context.js';

/** Longer than any name of a host with its scheme and port: nobody has such an origin. */
const maxOriginLength = 300;

/**
 * Whether an origin matches an entry of the setting: `*` stands for any text, `?` for any character. Takes a time that grows with the product
 * of the lengths at most: only the last `*` is ever given more text.
 */
export function isAllowed(origin: string, entry: string): boolean {
  if (origin.length > maxOriginLength) return false;
  const text = origin.toLowerCase();
  const pattern = entry.toLowerCase();
  let at = 0;
  let star = -1;
  let taken = 0;
  for (let i = 0; i < text.length;) {
    if (pattern[at] === '*') {
      star = at++;
      taken = i;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[i])) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++taken;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

/** Lets pages of other origins use the API, as far as the settings allow; answers `OPTIONS` on every path. */
export function cors(context: HostContext) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { origin } = request.headers;
    const finish = () => {
      if (request.method === 'OPTIONS') response.status(200).end();
      else next();
    };
    if (origin === undefined) finish();
    else addHeaders(context, origin, request, response).then(finish, next);
  };
}

async function addHeaders(context: HostContext, origin: string, request: Request, response: Response): Promise<void> {
  const entries = (await context.setting('core.cors.allow_origin')).split(',').filter((entry) => entry !== '');
  if (entries.length === 0) return;
  // The answer differs by origin, also where the origin is refused.
  response.vary('Origin');
  response.setHeader('Access-Control-Allow-Credentials', 'true');
  response.setHeader('Access-Control-Expose-Headers', await context.setting('core.cors.expose_headers'));
  if (entries.includes('*')) response.setHeader('Access-Control-Allow-Origin', '*');
  else if (entries.some((entry) => isAllowed(origin, entry))) response.setHeader('Access-Control-Allow-Origin', origin);
  if (request.method !== 'OPTIONS') return;
  response.setHeader('Access-Control-Allow-Methods', await context.setting('core.cors.allow_methods'));
  response.setHeader('Access-Control-Allow-Headers', await context.setting('core.cors.allow_headers'));
}
