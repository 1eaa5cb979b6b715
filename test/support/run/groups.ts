/** The groups of the suite by name, with the folders of their test files. `npm test` runs `core`, and `npm run test:full` all others. */
export const groups = {
  /** Unit, contract and REST tests, samples of the large tables, and one session each of the page, the package and `npm start`. */
  core: ['test/unit', 'test/contract', 'test/rest', 'test/e2e'],
  /** Servers and workers that are killed at their steps. */
  kills: ['test/full/kills'],
  /** Files, disks, databases and clients that fail, are slow, or act at the same time. */
  faults: ['test/full/faults'],
  /** Requests at the documented limits, and the work of the server for them. */
  costly: ['test/full/costly'],
  /** Every route, requested by every kind of caller. */
  rights: ['test/full/rights'],
  /** Pages in a browser. */
  browser: ['test/full/browser'],
  /** The package as users install it, and the code examples of its documentation. */
  package: ['test/full/package'],
  /** `npm start` as a process. */
  start: ['test/full/start'],
  /** Files and requests of third-party programs, most of them in Python. */
  writers: [
    'test/full/writers',
    // These files also test other things, because they share samples and helpers.
    'test/rest/images/iiif.test.ts',
    'test/unit/configuration-text/referee.test.ts',
    'test/unit/tilesource/codecs/scanlines.test.ts',
    'test/unit/tilesource/codecs/whole-pictures.test.ts',
    'test/unit/tilesource/copied-tiles.test.ts',
    'test/unit/tilesource/sources/czi.test.ts',
    'test/unit/tilesource/sources/dicom.test.ts',
    'test/unit/tilesource/sources/geotiff.test.ts',
    'test/unit/tilesource/sources/jpeg2000.test.ts',
    'test/unit/tilesource/sources/openslide.test.ts',
    'test/unit/tilesource/sources/zarr.test.ts',
  ],
  /** Large tables and generated cases in full; the core tries a sample of them (`sample.ts`). */
  tables: [
    'test/rest/annotations/documents/annotation-bad-bodies.test.ts',
    'test/rest/annotations/documents/annotation-many-items.test.ts',
    'test/rest/annotations/documents/annotation-verdicts.test.ts',
    'test/rest/annotations/elements/element-store.test.ts',
    'test/rest/annotations/elements/element-store-body.test.ts',
    'test/rest/host/api-description.test.ts',
    'test/rest/host/install-checks.test.ts',
    'test/rest/images/conversion.test.ts',
    'test/unit/annotation-format',
    'test/unit/configuration-text',
    'test/unit/core/json-slices.test.ts',
    'test/unit/tilesource/conversion-samples.test.ts',
    'test/unit/tilesource/edges.test.ts',
    'test/unit/tilesource/pictures/without-value.test.ts',
    'test/unit/tilesource/sources/deepzoom.test.ts',
    'test/unit/tilesource/sources/multi.test.ts',
    'test/unit/tilesource/style',
    'test/unit/tilesource/tiff',
  ],
  /** Tests with a database, on one that stores its data on disk (`durable-database.ts`). */
  database: ['test/contract', 'test/rest', 'test/full/kills', 'test/full/faults'],
} as const satisfies Record<string, readonly string[]>;

export type Group = keyof typeof groups;

export const isGroup = (word: string): word is Group => Object.hasOwn(groups, word);

/** The groups that `TEST_GROUPS` names, separated by commas; all groups if it is not set. */
export function askedGroups(): Group[] {
  const names = process.env.TEST_GROUPS;
  return names === undefined ? (Object.keys(groups) as Group[]) : names.split(',').filter(isGroup);
}

/** Patterns of the test files of groups. */
export function filesOf(names: readonly Group[]): string[] {
  const paths = names.flatMap((name): readonly string[] => groups[name]);
  return [...new Set(paths)].map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`));
}

/** The files that take longest begin first, whatever their size, because one that begins late would run alone at the end. */
export const longest: readonly string[] = [
  // They wait most of a minute for leases to expire.
  'test/full/kills/plugin-kills.test.ts',
  'test/full/kills/host-kills.test.ts',
  'test/full/package/package.test.ts',
  'test/full/browser/accessibility.test.ts',
  'test/full/browser/viewer-annotations.test.ts',
  'test/full/start/start.test.ts',
  'test/full/browser/viewer-together.test.ts',
  'test/full/browser/viewer.test.ts',
  'test/full/package/documentation.test.ts',
  'test/full/kills/job-processes.test.ts',
  'test/full/costly/costly-annotations.test.ts',
  'test/unit/reference-host/database.test.ts',
  'test/rest/images/conversion.test.ts',
  'test/rest/reference-host/host-system.test.ts',
  'test/rest/jobs/job-runner.test.ts',
  'test/full/rights/access-matrix.test.ts',
  'test/full/rights/rights-table.test.ts',
  'test/full/costly/costly-images.test.ts',
];
