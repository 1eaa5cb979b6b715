/** The parts of the suite by name, with the folders of their test files. */
export const projects: Readonly<Record<string, { folders: readonly string[]; except?: readonly string[] }>> = {
  /** What one runs while one works. */
  fast: { folders: ['test/unit', 'test/contract', 'test/rest'], except: ['test/rest/kills'] },
  /** Processes that are killed. */
  kills: { folders: ['test/rest/kills'] },
  /** `npm start`, and pages in a browser. */
  e2e: { folders: ['test/e2e'] },
  /** The package as users install it, and the code that its documentation shows. */
  package: { folders: ['test/package'] },
};
