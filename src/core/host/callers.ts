import { createHash } from 'node:crypto';
import { AccessDeniedError } from '../../errors.js';
import type { Caller, HostAuth } from '../../host.js';
import { FreshCache } from '../concurrency/fresh-cache.js';
import { tokenVerifier } from './token-verifier.js';

/**
 * How long verdicts on callers, and on items and what callers may do with them, are believed, in milliseconds. Changes that the host
 * announces take effect at once; this bounds those it does not announce, such as changes made by another process. With the time between
 * two looks at a request that stays open it is less than the five seconds in which what is revoked ends.
 */
export const verdictLifetimeMs = 3000;

const maxTokens = 10_000;

/** Who tokens belong to, kept for a few seconds so that a viewer loading tiles asks the host once. */
export class Callers {
  /** Keyed by digest: the tokens themselves are not kept in memory. */
  readonly #known = new FreshCache<{ caller: Caller | null }>({ max: maxTokens, lifetimeMs: verdictLifetimeMs });

  readonly #verify: (token: string) => Promise<Caller | null>;

  constructor(private readonly auth: HostAuth) {
    this.#verify = tokenVerifier(auth);
  }

  /** The caller of a token; `null` when it is worth nothing. Never later than the token's own expiry. */
  authenticate(token: string): Promise<Caller | null> | Caller | null {
    const known = this.#known.get(digest(token), async () => ({ caller: await this.#verify(token) }));
    return known instanceof Promise ? known.then(validCaller) : validCaller(known);
  }

  /**
   * Somebody who has asked for work that is done now, with the rights they have now.
   *
   * @throws AccessDeniedError when they may not sign in any more.
   */
  async asker(asked: { id: string; admin: boolean }): Promise<Caller> {
    const caller = this.auth.user === undefined ? { ...asked, scopes: [] } : await this.auth.user(asked.id);
    if (caller === null) throw new AccessDeniedError('The user who asked for this may not sign in any more.');
    return caller;
  }

  /** Drops what is kept of one token, or of all. */
  forget(token?: string): void {
    if (token === undefined) this.#known.clear();
    else this.#known.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function validCaller({ caller }: { caller: Caller | null }): Caller | null {
  return caller?.expires !== undefined && caller.expires.getTime() <= Date.now() ? null : caller;
}
