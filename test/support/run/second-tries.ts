import { existsSync, readFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/** Tests that may fail the first time: `{ "file > name": { "reason": "…", "until": "2026-12-31" } }`. */
const listed = new URL('known-flaky.json', import.meta.url);

/**
 * For runs that retry failed tests once, as CI does. Prints the tests that passed only the second time, with their first errors.
 * Each of these fails the run, because its fault must be fixed, unless it is in the list with a reason and a date that has not
 * passed.
 */
export default class SecondTries implements Reporter {
  readonly #lines: string[] = [];
  readonly #known = existsSync(listed)
    ? (JSON.parse(readFileSync(listed, 'utf8')) as Record<string, { reason: string; until: string }>)
    : {};

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    const error = test.result().errors?.[0];
    const entry = this.#known[name];
    const isExcused = entry !== undefined && new Date().toISOString().slice(0, 10) <= entry.until;
    if (!isExcused) process.exitCode = 1;
    const excuse = isExcused ? `known until ${entry.until}: ${entry.reason}` : 'This fails the run.';
    this.#lines.push(`${name}\n  ${excuse}\n  ${error?.stack ?? error?.message ?? 'no error is known'}`);
  }

  onTestRunEnd(): void {
    if (this.#lines.length > 0) console.log(['Passed only when tried again:', ...this.#lines].join('\n'));
  }
}
