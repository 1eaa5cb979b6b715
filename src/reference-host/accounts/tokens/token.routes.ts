import { anyText, component, dateText, idText, listOf, mapOf, objectOf, orNull } from '../../../larger-host.js';
import { tokenSchema } from '../../http/schemas.js';
import type { RouteDefinition } from '../../../larger-host.js';
import { defineRoute, type HostContext } from '../../context.js';
import { keyScopes } from '../api-keys/api-keys.js';
import { findToken, issueAnonymousSession, revokeToken } from './tokens.js';
import { replyWithSecret, replyWithSession } from '../../http/cookies.js';
import { returnsMessage } from '../../http/parameters.js';

/** Routes for tokens of sessions. */
export const tokenRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/token/session',
    summary: 'Create a token for an anonymous session.',
    access: 'public',
    cookie: true,
    returns: { schema: tokenSchema },
    errors: ['too-often'],
    async handle(input, context) {
      const { token, tokenFromCookie, address } = input;
      const existingToken = token === null ? null : await findToken(context, token);
      if (existingToken !== null && !tokenFromCookie) return replyWithSecret({ token, expires: existingToken.expires });
      await context.signInLimits.countCreation(address);
      const issuedToken = await issueAnonymousSession(context);
      const answer = { token: issuedToken.token, expires: issuedToken.expires };
      // A browser that already has a session keeps its cookie. The answer has a new token, because scripts must not
      // learn the token in the cookie.
      return existingToken === null ? replyWithSession(context, input, answer, issuedToken) : replyWithSecret(answer);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/token/session',
    summary: 'End the session of the token.',
    access: 'token',
    cookie: true,
    returns: returnsMessage,
    async handle(input, context) {
      if (input.token !== null) await revokeToken(context, input.token);
      return replyWithSession(context, input, { message: 'Session deleted.' }, null);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/token/current',
    summary: 'Get the token of the request, or null.',
    access: 'public',
    returns: {
      schema: orNull(
        component(
          'CurrentToken',
          objectOf(
            { _id: anyText, created: dateText, expires: dateText, scope: listOf(anyText) },
            { userId: idText, apiKeyId: idText },
          ),
        ),
      ),
    },
    async handle({ token }, context) {
      const record = token === null ? null : await findToken(context, token);
      if (record === null) return null;
      const { created, expires, scope, userId, apiKeyId } = record;
      return replyWithSecret({ _id: token, created, expires, scope, ...(userId && { userId }), ...(apiKeyId && { apiKeyId }) });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/token/scopes',
    summary: 'List the scopes that API keys can be limited to.',
    access: 'public',
    returns: { schema: mapOf(listOf(objectOf({ id: anyText, name: anyText, description: anyText }))) },
    handle: () => keyScopes,
  }),
];
