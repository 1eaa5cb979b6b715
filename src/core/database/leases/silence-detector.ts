/**
 * Detects that the owner of a lease has been silent for the duration of the lease. The time counts from when this process saw the
 * last sign of life, by its own clock alone, because clocks of other machines may be wrong.
 */
export class SilenceDetector {
  #lastSign: string | null = null;
  #signSeenAtMs = 0;

  /** @param now a clock in milliseconds. Callers that do not count some periods pass a clock that stands still during these. */
  constructor(
    private readonly maxSilenceMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Whether the owner has been silent for too long. @param sign a value that changes as long as the owner is alive. */
  isSilent(sign: string): boolean {
    if (sign !== this.#lastSign) {
      this.#lastSign = sign;
      this.#signSeenAtMs = this.now();
    }
    return this.now() - this.#signSeenAtMs >= this.maxSilenceMs;
  }
}
