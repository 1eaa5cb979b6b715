type Run = () => Promise<void> | void;

/**
 * The functions of a test runner that the suites use. The functions of vitest and jest fit, and the functions of node:test if its
 * `before` is passed as `beforeAll` and its `after` as `afterAll`.
 */
export interface TestFunctions {
  describe: (name: string, define: () => void) => unknown;
  it: (name: string, run: Run) => unknown;
  beforeAll: (run: Run) => unknown;
  afterAll: (run: Run) => unknown;
}
