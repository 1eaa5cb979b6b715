import type { NextFunction, Request, Response } from 'express';
import { RE2JS } from 're2js';
import type { HostContext } from '../context.js';

/** Whether an origin matches an entry of the setting: `*` stands for any text, `?` for any character. */
function isAllowed(origin: string, entry: string): boolean {
  const pattern = entry
    .toLowerCase()
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.');
  // Linear in the length of the header, however many stars there are.
  return RE2JS.matches(pattern, origin.toLowerCase());
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
