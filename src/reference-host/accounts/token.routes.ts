import { Reply, type RouteDefinition } from '../../index.js';
import { defineRoute, type HostContext } from '../context.js';
import { keyScopes } from './api-keys.js';
import { findToken, issueToken, revokeToken } from './tokens.js';
import { sessionCookie } from '../http/cookies.js';
import { returnsMessage, returnsObject } from '../http/parameters.js';

/** Tokens of sessions. */
export const tokenRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/token/session',
    summary: 'A token for an anonymous session.',
    access: 'public',
    cookie: true,
    returns: returnsObject,
    async handle({ token, origin }, context) {
      const existing = token === null ? null : await findToken(context, token);
      if (token !== null && existing !== null) return { token, expires: existing.expires };
      const days = await context.setting('core.cookie_lifetime');
      const issued = await issueToken(context, { userId: null, days, scope: ['core.anonymous_session'] });
      const headers = { 'Set-Cookie': await sessionCookie(context, issued, origin) };
      return Reply.json({ token: issued.token, expires: issued.expires }, { headers });
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/token/session',
    summary: 'End the session of the token.',
    access: 'token',
    cookie: true,
    returns: returnsMessage,
    async handle({ token, origin }, context) {
      if (token !== null) await revokeToken(context, token);
      const headers = { 'Set-Cookie': await sessionCookie(context, null, origin) };
      return Reply.json({ message: 'Session deleted.' }, { headers });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/token/current',
    summary: 'The token of the request; null without one.',
    access: 'public',
    returns: returnsObject,
    async handle({ token }, context) {
      const found = token === null ? null : await findToken(context, token);
      if (found === null) return null;
      const { created, expires, scope, userId, apiKeyId } = found;
      return { _id: token, created, expires, scope, ...(userId && { userId }), ...(apiKeyId && { apiKeyId }) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/token/scopes',
    summary: 'Scopes that API keys can be limited to.',
    access: 'public',
    returns: returnsObject,
    handle: () => keyScopes,
  }),
];
