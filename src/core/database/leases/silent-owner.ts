/**
 * Tells when the owner of a lease has given no sign of life for the duration of the lease. The time is counted from when this process saw the last
 * sign, by its own clock alone, because clocks of other machines may be wrong.
 */
export class Silence {
  #sign: string | null = null;
  #since = 0;

  /** @param now a clock in milliseconds; given where some periods are not to count. */
  constructor(
    private readonly leaseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @param sign the current value of what the owner changes as long as it lives. */
  isOver(sign: string): boolean {
    if (sign !== this.#sign) {
      this.#sign = sign;
      this.#since = this.now();
    }
    return this.now() - this.#since >= this.leaseMs;
  }
}
