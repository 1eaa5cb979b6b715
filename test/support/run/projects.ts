/**
 * The parts of the suite by name, with the folders of their test files, in the order in which they run: files that take minutes and mostly
 * wait begin first, and the many short ones fill the processors to the end.
 */
export const projects: Readonly<Record<string, { folders: readonly string[]; except?: readonly string[] }>> = {
  /** The package as users install it, `npm start`, pages in a browser, and processes that are killed. */
  slow: { folders: ['test/package', 'test/e2e', 'test/rest/kills'] },
  /** What one runs while one works. */
  fast: { folders: ['test/unit', 'test/contract', 'test/rest'], except: ['test/rest/kills'] },
};

/** Files that take longest begin first, whatever their size: one that begins late would run on alone. */
export const longest: readonly string[] = [
  // They wait for leases to run out, most of a minute.
  'test/rest/kills/plugin-kills.test.ts',
  'test/rest/kills/host-kills.test.ts',
  'test/package/package.test.ts',
  'test/e2e/viewer/accessibility.test.ts',
  'test/e2e/viewer/viewer-annotations.test.ts',
  'test/e2e/start/start.test.ts',
  'test/e2e/viewer/viewer-together.test.ts',
  'test/e2e/viewer/viewer.test.ts',
  'test/package/documentation.test.ts',
  'test/rest/kills/job-processes.test.ts',
  'test/rest/load/costly-annotations.test.ts',
  'test/unit/reference-host/database.test.ts',
  'test/rest/images/conversion.test.ts',
  'test/rest/reference-host/host-system.test.ts',
  'test/rest/jobs/job-runner.test.ts',
  'test/rest/access/access-matrix.test.ts',
  'test/rest/access/rights-table.test.ts',
  'test/rest/load/costly-images.test.ts',
];
