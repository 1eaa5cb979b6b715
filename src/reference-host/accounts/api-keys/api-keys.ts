import { Types } from 'mongoose';
import { isDeepStrictEqual } from 'node:util';
import { LargeImageError } from '../../../index.js';
import { InvalidError, LevelDeniedError, UnknownIdError } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import { maxTokenDays } from '../../system/settings.js';
import type { ApiKeyDocument } from './api-key.model.js';
import type { Principal } from '../../access/access.js';
import { forgetTokens, hashSecret, issueToken, createRandomText, userScope, type IssuedToken } from '../tokens/tokens.js';
import type { UserDocument } from '../users/user.model.js';

/** Number of characters of a key. */
const keyLength = 40;
/** Number of characters at the start of a key that are stored and shown. */
const prefixLength = 6;
/** Largest length of the name of a key, in characters. */
const maxNameLength = 1024;

/** A scope that a key can be limited to. */
export interface TokenScope {
  id: string;
  name: string;
  description: string;
}

/** Scopes that keys of all users can have (`custom`), and scopes that only keys of administrators can have. */
export const keyScopes: { custom: TokenScope[]; adminCustom: TokenScope[] } = {
  custom: [
    { id: 'core.user_info.read', name: 'Read your user information', description: 'See who the key belongs to.' },
    { id: 'core.data.read', name: 'Read data', description: 'See and download what you can.' },
    { id: 'core.data.write', name: 'Write data', description: 'Create and change what you can.' },
    { id: 'core.data.own', name: 'Data ownership', description: 'Delete what you administer, and change its permissions.' },
  ],
  adminCustom: [
    { id: 'core.plugins.read', name: 'See installed plugins', description: 'See which plugins the server has.' },
    { id: 'core.setting.read', name: 'See system setting values', description: 'Read every setting.' },
    { id: 'core.assetstore.read', name: 'View assetstores', description: 'See where files are stored.' },
    { id: 'core.partial_upload.read', name: 'View unfinished uploads', description: 'See unfinished uploads.' },
    { id: 'core.partial_upload.clean', name: 'Remove unfinished uploads', description: 'Discard unfinished uploads.' },
  ],
};

/** Properties of a key that can be set and changed. */
export interface KeyChanges {
  name?: string | undefined;
  /** A list of scopes; `null` allows everything that the user can do. */
  scope?: unknown;
  tokenDuration?: number | undefined;
  active?: boolean | undefined;
}

function checkScope(scope: unknown, isAdmin: boolean): string[] | null {
  if (scope === null || scope === undefined) return null;
  if (!Array.isArray(scope)) throw new InvalidError('Scope must be a list, or None.');
  if (scope.length === 0) throw new InvalidError('Custom scope list must not be empty.');
  const allowedScopes = new Set([...keyScopes.custom, ...(isAdmin ? keyScopes.adminCustom : [])].map(({ id }) => id));
  const unknownScopes = scope.filter((entry) => typeof entry !== 'string' || !allowedScopes.has(entry));
  if (unknownScopes.length > 0)
    throw new InvalidError(`Invalid scopes: ${unknownScopes.slice(0, 10).map(describeScope).join(', ')}.`);
  return [...new Set(scope as string[])];
}

function checkName(name: string): string {
  const trimmedName = name.trim();
  if (trimmedName.length > maxNameLength) throw new InvalidError(`Name must have at most ${maxNameLength} characters.`, 'name');
  return trimmedName;
}

function describeScope(scope: unknown): string {
  return typeof scope === 'string' ? scope.slice(0, 100) : typeof scope;
}

/** Creates a key. Its text is only in the result; the database stores a hash. */
export async function createApiKey(
  { models }: HostContext,
  owner: Principal & { id: Types.ObjectId },
  { name, scope, tokenDuration, active }: KeyChanges,
): Promise<{ document: ApiKeyDocument; key: string }> {
  const key = createRandomText(keyLength);
  const created = await models.apiKey.create({
    userId: owner.id,
    keyHash: hashSecret(key),
    prefix: key.slice(0, prefixLength),
    tokenEpoch: new Types.ObjectId(),
    name: checkName(name ?? ''),
    scope: checkScope(scope, owner.admin),
    tokenDuration: checkDuration(tokenDuration) ?? null,
    active: active ?? true,
    created: new Date(),
    lastUse: null,
  });
  return { document: created.toObject<ApiKeyDocument>(), key };
}

function checkDuration(days: number | undefined): number | undefined {
  if (days !== undefined && !(days >= 0 && days <= maxTokenDays)) {
    throw new InvalidError(`Token duration must be from 0 to ${maxTokenDays} days.`, 'tokenDuration');
  }
  // Existing clients send 0 for a key with the default lifetime.
  return days === 0 ? undefined : days;
}

/** Loads a key that its owner or a site administrator wants to change. @throws LevelDeniedError for others. */
export async function loadApiKey({ models }: HostContext, id: string, principal: Principal): Promise<ApiKeyDocument> {
  const key = await models.apiKey.findById(id).lean<ApiKeyDocument>();
  if (key === null) throw new UnknownIdError('api_key', id);
  if (!principal.admin && !principal.id?.equals(key.userId)) {
    throw new LevelDeniedError(1, `api_key ${id}`, principal.id?.toHexString());
  }
  return key;
}

/** Changes a key. Its tokens end if the changes deactivate it or give it another scope. */
export async function updateApiKey(
  context: HostContext,
  key: ApiKeyDocument,
  isAdmin: boolean,
  changes: KeyChanges,
): Promise<ApiKeyDocument> {
  const scope = changes.scope === undefined ? key.scope : checkScope(changes.scope, isAdmin);
  // Forms send all fields, also those that have not changed.
  const isScopeChanged = !isDeepStrictEqual(scope?.toSorted(), key.scope?.toSorted());
  const endsTokens = changes.active === false || isScopeChanged;
  const changedFields = {
    ...(changes.name !== undefined && { name: checkName(changes.name) }),
    ...(isScopeChanged && { scope }),
    ...(changes.tokenDuration !== undefined && { tokenDuration: checkDuration(changes.tokenDuration) ?? null }),
    ...(changes.active !== undefined && { active: changes.active }),
    ...(endsTokens && { tokenEpoch: new Types.ObjectId() }),
  };
  const updatedKey = await context.models.apiKey
    .findOneAndUpdate({ _id: key._id }, { $set: changedFields }, { returnDocument: 'after' })
    .lean<ApiKeyDocument>();
  if (updatedKey === null) throw new UnknownIdError('api_key', key._id.toHexString());
  if (endsTokens) await forgetTokens(context, { apiKeyId: key._id, apiKeyEpoch: { $ne: updatedKey.tokenEpoch } });
  return updatedKey;
}

/** Removes a key and ends its tokens. */
export async function removeApiKey(context: HostContext, key: ApiKeyDocument): Promise<void> {
  await context.models.apiKey.deleteOne({ _id: key._id });
  await forgetTokens(context, { apiKeyId: key._id });
}

/**
 * Issues a token for a key.
 *
 * @throws InvalidError `Invalid API key.` for unknown and inactive keys
 * @throws TooOftenError after too many wrong keys
 */
export async function exchangeApiKey(
  context: HostContext,
  { key, days, address }: { key: string; days: number | undefined; address: string },
): Promise<{ userId: Types.ObjectId; token: IssuedToken }> {
  const { models } = context;
  if (!(await context.setting('core.api_keys'))) {
    throw new LargeImageError('bad-value', 'API key functionality is disabled on this instance.');
  }
  const lastUseUpdate = { $set: { lastUse: new Date() } };
  const hasKeyLength = key.length === keyLength;
  const document = hasKeyLength
    ? await models.apiKey.findOneAndUpdate({ keyHash: hashSecret(key), active: true }, lastUseUpdate).lean<ApiKeyDocument>()
    : null;
  const user =
    document === null ? null : await models.user.findOne({ _id: document.userId, status: 'enabled' }).lean<UserDocument>();
  if (document === null || user === null) {
    await context.signInLimits.countWrongKey(address);
    throw new InvalidError('Invalid API key.');
  }
  const maxDays = document.tokenDuration ?? (await context.setting('core.cookie_lifetime'));
  const lifetimeDays = days !== undefined && days > 0 ? Math.min(days, maxDays) : maxDays;
  const token = await issueToken(
    context,
    { user, apiKey: document },
    { days: lifetimeDays, scope: document.scope ?? [userScope] },
  );
  return { userId: user._id, token };
}
