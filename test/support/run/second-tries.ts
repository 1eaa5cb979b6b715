import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Names the tests that failed and passed when they were tried again, as CI does, with their first errors: each is a fault to be mended.
 * The files that failed all the same, and those that left an error to nobody, are written to the file that FAILED_FILES names, one in a
 * line, for a run of their own; none when an error is of no file.
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
    // Vitest notes at an error that nobody caught which file ran at that time.
    const sources = errors.map((error) => (error as { VITEST_TEST_PATH?: string }).VITEST_TEST_PATH);
    const failed = modules.filter((module) => !module.ok()).map(({ moduleId }) => moduleId);
    const files = sources.includes(undefined) ? [] : new Set([...failed, ...(sources as string[])]);
    if (process.env.FAILED_FILES)
      writeFileSync(process.env.FAILED_FILES, [...files].map((file) => `${relative(process.cwd(), file)}\n`).join(''));
    if (this.#lines.length > 0) console.log(['Passed only when tried again:', ...this.#lines].join('\n'));
  }
}
