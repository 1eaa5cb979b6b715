import { LRUCache } from 'lru-cache';
import { atMost } from './lru-options.js';

/** Options of a {@link FreshCache}. */
export interface FreshCacheOptions {
  /** Most answers that are kept. */
  max: number;
  /** How long an answer is valid, counted from the question, in milliseconds. */
  lifetimeMs: number;
  /** Age from which the next use of an answer renews it in the background, in milliseconds. Default: half of the lifetime. */
  renewAfterMs?: number;
}

interface Answer<Value> {
  value: Value;
  /** When the request was made, on the clock of `performance`. */
  askedAt: number;
  isRenewed: boolean;
}

/** Fetches a value. @param former the last one, which may be too old to be valid. */
type Ask<Value> = (former: Value | undefined) => Promise<Value>;

/**
 * Answers that are valid for a short time. The first use of an answer late in that time renews it in the background, so that nobody waits for
 * answers that are often used, however slow they are. No answer is ever given that is older than its lifetime.
 */
export class FreshCache<Value extends object> {
  readonly #answers: LRUCache<string, Answer<Value>>;
  readonly #asking = new Map<string, Promise<Value>>();
  readonly #lifetimeMs: number;
  readonly #renewAfterMs: number;

  constructor({ max, lifetimeMs, renewAfterMs = lifetimeMs / 2 }: FreshCacheOptions) {
    this.#answers = new LRUCache(atMost(max));
    this.#lifetimeMs = lifetimeMs;
    this.#renewAfterMs = renewAfterMs;
  }

  /** The cached answer, or that of `ask`, which is then cached. Callers at the same time share one question. */
  get(name: string, ask: Ask<Value>): Value | Promise<Value> {
    const known = this.#answers.get(name);
    const age = known === undefined ? Infinity : performance.now() - known.askedAt;
    if (known === undefined || age >= this.#lifetimeMs) return this.#ask(name, ask, known?.value);
    if (age >= this.#renewAfterMs && !known.isRenewed) {
      known.isRenewed = true;
      // If this fails, the first caller after the lifetime asks again, and gets the error.
      this.#ask(name, ask, known.value).catch(() => undefined);
    }
    return known.value;
  }

  #ask(name: string, ask: Ask<Value>, former: Value | undefined): Promise<Value> {
    const under = this.#asking.get(name);
    if (under !== undefined) return under;
    const askedAt = performance.now();
    const asking: Promise<Value> = ask(former).then(
      (value) => {
        // An answer that was forgotten meanwhile is not kept.
        if (this.#asking.get(name) === asking) {
          this.#asking.delete(name);
          this.#answers.set(name, { value, askedAt, isRenewed: false });
        }
        return value;
      },
      (error: unknown) => {
        if (this.#asking.get(name) === asking) this.#asking.delete(name);
        throw error;
      },
    );
    this.#asking.set(name, asking);
    return asking;
  }

  /** Forgets an answer. One that is still pending will not be kept. */
  delete(name: string): void {
    this.#answers.delete(name);
    this.#asking.delete(name);
  }

  /** Forgets all answers. */
  clear(): void {
    this.#answers.clear();
    this.#asking.clear();
  }
}
