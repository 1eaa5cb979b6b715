/** Prints measured values next to their targets, and counts those that miss them. */
export class Targets {
  missed = 0;
  count = 0;

  /** @param most the largest value that reaches the target; `unit` is printed after both. */
  check(what: string, value: number, most: number, unit: string, more = ''): void {
    this.count += 1;
    const reached = value <= most;
    if (!reached) this.missed += 1;
    const shown = value < 10 ? value.toFixed(2) : value.toFixed(0);
    const verdict = reached ? 'reached' : 'NOT REACHED';
    console.log(
      `  ${what.padEnd(34)} ${`${shown} ${unit}`.padStart(10)}  to reach ${`${most} ${unit}`.padEnd(8)} ${verdict}  ${more}`,
    );
  }

  /** A value without a target. */
  print(what: string, text: string): void {
    console.log(`  ${what.padEnd(34)} ${text}`);
  }
}
