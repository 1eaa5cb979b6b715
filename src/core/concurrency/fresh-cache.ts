import { LRUCache } from 'lru-cache';
import { limitEntries } from './lru-options.js';

/** Options of a {@link FreshCache}. */
export interface FreshCacheOptions {
  /** Maximum number of values to keep. */
  max: number;
  /** How long a value is valid after it was requested, in milliseconds. */
  lifetimeMs: number;
  /** Age in milliseconds after which the next use of a value refreshes it in the background. Default: half of the lifetime. */
  renewAfterMs?: number;
}

interface CachedValue<Value> {
  value: Value;
  /** When the request was made, on the clock of `performance`. */
  requestedAtMs: number;
  /** Whether a refresh was started. */
  isRenewing: boolean;
}

/** Fetches a value. @param previous the value that was cached last, which may have expired. */
type FetchValue<Value> = (previous: Value | undefined) => Promise<Value>;

/**
 * Caches values that are valid for a short time. The first use of a value after part of its lifetime refreshes the value in the
 * background, so that nobody waits for a frequently used value, even if fetching is slow. A value older than its lifetime is never
 * returned.
 */
export class FreshCache<Value extends object> {
  readonly #values: LRUCache<string, CachedValue<Value>>;
  readonly #pending = new Map<string, Promise<Value>>();
  readonly #lifetimeMs: number;
  readonly #renewAfterMs: number;

  constructor({ max, lifetimeMs, renewAfterMs = lifetimeMs / 2 }: FreshCacheOptions) {
    this.#values = new LRUCache(limitEntries(max));
    this.#lifetimeMs = lifetimeMs;
    this.#renewAfterMs = renewAfterMs;
  }

  /** Returns the cached value, or fetches and caches a value. Simultaneous callers share one call of `fetchValue`. */
  get(name: string, fetchValue: FetchValue<Value>): Value | Promise<Value> {
    const cached = this.#values.get(name);
    const ageMs = cached === undefined ? Infinity : performance.now() - cached.requestedAtMs;
    if (cached === undefined || ageMs >= this.#lifetimeMs) return this.#fetch(name, fetchValue, cached?.value);
    if (ageMs >= this.#renewAfterMs && !cached.isRenewing) {
      cached.isRenewing = true;
      // If this fails, the first caller after the lifetime fetches again, and gets the error.
      this.#fetch(name, fetchValue, cached.value).catch(() => undefined);
    }
    return cached.value;
  }

  #fetch(name: string, fetchValue: FetchValue<Value>, previous: Value | undefined): Promise<Value> {
    const pending = this.#pending.get(name);
    if (pending !== undefined) return pending;
    const requestedAtMs = performance.now();
    const request: Promise<Value> = fetchValue(previous).then(
      (value) => {
        // A value that was deleted while it was being fetched is not cached.
        if (this.#pending.get(name) === request) {
          this.#pending.delete(name);
          this.#values.set(name, { value, requestedAtMs, isRenewing: false });
        }
        return value;
      },
      (error: unknown) => {
        if (this.#pending.get(name) === request) this.#pending.delete(name);
        throw error;
      },
    );
    this.#pending.set(name, request);
    return request;
  }

  /** Deletes a value. If it is being fetched, it will not be cached. */
  delete(name: string): void {
    this.#values.delete(name);
    this.#pending.delete(name);
  }

  /** Deletes all values. */
  clear(): void {
    this.#values.clear();
    this.#pending.clear();
  }
}
