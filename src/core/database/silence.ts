/**
 * Tells when the owner of something has given no sign of life for a whole lease. That is judged by the clock of this process alone, from when
 * it saw the last sign: clocks of other machines may be wrong.
 */
export class Silence {
  #sign: string | null = null;
  #since = 0;

  /** @param now the clock in milliseconds: another one where some times are not to count. */
  constructor(
    private readonly leaseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @param sign what the owner changes while it lives, as it is now. */
  isOver(sign: string): boolean {
    if (sign !== this.#sign) {
      this.#sign = sign;
      this.#since = this.now();
    }
    return this.now() - this.#since >= this.leaseMs;
  }
}
