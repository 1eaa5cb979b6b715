import { apiKeySchema, tokenSchema } from '../../http/schemas.js';
import { Types } from 'mongoose';
import { AccessDeniedError } from '../../../index.js';
import {
  boolean,
  id,
  json,
  number,
  paging,
  required,
  text,
  type RouteDefinition,
  idText,
  LevelDeniedError,
  listOf,
  objectOf,
} from '../../../larger-host.js';
import { defineRoute, type HostContext } from '../../context.js';
import { createApiKey, exchangeApiKey, loadApiKey, removeApiKey, updateApiKey } from './api-keys.js';
import { replyWithSecret } from '../../http/cookies.js';
import { replyWithPage } from '../../tree/lists.js';
import { byId, returnsMessage } from '../../http/parameters.js';
import { requireSignedIn } from '../../http/signed-in.js';
import { apiKeyView } from '../../views.js';

const sortableFields = ['name', 'created', 'lastUse', 'active', '_id'];

const tokenDaysParameter = number({ description: 'Lifetime of its tokens in days; if empty, the same as for sign-ins.' });

const keyChanges = {
  name: text({ description: 'Purpose of the key.' }),
  scope: json({ description: 'List of scopes; null for everything.' }),
  // Web clients send an empty text for an empty field of a form.
  tokenDuration: {
    ...tokenDaysParameter,
    parse: (value: string, name: string) => (value.trim() === '' ? undefined : tokenDaysParameter.parse(value, name)),
  },
  active: boolean(),
};

/** Routes for API keys. */
export const apiKeyRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'post',
    path: '/api_key/token',
    summary: 'Exchange an API key for a token.',
    access: 'public',
    query: { key: required(text()), duration: number({ description: 'Lifetime of the token in days.' }) },
    returns: { schema: objectOf({ user: objectOf({ _id: idText }), authToken: tokenSchema }) },
    errors: ['invalid', 'bad-value', 'too-often'],
    async handle({ query, address }, context) {
      const { userId, token } = await exchangeApiKey(context, { key: query.key, days: query.duration, address });
      return replyWithSecret({ user: { _id: userId }, authToken: token });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/api_key',
    summary: 'List your API keys. Administrators can also list those of another user.',
    access: 'user',
    query: { userId: id(), ...paging('name') },
    returns: { schema: listOf(apiKeySchema) },
    async handle({ query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const userId = query.userId === undefined ? principal.id : new Types.ObjectId(query.userId);
      if (!principal.admin && !userId.equals(principal.id)) {
        throw new LevelDeniedError(2, `user ${String(query.userId)}`, principal.id.toHexString());
      }
      return replyWithPage(context.models.apiKey, { userId }, { ...query, sortable: sortableFields }, apiKeyView);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/api_key',
    summary: 'Create an API key. The key itself is only in this response.',
    access: 'user',
    query: { ...keyChanges, targetUserId: id({ description: 'User of the key, who must be the caller.' }) },
    returns: { schema: apiKeySchema },
    errors: ['invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      if (query.targetUserId !== undefined && !principal.id.equals(query.targetUserId))
        throw new AccessDeniedError('Users must create their API keys themselves.');
      const { document, key } = await createApiKey(context, principal, query);
      return replyWithSecret({ ...apiKeyView(document), key });
    },
  }),
  defineRoute({
    method: 'put',
    path: '/api_key/:id',
    summary: 'Change an API key.',
    access: 'user',
    params: byId,
    query: keyChanges,
    returns: { schema: apiKeySchema },
    errors: ['invalid', 'unknown-id', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const key = await loadApiKey(context, params.id, principal);
      return apiKeyView(await updateApiKey(context, key, principal.admin, query));
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/api_key/:id',
    summary: 'Remove an API key. Its tokens become invalid.',
    access: 'user',
    params: byId,
    returns: returnsMessage,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const key = await loadApiKey(context, params.id, await requireSignedIn(context, caller));
      await removeApiKey(context, key);
      return { message: `Deleted API key ${key.name}.` };
    },
  }),
];
