import { BadParameterError } from '../../errors.js';
import { hasTooManyValues, maxStoredValues } from '../../core/database/stored-values.js';
import { required, text } from '../../http/parameters.js';
import { anything } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import type { Host } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { Items } from './items.js';
import { itemPath, loadWritableItem } from './item-path.js';

const defineRoute = routeDefiner<{ items: Items; records: HostRecords; host: Pick<Host, 'metadataReplaced'> }>();

const fieldRoute = {
  path: '/item/:itemId/internal_metadata/:key',
  params: { ...itemPath, key: required(text({ description: 'Name of a field of the item, such as presets.' })) },
  errors: ['bad-parameter', 'unknown-id', 'access-denied'],
} as const;

const maxNestingDepth = 100;

const get = defineRoute({
  ...fieldRoute,
  method: 'get',
  summary: 'Get a field that clients store on an item; null if it is missing.',
  access: 'public',
  scope: scopes.user,
  returns: { schema: anything },
  async handle({ params, caller }, { items, records }) {
    const item = await items.load(params.itemId, 0, caller);
    if (!records.itemFields.mayRead(params.key)) throw fieldRefusedError(params.key);
    return records.itemFields.get(item, params.key) ?? null;
  },
});

const put = defineRoute({
  ...fieldRoute,
  method: 'put',
  summary: 'Store any JSON value in a field of an item.',
  description: 'Fields that the server itself uses are refused; `meta` is the metadata of the item.',
  access: 'user',
  scope: scopes.write,
  body: 'json',
  returns: { schema: { type: 'null' } },
  errors: [...fieldRoute.errors, 'login-required'],
  authorize: loadWritableItem,
  async handle({ params, authorized: item, body }, { items, records, host }) {
    if (!records.itemFields.mayWrite(params.key)) throw fieldRefusedError(params.key);
    if (hasTooManyValues([body, { ...item.doc, [params.key]: null }])) {
      throw new BadParameterError(`The fields of an item can have at most ${maxStoredValues} values in total.`);
    }
    checkStorable(body);
    if (params.key === 'meta' && (typeof body !== 'object' || body === null || Array.isArray(body))) {
      throw new BadParameterError('The metadata of an item must be a JSON object.');
    }
    await records.itemFields.store(item, params.key, body);
    if (params.key === 'meta') await host.metadataReplaced?.(item.id);
    items.forget(item.id);
    return null;
  },
});

const remove = defineRoute({
  ...fieldRoute,
  method: 'delete',
  summary: 'Remove a field that clients store on an item.',
  access: 'user',
  scope: scopes.write,
  returns: { schema: { type: 'null' } },
  errors: [...fieldRoute.errors, 'login-required'],
  async handle({ params, caller }, { items, records, host }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    if (!records.itemFields.mayWrite(params.key)) throw fieldRefusedError(params.key);
    // Hosts rely on every item having metadata.
    await records.itemFields.store(item, params.key, params.key === 'meta' ? {} : undefined);
    if (params.key === 'meta') await host.metadataReplaced?.(item.id);
    items.forget(item.id);
    return null;
  },
});

function fieldRefusedError(key: string): BadParameterError {
  return new BadParameterError(`The field "${key}" of an item cannot be used here.`);
}

/** @throws BadParameterError for values that the database cannot store unchanged. */
function checkStorable(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > maxNestingDepth) throw new BadParameterError(`The value is nested deeper than ${maxNestingDepth} levels.`);
  for (const [name, member] of Object.entries(value)) {
    if (name.startsWith('$') || name.includes('.') || name.includes('\0') || name === '__proto__') {
      throw new BadParameterError(
        `The name ${JSON.stringify(name)} is not allowed: names must not be "__proto__", begin with "$", or contain "." or a null character.`,
      );
    }
    checkStorable(member, depth + 1);
  }
}

/** Routes for the item fields in which clients store their own data. */
export const internalMetadataRoutes = [get, put, remove];
