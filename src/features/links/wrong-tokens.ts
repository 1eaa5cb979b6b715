import { LRUCache } from 'lru-cache';
import { TooOftenError } from '../../errors.js';

/** Maximum number of different wrong tokens from an address in a window of time. */
const maxWrongTokens = 300;
const windowMs = 60_000;
const maxAddresses = 10_000;

/** The wrong tokens of an address in a window of time. */
interface TokenWindow {
  count: number;
  /** In milliseconds, by the clock of `performance.now()`. */
  endsAt: number;
}

/**
 * Limits how many tokens an address can try. A wrong token is counted only once while the verdict about the token is cached, so a program
 * that repeats requests with a revoked link does not reach the limit.
 */
export class WrongTokens {
  readonly #windows = new LRUCache<string, TokenWindow>({ max: maxAddresses });

  /** @throws TooOftenError if the address has sent too many wrong tokens. */
  requireUnderLimit(address: string): void {
    const { count, endsAt } = this.#currentWindow(address);
    if (count < maxWrongTokens) return;
    throw new TooOftenError('Too many invalid tokens. Try again in a minute.', (endsAt - performance.now()) / 1000);
  }

  /** Counts a wrong token. */
  countWrongToken(address: string): void {
    const window = this.#currentWindow(address);
    window.count += 1;
    this.#windows.set(address, window);
  }

  #currentWindow(address: string): TokenWindow {
    const window = this.#windows.get(address);
    return window !== undefined && window.endsAt > performance.now()
      ? window
      : { count: 0, endsAt: performance.now() + windowMs };
  }
}
