import { LargeImageError } from '../../../errors.js';

interface RenewalOptions {
  /** Renews the lease in the database. @returns false if the lease is lost. */
  renew: () => Promise<boolean>;
  intervalMs: number;
  /** How long a renewal is trusted without a query. Other processes wait longer before they take the lease over. */
  trustedMs: number;
}

/** Renews a lease at intervals until it is stopped. */
export class Renewal {
  readonly #timer: NodeJS.Timeout;
  #isLost = false;
  #renewedAtMs = Date.now();

  constructor(private readonly options: RenewalOptions) {
    // A failed renewal needs no handling: the next one, or `confirm`, finds out whether the lease still exists.
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), options.intervalMs);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    const now = Date.now();
    if (await this.options.renew()) this.#renewedAtMs = now;
    else this.#isLost = true;
  }

  /**
   * Checks that the lease was not lost, for example while the machine was asleep. Must be called before the work becomes visible.
   *
   * @throws LargeImageError `unavailable`
   */
  async confirm(): Promise<void> {
    // This uses the wall clock, because it continues while the machine sleeps.
    const isRecent = Math.abs(Date.now() - this.#renewedAtMs) < this.options.trustedMs;
    if (!this.#isLost && !isRecent) await this.#renew();
    if (this.#isLost) throw new LargeImageError('unavailable', 'The write made no progress for too long. Try again.');
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
