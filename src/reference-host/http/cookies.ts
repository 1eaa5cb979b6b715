import type { HostContext } from '../context.js';

/** The header that gives a browser its token, or takes it away. Scripts of pages cannot read the cookie. */
export async function sessionCookie(
  context: HostContext,
  issued: { token: string; expires: Date } | null,
  origin: string,
): Promise<string> {
  const domain = await context.setting('core.cookie_domain');
  const expires = issued?.expires ?? new Date(0);
  return [
    `${context.cookieName}=${issued?.token ?? ''}`,
    `expires=${expires.toUTCString()}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(origin.startsWith('https:') ? ['Secure'] : []),
    ...(domain === '' ? [] : [`Domain=${domain.replace(/[;\s]/g, '')}`]),
  ].join('; ');
}
