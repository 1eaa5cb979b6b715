import { createHash } from 'node:crypto';
import type { Caller, HostAuth } from '../host.js';
import { FreshCache } from './fresh-cache.js';

/**
 * How long verdicts on callers, and on items and what callers may do with them, are believed, in milliseconds. Changes that the host
 * announces take effect at once; this bounds those it does not announce, such as changes made by another process.
 */
export const verdictLifetimeMs = 5000;

const maxTokens = 10_000;

/** Who tokens belong to, kept for a few seconds so that a viewer loading tiles asks the host once. */
export class Callers {
  /** Keyed by digest: the tokens themselves are not kept in memory. */
  readonly #known = new FreshCache<{ caller: Caller | null }>({ max: maxTokens, lifetimeMs: verdictLifetimeMs });

  constructor(private readonly auth: HostAuth) {}

  /** The caller of a token; `null` when it is worth nothing. Never later than the token's own expiry. */
  authenticate(token: string): Promise<Caller | null> | Caller | null {
    const known = this.#known.get(digest(token), async () => ({ caller: await this.auth.verify(token) }));
    return known instanceof Promise ? known.then(validCaller) : validCaller(known);
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
