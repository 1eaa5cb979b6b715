/**
 * Detects that the owner of a lease has been silent for the duration of the lease. The time counts from when this process saw the
 * last sign of life, by its own clock alone, because clocks of other machines may be wrong.
 */
export class Silence {
  #sign: string | null = null;
  #since = 0;

  /** @param now a clock in milliseconds, for callers that do not count some periods. */
  constructor(
    private readonly leaseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @param sign a value that changes as long as the owner is alive. */
  isOver(sign: string): boolean {
    if (sign !== this.#sign) {
      this.#sign = sign;
      this.#since = this.now();
    }
    return this.now() - this.#since >= this.leaseMs;
  }
}
