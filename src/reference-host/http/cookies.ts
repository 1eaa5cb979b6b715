import { Reply } from '../../index.js';
import type { HostContext } from '../context.js';

/** Properties of a request that decide on its cookie. */
export interface Browser {
  origin: string;
  fromOtherSite: boolean;
}

const noStore = { 'Cache-Control': 'no-store' };

/** An answer with a token or a key, which no browser or proxy may keep. */
export function replyWithSecret(answer: unknown): Reply {
  return Reply.json(answer, { headers: noStore });
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
  if (fromOtherSite) return replyWithSecret(answer);
  return Reply.json(answer, { headers: { ...noStore, 'Set-Cookie': await sessionCookie(context, issued, origin) } });
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
