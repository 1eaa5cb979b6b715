import { Reply } from '../../index.js';
import type { HostContext } from '../context.js';

/** What a request says about the browser that sent it. */
export interface Browser {
  origin: string;
  fromOtherSite: boolean;
}

/**
 * An answer that gives the browser its token in a cookie, or with `null` takes it away. A page of another site changes nothing of who its
 * visitors are here: it gets the answer alone.
 */
export async function replyWithSession(
  context: HostContext,
  { origin, fromOtherSite }: Browser,
  answer: unknown,
  issued: { token: string; expires: Date } | null,
): Promise<Reply> {
  const headers = { 'Cache-Control': 'no-store' };
  if (fromOtherSite) return Reply.json(answer, { headers });
  return Reply.json(answer, { headers: { ...headers, 'Set-Cookie': await sessionCookie(context, issued, origin) } });
}

/** Scripts of pages cannot read the cookie. Pages of other sites send it only with a link that somebody follows. */
async function sessionCookie(
  context: HostContext,
  issued: { token: string; expires: Date } | null,
  origin: string,
): Promise<string> {
  const domain = await context.setting('core.cookie_domain');
  const isSecure = origin.startsWith('https:') || (await context.setting('core.server_root')).startsWith('https:');
  const expires = issued?.expires ?? new Date(0);
  return [
    `${context.cookieName}=${issued?.token ?? ''}`,
    `expires=${expires.toUTCString()}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
    ...(domain === '' ? [] : [`Domain=${domain.replace(/[;\s]/g, '')}`]),
  ].join('; ');
}
