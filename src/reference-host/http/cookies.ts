import { Reply } from '../../index.js';
import type { HostContext } from '../context.js';

/** Properties of a request that decide on its cookie. */
export interface Browser {
  origin: string;
  fromOtherSite: boolean;
}

/**
 * An answer that sets the cookie with the token, or removes it if `issued` is `null`. A page of another site gets the answer without a cookie, because it
 * must not sign its visitors in or out here.
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

/** A cookie that scripts cannot read, and that browsers send from other sites only when the user follows a link. */
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
