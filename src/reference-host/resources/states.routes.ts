import { json, oneOf, required, type RouteDefinition } from '../../larger-host.js';
import { loadPrincipal } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { scopes } from '../http/parameters.js';
import type { ItemDocument } from '../tree/item.model.js';
import { loadResources, parseResources } from './named-resources.js';
import { itemStates, setItemState } from './states.js';

/** Maximum number of items in one request. Each item needs several writes, one after the other. */
const maxItems = 500;

/** The route for the states of images. */
export const stateRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'put',
    path: '/resource/state',
    summary: 'Set the review state of several items: to do, in review, done.',
    description:
      'The state is `reviewState` in the metadata of each item, with `reviewStateBy`, the login of the caller, and `reviewStateAt`. Without `state`, all three are removed.',
    access: 'user',
    scope: scopes.write,
    query: {
      resources: required(json({ kind: 'object', description: 'Ids of items: {"item": [...]}.' })),
      state: oneOf(itemStates, { description: 'The new state. Default: none.' }),
    },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query: { resources, state }, caller }, context) {
      const references = parseResources(resources, ['item'], { limit: maxItems });
      const principal = await loadPrincipal(context, caller);
      const items = await loadResources(context, references, principal, 1);
      const user = await context.models.user.findById(principal.id, { login: 1 }).lean();
      for (const { doc } of items) await setItemState(context, doc as ItemDocument, { state, login: user?.login ?? '' });
      return null;
    },
  }),
];
