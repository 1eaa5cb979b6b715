import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.js';

/** What a {@link FreshCache} is like. */
export interface FreshCacheOptions {
  /** Most answers that are kept. */
  max: number;
  /** How long an answer is believed, counted from when it was asked for, in milliseconds. */
  lifetimeMs: number;
}

interface Answer<Value> {
  value: Value;
  /** When it was asked for, on the clock of `performance`. */
  askedAt: number;
  isRenewed: boolean;
}

/**
 * Answers that are believed for a short while. One that is in use is asked for anew when half of that has passed, so that nobody waits for
 * what is asked for often, however slow the answers are; and no answer is ever older than it may be.
 */
export class FreshCache<Value extends object> {
  readonly #answers: LRUCache<string, Answer<Value>>;
  readonly #asking = new Map<string, Promise<Value>>();
  readonly #lifetimeMs: number;

  constructor({ max, lifetimeMs }: FreshCacheOptions) {
    this.#answers = new LRUCache(atMost(max));
    this.#lifetimeMs = lifetimeMs;
  }

  /** The answer that is kept, or what `ask` gives, which is kept then; of several who ask at the same time, one does. */
  get(name: string, ask: () => Promise<Value>): Value | Promise<Value> {
    const known = this.#answers.get(name);
    const age = known === undefined ? Infinity : performance.now() - known.askedAt;
    if (known === undefined || age >= this.#lifetimeMs) return this.#ask(name, ask);
    if (age >= this.#lifetimeMs / 2 && !known.isRenewed) {
      known.isRenewed = true;
      // Whoever comes when it is believed no more is told what is wrong.
      this.#ask(name, ask).catch(() => undefined);
    }
    return known.value;
  }

  #ask(name: string, ask: () => Promise<Value>): Promise<Value> {
    const under = this.#asking.get(name);
    if (under !== undefined) return under;
    const askedAt = performance.now();
    const asking: Promise<Value> = ask().then(
      (value) => {
        // What was forgotten meanwhile is not believed.
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

  /** Forgets an answer, also one that is being given. */
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
