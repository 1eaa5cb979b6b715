import type { TestFunctions } from '../test-functions.js';
import { announcementChecks } from './announcements.js';
import { fileChecks } from './files.js';
import type { HostUnderTest } from './host-under-test.js';
import { rightsChecks } from './rights.js';
import { HostTrial } from './trial.js';

/**
 * Checks that an adapter keeps the promises of `Host`. Call it in a test file with the functions of the test runner:
 * `describeHost('my host', makeHost, { describe, it, beforeAll, afterAll })`.
 */
export function describeHost(name: string, makeHost: () => Promise<HostUnderTest>, runner: TestFunctions): void {
  const { describe, it, beforeAll, afterAll } = runner;
  describe(`host contract: ${name}`, () => {
    let trial: HostTrial | undefined;
    beforeAll(async () => {
      trial = await HostTrial.open(makeHost);
    });
    afterAll(() => trial?.close());
    const checks = { ...rightsChecks, ...fileChecks, ...announcementChecks };
    for (const [promise, check] of Object.entries(checks)) it(promise, () => check(trial!));
  });
}
