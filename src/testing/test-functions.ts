type Run = () => Promise<void> | void;

/** The functions of a test runner that the suites use. The functions of vitest, jest and node:test (as `beforeAll: before`) fit. */
export interface TestFunctions {
  describe: (name: string, define: () => void) => unknown;
  it: (name: string, run: Run) => unknown;
  beforeAll: (run: Run) => unknown;
  afterAll: (run: Run) => unknown;
}
