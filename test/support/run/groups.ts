/** The groups of the suite by name, with the folders of their test files. `npm test` runs `core`, and `npm run test:full` all others. */
export const groups = {
  /** Unit, contract and REST tests, samples of the large tables, and one session each of the page, the package and `npm start`. */
  core: ['test/unit', 'test/contract', 'test/rest', 'test/e2e'],
  /** Servers and workers that are killed at their steps. */
  kills: ['test/full/kills'],
  /** Files, disks, databases and clients that fail, are slow, or come at the same time. */
  faults: ['test/full/faults'],
  /** Requests at the limits of what is accepted, and what the server does for them. */
  costly: ['test/full/costly'],
  /** Every route, asked by every kind of caller. */
  rights: ['test/full/rights'],
  /** Pages in a browser. */
  browser: ['test/full/browser'],
  /** The package as users install it, and the code examples of its documentation. */
  package: ['test/full/package'],
  /** `npm start` as a process. */
  start: ['test/full/start'],
  /** Files and requests that programs by other people have written, most of them in Python. */
  writers: [
    'test/full/writers',
    // Also what else these test, since they share samples and helpers with it.
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
  /** Large tables and generated cases, of which the core tries a sample (`sample.ts`), in full. */
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
  /** What uses a database, on one that keeps its data on disk (`durable-database.ts`). */
  database: ['test/contract', 'test/rest', 'test/full/kills', 'test/full/faults'],
} as const satisfies Record<string, readonly string[]>;

export type Group = keyof typeof groups;

export const isGroup = (word: string): word is Group => Object.hasOwn(groups, word);

/** The groups that this run was asked for in `TEST_GROUPS`, with commas between them; all where that is not set. */
export function askedGroups(): Group[] {
  const names = process.env.TEST_GROUPS;
  return names === undefined ? (Object.keys(groups) as Group[]) : names.split(',').filter(isGroup);
}

/** Patterns of the test files of groups. */
export function filesOf(asked: readonly Group[]): string[] {
  const paths = asked.flatMap((name): readonly string[] => groups[name]);
  return [...new Set(paths)].map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`));
}

/** Files that take longest begin first, whatever their size: one that begins late would run on alone. */
export const longest: readonly string[] = [
  // They wait for leases to run out, most of a minute.
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
