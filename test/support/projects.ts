/**
 * The parts of the suite by name, with the folders of their test files, in the order in which they run: files that take minutes and mostly
 * wait begin first, and the many short ones fill the processors to the end.
 */
export const projects: Readonly<Record<string, { folders: readonly string[]; except?: readonly string[] }>> = {
  /** The package as users install it, and the code that its documentation shows. */
  package: { folders: ['test/package'] },
  /** Processes that are killed. */
  kills: { folders: ['test/rest/kills'] },
  /** `npm start`, and pages in a browser. */
  e2e: { folders: ['test/e2e'] },
  /** What one runs while one works. */
  fast: { folders: ['test/unit', 'test/contract', 'test/rest'], except: ['test/rest/kills'] },
};
