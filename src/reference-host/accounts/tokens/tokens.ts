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

/** Random letters and digits. */
export function randomText(length: number): string {
  return Array.from({ length }, () => alphanumerics[randomInt(alphanumerics.length)]).join('');
}

/** What is kept of a secret that is too random to be guessed. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** A token as its owner gets it. */
export interface IssuedToken {
  token: string;
  expires: Date;
  scope: string[];
}

/** Whom a token is for, as read when that was proved: what has changed since makes the token worthless. */
export interface TokenOwner {
  user: Pick<UserDocument, '_id' | 'tokenEpoch'> | null;
  apiKey?: Pick<ApiKeyDocument, '_id' | 'tokenEpoch'>;
}

/** Makes a token. Only its hash is kept. */
export async function issueToken(
  { models }: HostContext,
  { user, apiKey }: TokenOwner,
  { days, scope }: { days: number; scope: string[] },
): Promise<IssuedToken> {
  const token = randomText(tokenLength);
  const created = new Date();
  const expires = new Date(created.getTime() + days * msPerDay);
  await models.token.create({
    hash: hashOf(token),
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

/** A token for somebody who has signed in. */
export async function issueSignIn(context: HostContext, user: UserDocument): Promise<IssuedToken> {
  return issueToken(context, { user }, { days: await context.setting('core.cookie_lifetime'), scope: [userScope] });
}

/** A token for nobody in particular. */
export function issueAnonymousSession(context: HostContext): Promise<IssuedToken> {
  return issueToken(context, { user: null }, { days: anonymousSessionDays, scope: ['core.anonymous_session'] });
}

/** The record of a token; `null` when it is unknown or has ended. */
export async function findToken({ models }: HostContext, token: string): Promise<TokenDocument | null> {
  if (token.length !== tokenLength) return null;
  const found = await models.token.findOne({ hash: hashOf(token) }).lean<TokenDocument>();
  return found !== null && found.expires > new Date() ? found : null;
}

/**
 * Who a token belongs to; `null` when it is worth nothing, its user may not sign in, all tokens of the user or the key have ended, or it is of a
 * key and keys are not used any more.
 */
export async function verifyToken(context: HostContext, token: string): Promise<Caller | null> {
  return (await verifyTokens(context, [token])).get(token) ?? null;
}

/** {@link verifyToken} of many, by as many queries as of one. Those that are worth nothing are absent. */
async function verifyTokens(context: HostContext, tokens: readonly string[]): Promise<Map<string, Caller>> {
  const { models } = context;
  const hashes = new Map(tokens.filter(({ length }) => length === tokenLength).map((token) => [hashOf(token), token]));
  const now = new Date();
  const found = (await models.token.find({ hash: { $in: [...hashes.keys()] } }).lean<TokenDocument[]>()).filter(
    ({ expires }) => expires > now,
  );
  const [users, keys] = await Promise.all([usersOf(context, found), keysOf(context, found)]);
  const callers = new Map<string, Caller>();
  for (const { hash, userId, userEpoch, apiKeyId, apiKeyEpoch, scope: scopes, expires } of found) {
    const user = userId === null ? { id: null, admin: false } : users.get(`${userId.toHexString()} ${String(userEpoch ?? null)}`);
    if (user === undefined) continue;
    if (apiKeyId !== null && !keys.has(`${apiKeyId.toHexString()} ${String(apiKeyEpoch)}`)) continue;
    callers.set(hashes.get(hash)!, { ...user, scopes, expires });
  }
  return callers;
}

/** The users of tokens who may sign in, by id and epoch. */
async function usersOf(
  { models }: HostContext,
  tokens: readonly TokenDocument[],
): Promise<Map<string, { id: string; admin: boolean }>> {
  const ids = tokens.flatMap(({ userId }) => userId ?? []);
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

/** The keys of tokens that are in use, by id and epoch. */
async function keysOf(context: HostContext, tokens: readonly TokenDocument[]): Promise<Set<string>> {
  const ids = tokens.flatMap(({ apiKeyId }) => apiKeyId ?? []);
  if (ids.length === 0 || !(await context.setting('core.api_keys'))) return new Set();
  const keys = await context.models.apiKey
    .find({ _id: { $in: ids }, active: true }, { tokenEpoch: 1 })
    .lean<Pick<ApiKeyDocument, '_id' | 'tokenEpoch'>[]>();
  return new Set(keys.map(({ _id, tokenEpoch }) => `${_id.toHexString()} ${String(tokenEpoch)}`));
}

/** Most tokens of one query. */
const tokensPerQuery = 500;

/** {@link verifyToken}, by one query for all tokens that are asked for at the same moment, as those of all open streams are. */
export function tokensVerifier(context: HostContext): (token: string) => Promise<Caller | null> {
  let batch: { tokens: Set<string>; answers: Promise<Map<string, Caller>> } | undefined;
  return async (token) => {
    if (batch === undefined || batch.tokens.size >= tokensPerQuery) {
      const tokens = new Set<string>();
      const query = () => {
        // No answer may be older than its question, so calls from now on wait for the next query.
        batch = undefined;
        return verifyTokens(context, [...tokens]);
      };
      batch = { tokens, answers: Promise.resolve().then(query) };
    }
    batch.tokens.add(token);
    return (await batch.answers).get(token) ?? null;
  };
}

/** A user as they are now, with no scopes; `null` when there is none that fits, or they may not sign in. */
export async function enabledUser(
  { models }: HostContext,
  fitting: { _id: Types.ObjectId; tokenEpoch?: Types.ObjectId | null },
): Promise<Caller | null> {
  const user = await models.user.findOne({ ...fitting, status: 'enabled' }, { admin: 1 }).lean();
  return user === null ? null : { id: fitting._id.toHexString(), admin: user.admin, scopes: [] };
}

/** Ends one token. */
export async function revokeToken({ models, events }: HostContext, token: string): Promise<void> {
  await models.token.deleteOne({ hash: hashOf(token) });
  await events.emit('token.revoked', { token });
}

/** Tidies up after all tokens of a user, of a key, or of all keys have ended: the epoch has changed, it is gone, or keys are not used any more. */
export async function forgetTokens(
  { models, events }: HostContext,
  owner:
    | { userId: Types.ObjectId; userEpoch?: { $ne: Types.ObjectId } }
    | { apiKeyId: Types.ObjectId; apiKeyEpoch?: { $ne: Types.ObjectId } }
    | { apiKeyId: { $ne: null } },
): Promise<void> {
  await events.emit('token.revoked', {});
  await models.token.deleteMany(owner);
}
