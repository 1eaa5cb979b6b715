import { createHash } from 'node:crypto';
import { AccessDeniedError } from '../../errors.js';
import type { Caller, HostAuth } from '../../host.js';
import { FreshCache } from '../concurrency/fresh-cache.js';
import { describeReturned } from './checked-access.js';
import { createTokenVerifier } from './token-verifier.js';

/**
 * How long verdicts about callers, and about their permissions for items, are cached, in milliseconds. Changes that the host
 * announces take effect immediately. Other changes, such as those made by another process, take effect after this time. Requests
 * that are no longer permitted must end within five seconds, so this time plus the time between two checks of an open request must
 * be shorter.
 */
export const verdictLifetimeMs = 3000;

const maxTokens = 10_000;

/**
 * Finds the owners of tokens, and caches them for a few seconds, so that a viewer that loads many tiles causes only one call to the
 * host.
 */
export class Callers {
  /** The keys are digests, so that the tokens themselves are not kept in memory. */
  readonly #callerByDigest = new FreshCache<{ caller: Caller | null }>({ max: maxTokens, lifetimeMs: verdictLifetimeMs });

  readonly #verify: (token: string) => Promise<Caller | null>;

  constructor(private readonly auth: HostAuth) {
    const verify = createTokenVerifier(auth);
    const name = auth.strategies === undefined ? 'auth.verify' : 'auth.caller';
    this.#verify = async (token) => requireScopes(await verify(token), name);
  }

  /** Finds the owner of a token; `null` if the token is not valid, or has expired since the owner was cached. */
  authenticate(token: string): Promise<Caller | null> | Caller | null {
    const cached = this.#callerByDigest.get(digestOf(token), async () => ({ caller: await this.#verify(token) }));
    return cached instanceof Promise ? cached.then(nullIfExpired) : nullIfExpired(cached);
  }

  /**
   * Loads the user who requested work earlier, with the user's current rights.
   *
   * @throws AccessDeniedError if the user can no longer sign in.
   */
  async loadRequester(user: { id: string; admin: boolean }): Promise<Caller> {
    const caller = this.auth.user === undefined ? { ...user, scopes: [] } : await this.auth.user(user.id);
    if (caller === null) throw new AccessDeniedError('The user who requested this can no longer sign in.');
    return caller;
  }

  /** Removes the caller of one token, or of all tokens, from the cache. */
  forget(token?: string): void {
    if (token === undefined) this.#callerByDigest.clear();
    else this.#callerByDigest.delete(digestOf(token));
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function requireScopes(caller: Caller | null, name: string): Caller | null {
  if (caller == null) return null;
  if (Array.isArray(caller.scopes)) return caller;
  const problem = `${name} returned ${describeReturned(caller)} without a list \`scopes\`: it is ${describeReturned(caller.scopes)}`;
  throw new TypeError(`${problem}. Return { id, admin, scopes: ['core.user_auth'] } for everything that the user can do.`);
}

function nullIfExpired({ caller }: { caller: Caller | null }): Caller | null {
  return caller?.expires !== undefined && caller.expires.getTime() <= Date.now() ? null : caller;
}
