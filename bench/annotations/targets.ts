/** Prints measured values next to their targets, and counts those that miss them. */
export class Targets {
  missed = 0;
  count = 0;

  /** @param maxValue the largest value that reaches the target. `unit` is printed after both values. */
  check(name: string, value: number, maxValue: number, unit: string, detail = ''): void {
    this.count += 1;
    const isReached = value <= maxValue;
    if (!isReached) this.missed += 1;
    const valueText = value < 10 ? value.toFixed(2) : value.toFixed(0);
    const verdict = isReached ? 'reached' : 'NOT REACHED';
    console.log(
      `  ${name.padEnd(34)} ${`${valueText} ${unit}`.padStart(10)}  to reach ${`${maxValue} ${unit}`.padEnd(8)} ${verdict}  ${detail}`,
    );
  }

  /** Prints a value without a target. */
  print(name: string, text: string): void {
    console.log(`  ${name.padEnd(34)} ${text}`);
  }
}
