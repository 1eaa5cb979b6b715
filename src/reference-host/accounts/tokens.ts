import { createHash, randomInt } from 'node:crypto';
import type { Types } from 'mongoose';
import type { Caller } from '../../index.js';
import type { HostContext } from '../context.js';
import type { TokenDocument } from './token.model.js';

const alphanumerics = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const msPerDay = 24 * 60 * 60 * 1000;

/** Scope of a full sign-in. */
export const userScope = 'core.user_auth';

/** Random letters and digits. */
export function randomText(length: number): string {
  return Array.from({ length }, () => alphanumerics[randomInt(alphanumerics.length)]).join('');
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A token as its owner gets it. */
export interface IssuedToken {
  token: string;
  expires: Date;
  scope: string[];
}

/** Makes a token. Only its hash is kept. */
export async function issueToken(
  { models }: HostContext,
  { userId, days, scope, apiKeyId }: { userId: Types.ObjectId | null; days: number; scope: string[]; apiKeyId?: Types.ObjectId },
): Promise<IssuedToken> {
  const token = randomText(64);
  const created = new Date();
  const expires = new Date(created.getTime() + days * msPerDay);
  await models.token.create({ hash: hashOf(token), userId, apiKeyId: apiKeyId ?? null, scope, created, expires });
  return { token, expires, scope };
}

/** A token for somebody who has signed in. */
export async function issueSignIn(context: HostContext, userId: Types.ObjectId): Promise<IssuedToken> {
  return issueToken(context, { userId, days: await context.setting('core.cookie_lifetime'), scope: [userScope] });
}

/** The record of a token; `null` when it is unknown or has ended. */
export async function findToken({ models }: HostContext, token: string): Promise<TokenDocument | null> {
  const found = await models.token.findOne({ hash: hashOf(token) }).lean<TokenDocument>();
  return found !== null && found.expires > new Date() ? found : null;
}

/** Who a token belongs to; `null` when it is worth nothing or its user may not sign in. */
export async function verifyToken(context: HostContext, token: string): Promise<Caller | null> {
  const found = await findToken(context, token);
  if (found === null) return null;
  const { scope: scopes, expires, userId } = found;
  return userId === null ? { id: null, admin: false, scopes, expires } : enabledUser(context, userId, { scopes, expires });
}

/** A user with what a token says; `null` when they are gone or may not sign in. */
export async function enabledUser(
  { models }: HostContext,
  userId: Types.ObjectId,
  token: Pick<Caller, 'scopes' | 'expires'>,
): Promise<Caller | null> {
  const user = await models.user.findById(userId, { admin: 1, status: 1 }).lean();
  if (user === null || user.status !== 'enabled') return null;
  return { ...token, id: userId.toHexString(), admin: user.admin };
}

/** Ends one token. */
export async function revokeToken({ models, events }: HostContext, token: string): Promise<void> {
  await models.token.deleteOne({ hash: hashOf(token) });
  await events.emit('token.revoked', { token });
}

/** Ends every token of a user, or every one made with a key. */
export async function revokeTokens(
  { models, events }: HostContext,
  owner: { userId: Types.ObjectId } | { apiKeyId: Types.ObjectId },
): Promise<void> {
  await models.token.deleteMany(owner);
  await events.emit('token.revoked', {});
}
