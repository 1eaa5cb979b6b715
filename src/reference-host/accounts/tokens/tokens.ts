import { createHash, randomInt } from 'node:crypto';
import type { Types } from 'mongoose';
import type { Caller } from '../../../index.js';
import type { HostContext } from '../../context.js';
import type { ApiKeyDocument } from '../api-keys/api-key.model.js';
import type { TokenDocument } from './token.model.js';
import type { UserDocument } from '../users/user.model.js';

const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const tokenLength = 64;
const anonymousSessionDays = 1;
const msPerDay = 24 * 60 * 60 * 1000;

/** Scope of a full sign-in. */
export const userScope = 'core.user_auth';

/** A text of `length` random letters and digits. */
export function createRandomText(length: number): string {
  return Array.from({ length }, () => alphanumerics[randomInt(alphanumerics.length)]).join('');
}

/** The hash under which a random secret is stored. A plain hash suffices, because the secret cannot be guessed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** A token as it is sent to its owner. */
export interface IssuedToken {
  token: string;
  expires: Date;
  scope: string[];
}

/**
 * The user and key of a new token, as read when the caller authenticated. The token is invalid if their epochs have changed since.
 */
export interface TokenOwner {
  user: Pick<UserDocument, '_id' | 'tokenEpoch'> | null;
  apiKey?: Pick<ApiKeyDocument, '_id' | 'tokenEpoch'>;
}

/** Issues a token. Only its hash is stored. */
export async function issueToken(
  { models }: HostContext,
  { user, apiKey }: TokenOwner,
  { days, scope }: { days: number; scope: string[] },
): Promise<IssuedToken> {
  const token = createRandomText(tokenLength);
  const created = new Date();
  const expires = new Date(created.getTime() + days * msPerDay);
  await models.token.create({
    hash: hashSecret(token),
    userId: user?._id ?? null,
    userEpoch: user?.tokenEpoch ?? null,
    apiKeyId: apiKey?._id ?? null,
    apiKeyEpoch: apiKey?.tokenEpoch ?? null,
    scope,
    created,
    expires,
  });
  return { token, expires, scope };
}

/** Issues a token for a user who has signed in. */
export async function issueSignInToken(context: HostContext, user: UserDocument): Promise<IssuedToken> {
  return issueToken(context, { user }, { days: await context.setting('core.cookie_lifetime'), scope: [userScope] });
}

/** Issues a token for an anonymous session. */
export function issueAnonymousSession(context: HostContext): Promise<IssuedToken> {
  return issueToken(context, { user: null }, { days: anonymousSessionDays, scope: ['core.anonymous_session'] });
}

/** Finds the record of a token. Returns `null` if the token is unknown or has expired. */
export async function findToken({ models }: HostContext, token: string): Promise<TokenDocument | null> {
  if (token.length !== tokenLength) return null;
  const record = await models.token.findOne({ hash: hashSecret(token) }).lean<TokenDocument>();
  return record !== null && record.expires > new Date() ? record : null;
}

/**
 * Finds the caller that a token belongs to. Returns `null` if the token is unknown or has expired, its user cannot sign in, all tokens of its
 * user or key were ended, or the token was issued for an API key and the server no longer allows keys.
 */
export async function verifyToken(context: HostContext, token: string): Promise<Caller | null> {
  return (await verifyTokens(context, [token])).get(token) ?? null;
}

/**
 * Like {@link verifyToken} for many tokens, with the same number of queries as for one. Invalid tokens are missing in the result.
 */
async function verifyTokens(context: HostContext, tokens: readonly string[]): Promise<Map<string, Caller>> {
  const { models } = context;
  const tokensByHash = new Map(tokens.filter(({ length }) => length === tokenLength).map((token) => [hashSecret(token), token]));
  const now = new Date();
  const records = (await models.token.find({ hash: { $in: [...tokensByHash.keys()] } }).lean<TokenDocument[]>()).filter(
    ({ expires }) => expires > now,
  );
  const [usersByIdAndEpoch, activeKeys] = await Promise.all([
    findUsersByIdAndEpoch(context, records),
    findActiveKeys(context, records),
  ]);
  const callers = new Map<string, Caller>();
  for (const { hash, userId, userEpoch, apiKeyId, apiKeyEpoch, scope: scopes, expires } of records) {
    const user =
      userId === null
        ? { id: null, admin: false }
        : usersByIdAndEpoch.get(`${userId.toHexString()} ${String(userEpoch ?? null)}`);
    if (user === undefined) continue;
    if (apiKeyId !== null && !activeKeys.has(`${apiKeyId.toHexString()} ${String(apiKeyEpoch)}`)) continue;
    callers.set(tokensByHash.get(hash)!, { ...user, scopes, expires });
  }
  return callers;
}

/** The users of token records, if they can sign in, by `<id> <epoch>`. */
async function findUsersByIdAndEpoch(
  { models }: HostContext,
  records: readonly TokenDocument[],
): Promise<Map<string, { id: string; admin: boolean }>> {
  const ids = records.flatMap(({ userId }) => userId ?? []);
  if (ids.length === 0) return new Map();
  const users = await models.user
    .find({ _id: { $in: ids }, status: 'enabled' }, { admin: 1, tokenEpoch: 1 })
    .lean<UserDocument[]>();
  return new Map(
    users.map(({ _id, tokenEpoch, admin }) => {
      const id = _id.toHexString();
      return [`${id} ${String(tokenEpoch ?? null)}`, { id, admin }];
    }),
  );
}

/** The active API keys of token records, as `<id> <epoch>`. */
async function findActiveKeys(context: HostContext, records: readonly TokenDocument[]): Promise<Set<string>> {
  const ids = records.flatMap(({ apiKeyId }) => apiKeyId ?? []);
  if (ids.length === 0 || !(await context.setting('core.api_keys'))) return new Set();
  const keys = await context.models.apiKey
    .find({ _id: { $in: ids }, active: true }, { tokenEpoch: 1 })
    .lean<Pick<ApiKeyDocument, '_id' | 'tokenEpoch'>[]>();
  return new Set(keys.map(({ _id, tokenEpoch }) => `${_id.toHexString()} ${String(tokenEpoch)}`));
}

/** Maximum number of tokens in one query. */
const tokensPerQuery = 500;

/**
 * Creates a function that does the same as {@link verifyToken}, but verifies all tokens of the same moment with one query. For example, the
 * tokens of all open streams are verified at the same moment.
 */
export function createTokenVerifier(context: HostContext): (token: string) => Promise<Caller | null> {
  let batch: { tokens: Set<string>; callersByToken: Promise<Map<string, Caller>> } | undefined;
  return async (token) => {
    if (batch === undefined || batch.tokens.size >= tokensPerQuery) {
      const tokens = new Set<string>();
      const runQuery = () => {
        // Later calls need a new query, because the result of this query may lack changes that were made before those calls.
        batch = undefined;
        return verifyTokens(context, [...tokens]);
      };
      batch = { tokens, callersByToken: Promise.resolve().then(runQuery) };
    }
    batch.tokens.add(token);
    return (await batch.callersByToken).get(token) ?? null;
  };
}

/** Finds a user by id and, if given, token epoch. @returns the user as a caller without scopes; `null` if no user who can sign in matches */
export async function findEnabledCaller(
  { models }: HostContext,
  filter: { _id: Types.ObjectId; tokenEpoch?: Types.ObjectId | null },
): Promise<Caller | null> {
  const user = await models.user.findOne({ ...filter, status: 'enabled' }, { admin: 1 }).lean();
  return user === null ? null : { id: filter._id.toHexString(), admin: user.admin, scopes: [] };
}

/** Ends one token. */
export async function revokeToken({ models, events }: HostContext, token: string): Promise<void> {
  await models.token.deleteOne({ hash: hashSecret(token) });
  await events.emit('token.revoked', { token });
}

/**
 * Removes the records of tokens that have become invalid together: the epoch of their user or key has changed, their user or key was
 * removed, or the server no longer allows keys.
 */
export async function forgetTokens(
  { models, events }: HostContext,
  tokenFilter:
    | { userId: Types.ObjectId; userEpoch?: { $ne: Types.ObjectId } }
    | { apiKeyId: Types.ObjectId; apiKeyEpoch?: { $ne: Types.ObjectId } }
    | { apiKeyId: { $ne: null } },
): Promise<void> {
  await events.emit('token.revoked', {});
  await models.token.deleteMany(tokenFilter);
}
