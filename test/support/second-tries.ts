import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Names the tests that failed and passed when they were tried again, as CI does, with their first errors: each is a fault to be mended.
 * The files that failed all the same are written to the file that FAILED_FILES names, one in a line, for a run of their own; none when
 * the run itself failed.
 */
export default class SecondTries implements Reporter {
  readonly #lines: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const error = test.result().errors?.[0];
    this.#lines.push(
      `${test.module.relativeModuleId} > ${test.fullName}\n  ${error?.stack ?? error?.message ?? 'no error is known'}`,
    );
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const failed = errors.length > 0 ? [] : modules.filter((module) => !module.ok());
    if (process.env.FAILED_FILES)
      writeFileSync(process.env.FAILED_FILES, failed.map(({ relativeModuleId }) => `${relativeModuleId}\n`).join(''));
    if (this.#lines.length > 0) console.log(['Passed only when tried again:', ...this.#lines].join('\n'));
  }
}
