import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AccessDeniedError } from '../errors.js';
import type { Caller, HostAuth } from '../host.js';

/**
 * How long verdicts on callers, and on items and what callers may do with them, are believed, in milliseconds. Changes that the host
 * announces take effect at once; this bounds those it does not announce, such as changes made by another process. With the time between
 * two looks at a request that stays open it is less than the five seconds in which what is revoked ends.
 */
export const verdictLifetimeMs = 2000;

const maxTokens = 10_000;

/** Who tokens belong to, kept for a few seconds so that a viewer loading tiles asks the host once. */
export class Callers {
  /** Keyed by digest: the tokens themselves are not kept in memory. */
  readonly #known = new LRUCache<string, { caller: Caller | null }>({ max: maxTokens, ttl: verdictLifetimeMs });
  #forgotten = 0;

  constructor(private readonly auth: HostAuth) {}

  /** The caller of a token; `null` when it is worth nothing. Never later than the token's own expiry. */
  authenticate(token: string): Promise<Caller | null> | Caller | null {
    const key = digest(token);
    const known = this.#known.get(key);
    if (known === undefined) return this.#verify(token, key);
    return isExpired(known.caller) ? null : known.caller;
  }

  async #verify(token: string, key: string): Promise<Caller | null> {
    const before = this.#forgotten;
    // An answer that took its time is as old as the question.
    const start = performance.now();
    const caller = await this.auth.verify(token);
    const valid = isExpired(caller) ? null : caller;
    if (before === this.#forgotten) this.#known.set(key, { caller: valid }, { start });
    return valid;
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
    this.#forgotten++;
    if (token === undefined) this.#known.clear();
    else this.#known.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

function isExpired(caller: Caller | null): boolean {
  return caller?.expires !== undefined && caller.expires.getTime() <= Date.now();
}
