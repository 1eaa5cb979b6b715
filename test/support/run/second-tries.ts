import { existsSync, readFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/** Tests that may pass only when they are tried again: `{ "file > name": { "reason": "…", "until": "2026-12-31" } }`. */
const listed = new URL('known-flaky.json', import.meta.url);

/**
 * For runs in which a test that fails is tried once more, as CI does: names the tests that passed only then, with their first errors. Each is a fault
 * to be mended, and fails the run, unless it is in the list with a reason and a day that is not over.
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
    const known = this.#known[name];
    const isExcused = known !== undefined && new Date().toISOString().slice(0, 10) <= known.until;
    if (!isExcused) process.exitCode = 1;
    const excuse = isExcused ? `known until ${known.until}: ${known.reason}` : 'This fails the run.';
    this.#lines.push(`${name}\n  ${excuse}\n  ${error?.stack ?? error?.message ?? 'no error is known'}`);
  }

  onTestRunEnd(): void {
    if (this.#lines.length > 0) console.log(['Passed only when tried again:', ...this.#lines].join('\n'));
  }
}
