import { tokenSchema, userSchema } from '../../http/schemas.js';
import { AccessDeniedError } from '../../../index.js';
import {
  BadParameterError,
  type Reply,
  type RouteDefinition,
  anyText,
  objectOf,
  orNull,
  required,
  text,
} from '../../../larger-host.js';
import { defineRoute, type HostContext } from '../../context.js';
import type { UserDocument } from '../users/user.model.js';
import { loadPrincipal, type Principal } from '../../access/access.js';
import { issueSignInToken, revokeToken } from '../tokens/tokens.js';
import { signIn } from './sign-in.js';
import { redeemSignInLink } from './sign-in-link.js';
import { isLoopback } from '../../http/loopback.js';
import { replyWithSecret, replyWithSession, type SessionRequest } from '../../http/cookies.js';
import { returnsMessage, scopes } from '../../http/parameters.js';
import { userView } from '../../views.js';

/** Reads login and password from `Authorization: Basic`. */
function parseBasicHeader(header: string | undefined): { login: string; password: string } {
  const match = /^\s*basic\s+(\S+)\s*$/i.exec(header ?? '');
  if (match === null) {
    if (/^\s*basic(\s|$)/i.test(header ?? '')) throw new BadParameterError('Invalid HTTP Authorization header');
    throw new BadParameterError('Use HTTP Basic Authentication');
  }
  let credentials: string;
  try {
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(match[1]!)) throw new TypeError('not base64');
    credentials = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(match[1]!, 'base64'));
  } catch (cause) {
    throw new BadParameterError('Invalid HTTP Authorization header', { cause });
  }
  const colon = credentials.indexOf(':');
  if (colon < 0) throw new BadParameterError('Invalid HTTP Authorization header');
  return { login: credentials.slice(0, colon), password: credentials.slice(colon + 1) };
}

const signedInSchema = objectOf({ user: userSchema, authToken: tokenSchema, message: anyText });

/** Replies to a user who has just signed in, with a new token. */
async function replyToSignIn(context: HostContext, request: SessionRequest, user: UserDocument): Promise<Reply> {
  const issuedToken = await issueSignInToken(context, user);
  const principal: Principal = { id: user._id, admin: user.admin, groups: user.groups, seesPrivate: true };
  const answer = { user: userView(user, principal), authToken: issuedToken, message: 'Login succeeded.' };
  return replyWithSession(context, request, answer, issuedToken);
}

/** Routes for signing in and out. */
export const signInRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/user/authentication',
    summary: 'Sign in with login, or email address, and password.',
    access: 'public',
    returns: { schema: signedInSchema },
    errors: ['bad-parameter', 'access-denied', 'bad-value', 'too-often', 'busy'],
    errorStatus: { 'bad-parameter': 401, 'access-denied': 401 },
    async handle(input, context) {
      const { headers, caller, token, address } = input;
      if (caller?.id != null && token !== null) {
        const user = await context.models.user.findById(caller.id).lean<UserDocument>();
        const { expires, scopes: scope } = caller;
        if (user !== null) {
          const authToken = { token, expires, scope };
          return replyWithSecret({
            user: userView(user, await loadPrincipal(context, caller)),
            authToken,
            message: 'Login succeeded.',
          });
        }
      }
      const authorization = headers['girder-authorization'] ?? headers.authorization;
      const { login, password } = parseBasicHeader(Array.isArray(authorization) ? authorization[0] : authorization);
      const user = await signIn(context, { name: login, password, address });
      return replyToSignIn(context, input, user);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/user/authentication/link',
    summary:
      'Sign in with the link that the server printed when it started. It works once, for ten minutes, and only on the same machine.',
    access: 'public',
    query: { link: required(text()) },
    returns: { schema: signedInSchema },
    errors: ['access-denied'],
    errorStatus: { 'access-denied': 401 },
    async handle(input, context) {
      const user = isLoopback(input.address) ? await redeemSignInLink(context, input.query.link) : null;
      if (user === null) throw new AccessDeniedError('This sign-in link has already been used, or has expired.');
      return replyToSignIn(context, input, user);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/user/authentication',
    summary: 'Sign out. The token becomes invalid.',
    access: 'public',
    cookie: true,
    returns: returnsMessage,
    async handle(input, context) {
      if (input.token !== null) await revokeToken(context, input.token);
      return replyWithSession(context, input, { message: 'Logged out.' }, null);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/user/me',
    summary: 'Get the signed-in user, or null.',
    access: 'public',
    scope: scopes.userInfo,
    returns: { schema: orNull(userSchema) },
    async handle({ caller }, context) {
      const user = caller?.id == null ? null : await context.models.user.findById(caller.id).lean<UserDocument>();
      return user === null ? null : userView(user, await loadPrincipal(context, caller));
    },
  }),
];
