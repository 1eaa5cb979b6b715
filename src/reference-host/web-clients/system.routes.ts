import { Types } from 'mongoose';
import {
  accessSchema,
  anything,
  anyText,
  BadParameterError,
  boolean,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  settingsList,
  text,
  anyInteger,
  withDefault,
  type RouteDefinition,
} from '../../larger-host.js';
import { createAccessFilter, describeAccessList, loadPrincipal } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { scopes } from '../http/parameters.js';

/** Routes that web clients call in addition to the routes of their pages. */
export const webClientRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/system/plugin_static_files',
    summary: 'Get the scripts and style sheets of plugins for another web client; this server has none.',
    access: 'public',
    returns: { schema: objectOf({ css: listOf(anyText), js: listOf(anyText) }) },
    handle: () => ({ css: [], js: [] }),
  }),
  defineRoute({
    method: 'get',
    path: '/system/setting/default',
    summary: 'Get settings: their current values, their defaults, or only explicitly set values, with null for all others.',
    access: 'admin',
    scope: 'core.setting.read',
    query: {
      key: text({ description: 'Name of one setting.' }),
      list: settingsList('Names of several settings; the response is then an object.'),
      default: oneOf(['none', 'default', ''], {
        description: 'none: null for settings with their default; default: the defaults.',
      }),
    },
    returns: { schema: anything },
    errors: ['bad-parameter'],
    async handle({ query }, { plugin: { settings } }) {
      const readSetting = async (key: unknown): Promise<unknown> => {
        if (typeof key !== 'string') throw new BadParameterError('Entries of the list must be names of settings.');
        const setting = settings.definitions.find((definition) => definition.key === settings.keyOf(key));
        if (query.default === 'default') return setting?.default ?? null;
        const value = await settings.get(key);
        const isDefault = JSON.stringify(value) === JSON.stringify(setting?.default ?? null);
        return query.default === 'none' && isDefault ? null : value;
      };
      if (query.list !== undefined) {
        return Object.fromEntries(
          await Promise.all(query.list.map(async (key) => [String(key), await readSetting(key)] as const)),
        );
      }
      if (query.key === undefined) throw new BadParameterError('Parameter "key" is required.');
      return readSetting(query.key);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/system/setting/collection_creation_policy/access',
    summary: 'Get who can create collections, in addition to administrators, as an access list.',
    access: 'admin',
    scope: 'core.setting.read',
    returns: { schema: accessSchema },
    async handle(_input, context) {
      const { users, groups } = await context.setting('core.collection_create_policy');
      const toEntries = (ids: readonly string[]) =>
        ids.map((id) => ({ id: new Types.ObjectId(id), level: 0 as const, flags: [] }));
      return describeAccessList(context, { access: { users: toEntries(users), groups: toEntries(groups) }, public: false });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/oauth/provider',
    summary: 'List other services with which users can sign in; this server has none.',
    access: 'public',
    query: {
      redirect: text({ description: 'Address to which the client is redirected afterwards.' }),
      list: withDefault(boolean({ description: 'Whether the response is a list.' }), false),
    },
    returns: { schema: { oneOf: [listOf(anyText), mapOf(anyText)] } },
    handle: ({ query }) => (query.list ? [] : {}),
  }),
  defineRoute({
    method: 'get',
    path: '/worker/status',
    summary: 'List the processes on this database, with the numbers of running and waiting jobs.',
    access: 'admin',
    returns: { schema: objectOf({ ping: mapOf(objectOf({ ok: anyText })), running: anyInteger, queued: anyInteger }) },
    async handle(_input, { models, plugin: { jobs } }) {
      const processes = await models.hostProcess.find({}, { _id: 1 }).lean();
      const [queued, running] = await Promise.all([jobs.count(1), jobs.count(2)]);
      return { ping: Object.fromEntries(processes.map(({ _id }) => [String(_id), { ok: 'pong' }])), running, queued };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/user/details',
    summary: 'Count the users that you can see.',
    access: 'user',
    scope: scopes.read,
    returns: { schema: objectOf({ nUsers: anyInteger }) },
    async handle({ caller }, context) {
      const filter = createAccessFilter(await loadPrincipal(context, caller), 0);
      return { nUsers: await context.models.user.countDocuments(filter) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/collection/details',
    summary: 'Count the collections that you can see.',
    access: 'public',
    scope: scopes.read,
    returns: { schema: objectOf({ nCollections: anyInteger }) },
    async handle({ caller }, context) {
      const filter = createAccessFilter(await loadPrincipal(context, caller), 0);
      return { nCollections: await context.models.collection.countDocuments(filter) };
    },
  }),
];
