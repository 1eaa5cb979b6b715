import { AccessDeniedError, LargeImageError } from '../errors.js';
import type { Caller } from '../host.js';
import type { RouteAccess } from './route.js';

const userScope = 'core.user_auth';

/** Whether a caller's token is valid for a scope. A full sign-in has every scope of its user. */
export function hasScope(caller: Caller, scope: string): boolean {
  return caller.scopes.includes(scope) || (caller.id !== null && caller.scopes.includes(userScope));
}

/** Whether a route treats the caller as anonymous, because there is no token, or the token lacks the scope of the route. */
export function isAnonymous(caller: Caller | null, { access, scope }: { access: RouteAccess; scope?: string }): boolean {
  if (caller === null) return true;
  // Tokens of anonymous sessions have no scopes, so these tokens need no scope.
  if (access === 'token') return scope !== undefined && caller.id !== null && !hasScope(caller, scope);
  return !hasScope(caller, scope ?? userScope);
}

/** The caller if the token has the scope, otherwise `null`, as for callers without a token. */
export function callerWithScope(verified: Caller | null, scope: string): Caller | null {
  return verified !== null && hasScope(verified, scope) ? verified : null;
}

/**
 * The caller as a route sees it: `null` if the token lacks the scope.
 *
 * @throws LargeImageError `login-required` or `access-denied` if the route is not for this caller.
 */
export function admitCaller(caller: Caller | null, access: RouteAccess, scope: string | undefined): Caller | null {
  const admitted = isAnonymous(caller, { access, ...(scope !== undefined && { scope }) }) ? null : caller;
  if (access === 'token') {
    if (admitted === null) throw new LargeImageError('login-required', 'You must be logged in or have a valid auth token.');
    return admitted;
  }
  if (access === 'admin' && admitted?.admin !== true) throw new AccessDeniedError('Administrator access required.');
  if (access === 'user' && (admitted === null || admitted.id === null)) {
    throw new LargeImageError('login-required', 'You must be logged in.');
  }
  return admitted;
}
