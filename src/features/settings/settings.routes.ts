import { BadParameterError } from '../../errors.js';
import type { Settings } from './settings.js';
import { constantName } from './definition.js';
import { routeDefiner } from '../../http/route.js';
import { anyInteger, anyNumber, anyText, anything, listOf, objectOf } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import { json, required, text, type Parameter } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';

const defineRoute = routeDefiner<{ settings: Settings }>();

/** Maximum number of settings in one request. */
const maxSettingsPerRequest = 1000;

/** A parameter that lists settings. */
export function settingsList(description: string): Parameter<unknown[] | undefined> {
  const parameter = json({ kind: 'array', description });
  return {
    ...parameter,
    parse(value, name) {
      const list = parameter.parse(value, name);
      if (list !== undefined && list.length > maxSettingsPerRequest) {
        throw new BadParameterError(`Parameter ${name} may have at most ${maxSettingsPerRequest} entries.`);
      }
      return list;
    },
  };
}

const get = defineRoute({
  method: 'get',
  path: '/system/setting',
  summary: 'Get the value of a setting, or of several.',
  access: 'admin',
  scope: scopes.readSettings,
  query: {
    key: text({ description: 'Name of one setting.' }),
    list: settingsList('Names of several settings; the response is then an object.'),
  },
  returns: { schema: anything },
  errors: ['bad-parameter'],
  async handle({ query }, { settings }) {
    if (query.list !== undefined) {
      const values: [string, unknown][] = [];
      for (const key of query.list) {
        if (typeof key !== 'string') throw new BadParameterError('Entries of the list must be names of settings.');
        values.push([key, await settings.get(key)]);
      }
      return Object.fromEntries(values);
    }
    if (query.key === undefined) throw new BadParameterError('Parameter "key" is required.');
    return settings.get(query.key);
  },
});

/** Parses a text that is JSON; any other text is the value itself. */
function parseIfJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function parseChanges(list: unknown[]): { key: string; value: unknown }[] {
  return list.map((entry) => {
    const isPair = typeof entry === 'object' && entry !== null && 'key' in entry && typeof entry.key === 'string';
    if (!isPair) throw new BadParameterError('Entries of the list must be objects with the members key and value.');
    const { key, value } = entry as { key: string; value?: unknown };
    return { key, value };
  });
}

/** Writes settings one after another. @returns the keys whose value has changed. */
async function writeChanges(settings: Settings, changes: { key: string; value: unknown }[]): Promise<string[]> {
  const changedKeys: string[] = [];
  const keys = new Set(settings.definitions.map(({ key }) => key));
  for (const { key, value } of changes) {
    // Pages of other versions send all settings that they know, with null for empty ones, so null for an unknown setting is
    // ignored.
    if (value === null && changes.length > 1 && !keys.has(settings.keyOf(key))) continue;
    if (await settings.set(key, parseIfJson(value))) changedKeys.push(settings.keyOf(key));
  }
  return changedKeys;
}

/** The response to a change. If the color correction has changed, it tells the browser to clear its cache of pictures. */
function replyToChange(value: unknown, changedKeys: readonly string[]): Reply {
  const hasNewCorrection = changedKeys.includes('large_image.icc_correction');
  return hasNewCorrection ? Reply.json(value, { headers: { 'Clear-Site-Data': '"cache"' } }) : Reply.json(value);
}

const put = defineRoute({
  method: 'put',
  path: '/system/setting',
  summary: 'Set one or several settings; null restores the default.',
  description:
    'Values are parsed as JSON if possible. Settings are stored one after the other. The first invalid value ends the request; earlier ones stay set.',
  access: 'admin',
  scope: scopes.user,
  query: {
    key: text({ description: 'Name of one setting.' }),
    value: text({ description: 'Its value.' }),
    list: settingsList('Several: [{"key": …, "value": …}, …].'),
  },
  returns: { schema: { type: 'boolean' } },
  errors: ['bad-parameter', 'invalid'],
  async handle({ query }, { settings }) {
    if (query.list !== undefined) return replyToChange(true, await writeChanges(settings, parseChanges(query.list)));
    if (query.key === undefined) throw new BadParameterError('Parameter "key" is required.');
    return replyToChange(true, await writeChanges(settings, [{ key: query.key, value: query.value ?? null }]));
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/system/setting',
  summary: 'Restore the default of a setting.',
  access: 'admin',
  scope: scopes.user,
  query: { key: required(text()) },
  returns: { schema: { type: 'null' } },
  errors: ['invalid'],
  async handle({ query }, { settings }) {
    return replyToChange(null, (await settings.unset(query.key)) ? [settings.keyOf(query.key)] : []);
  },
});

/** Describes the schemas of settings. These schemas use only the keywords below, so that pages can make inputs from them. */
const settingSchema = {
  description: 'The type of its values, as a JSON schema.',
  ...objectOf(
    {},
    {
      type: { ...anyText, enum: ['boolean', 'integer', 'number', 'string', 'object'] },
      enum: { ...listOf(anything), description: 'All values.' },
      minimum: anyNumber,
      maximum: anyNumber,
      maxLength: anyInteger,
      format: { ...anyText, description: '`json`: the value is the text of a JSON object.' },
      'x-unit': { ...anyText, description: 'The unit of a number, such as bytes or seconds.' },
    },
  ),
};

const definitions = defineRoute({
  method: 'get',
  path: '/system/setting/definitions',
  summary: 'List all settings with their description, allowed values and current value.',
  access: 'admin',
  scope: scopes.readSettings,
  returns: {
    schema: listOf(
      objectOf({
        key: anyText,
        description: anyText,
        allowed: { ...anyText, description: 'The allowed values, in words.' },
        schema: settingSchema,
        default: anything,
        value: anything,
      }),
    ),
  },
  errors: ['access-denied'],
  async handle(_input, { settings }) {
    const entries: Record<string, unknown>[] = [];
    for (const { key, description, allowed, schema, default: defaultValue } of settings.definitions) {
      entries.push({ key, description, allowed, schema, default: defaultValue ?? null, value: await settings.get(key) });
    }
    return entries;
  },
});

const getPublic = defineRoute({
  method: 'get',
  path: '/large_image/settings',
  summary: 'Get the public settings.',
  description: 'Each value has two names: large_image.show_viewer and LARGE_IMAGE_SHOW_VIEWER.',
  access: 'public',
  scope: scopes.read,
  returns: { schema: { type: 'object', additionalProperties: true } },
  async handle(_input, context) {
    const values: Record<string, unknown> = {};
    for (const { key, public: isPublic } of context.settings.definitions) {
      const constant = constantName(key);
      if (!isPublic || constant === null) continue;
      values[key] = await context.settings.get(key);
      values[constant] = values[key];
    }
    return values;
  },
});

/** Routes for settings of the plugin and, if the host keeps its settings here, of the host. */
export const settingRoutes = [getPublic, get, definitions, put, remove];
