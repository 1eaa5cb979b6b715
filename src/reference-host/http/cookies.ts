import type { IncomingHttpHeaders } from 'node:http';
import { Reply } from '../../larger-host.js';
import type { HostContext } from '../context.js';

/** Properties of a request that decide which cookie its response sets. */
export interface SessionRequest {
  origin: string;
  prefix: string;
  headers: IncomingHttpHeaders;
  fromOtherSite: boolean;
}

const noStore = { 'Cache-Control': 'no-store' };

/** A response with a token or a key, which no browser or proxy may cache. */
export function replyWithSecret(body: unknown): Reply {
  return Reply.json(body, { headers: noStore });
}

/**
 * A response that sets the cookie with the token, or removes the cookie if `issuedToken` is `null`. A response to a page of another site
 * leaves the cookie unchanged, because the page must not sign its visitors in or out here.
 */
export async function replyWithSession(
  context: HostContext,
  request: SessionRequest,
  body: unknown,
  issuedToken: { token: string; expires: Date } | null,
): Promise<Reply> {
  if (request.fromOtherSite) return replyWithSecret(body);
  return Reply.json(body, { headers: { ...noStore, 'Set-Cookie': await createSessionCookie(context, issuedToken, request) } });
}

/** A cookie that scripts cannot read, and that browsers send from other sites only when the user follows a link. */
async function createSessionCookie(
  context: HostContext,
  issuedToken: { token: string; expires: Date } | null,
  { origin, prefix, headers }: SessionRequest,
): Promise<string> {
  const domain = await context.setting('core.cookie_domain');
  const isSecure = origin.startsWith('https:');
  // The path keeps apart servers on the same host whose cookies have the same name. For clients that do not connect through the proxy, the
  // prefix is not a part of the path.
  const isDirect = new URL(origin).host !== headers.host && !('x-forwarded-host' in headers || 'x-forwarded-prefix' in headers);
  const path = isDirect ? '' : prefix;
  const expires = issuedToken?.expires ?? new Date(0);
  return [
    `${context.cookieName}=${issuedToken?.token ?? ''}`,
    `expires=${expires.toUTCString()}`,
    `Path=${path || '/'}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
    ...(domain === '' ? [] : [`Domain=${domain.replace(/[;\s]/g, '')}`]),
  ].join('; ');
}
