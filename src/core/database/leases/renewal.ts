import { LargeImageError } from '../../../errors.js';

interface RenewalOptions {
  /** Says that this process lives. @returns false when what it renews is lost. */
  renew: () => Promise<boolean>;
  everyMs: number;
  /** What was renewed so shortly ago is still there: others wait longer before they take it for lost. */
  trustedMs: number;
}

/** Renews a lease every few seconds until it is stopped. */
export class Renewal {
  readonly #timer: NodeJS.Timeout;
  #isLost = false;
  #renewedAt = Date.now();

  constructor(private readonly options: RenewalOptions) {
    // The next renewal, or the check before something becomes visible, tells whether the lease is still there.
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), options.everyMs);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    const now = Date.now();
    if (await this.options.renew()) this.#renewedAt = now;
    else this.#isLost = true;
  }

  /**
   * Makes sure that the lease was not lost meanwhile, as after a long sleep of the machine: to be asked before what was done becomes visible.
   *
   * @throws LargeImageError `unavailable`
   */
  async confirm(): Promise<void> {
    // By the clock on the wall, which a sleep of the machine does not stop.
    const isRecent = Math.abs(Date.now() - this.#renewedAt) < this.options.trustedMs;
    if (!this.#isLost && !isRecent) await this.#renew();
    if (this.#isLost) throw new LargeImageError('unavailable', 'The write took too long without a sign of life; try again.');
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
