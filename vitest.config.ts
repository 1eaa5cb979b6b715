import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { askedGroups, filesOf, groups, longest } from './test/support/run/groups.js';
import { isFull } from './test/support/run/sample.js';

const inPackage = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const alias = [
  // The names by which users import the package, as in tsconfig.json: examples are run as they stand.
  { find: /^express-large-image$/, replacement: inPackage('src/index.ts') },
  { find: /^express-large-image\/host$/, replacement: inPackage('src/larger-host.ts') },
  { find: /^express-large-image\/reference-host$/, replacement: inPackage('src/reference-host/index.ts') },
  { find: /^express-large-image\/s3$/, replacement: inPackage('src/s3/index.ts') },
  { find: /^express-large-image\/testing$/, replacement: inPackage('src/testing/index.ts') },
  { find: /^\.{1,2}\/.*\bconcurrency\/program\.js$/, replacement: inPackage('test/support/run/built-threads-and-children.ts') },
];

/** The files that take longest, then the others of the full suite, then those of the core; within these in Vitest's order by time or size. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranks = new Map(longest.map((path, rank) => [inPackage(path), rank]));
    const isFast = (path: string) => groups.core.some((folder) => path.startsWith(inPackage(`${folder}/`)));
    const rankOf = ({ moduleId }: TestSpecification) => ranks.get(moduleId) ?? longest.length + (isFast(moduleId) ? 1 : 0);
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

export default defineConfig({
  resolve: { alias },
  test: {
    // `npm test` and `npm run test:full` name groups (test/support/run/suite.ts); `npx vitest run FILE` finds every file.
    include: filesOf(askedGroups()),
    setupFiles: ['test/support/run/setup.ts'],
    globalSetup: ['test/support/run/global-setup.ts'],
    // Deadlines only end what hangs: on an idle machine no test takes more than a minute, and no preparation more than three.
    testTimeout: 600_000,
    hookTimeout: 1_800_000,
    pool: 'forks',
    // A process runs many files: loading everything anew for each takes longer than most tests.
    isolate: false,
    // A process lives for minutes. If its heap grew from a small size, collecting garbage would take an eighth of the time.
    execArgv: ['--initial-heap-size=1024', '--min-semi-space-size=64', '--max-semi-space-size=64'],
    // Three keep two processors busy, or four if many tests wait for killed processes and browsers. Each worker loads and compiles everything
    // anew, which takes it five seconds of processor time and more.
    maxWorkers: isFull ? 4 : 3,
    sequence: { sequencer: SlowFirst },
    // Later runs need not translate the sources again.
    experimental: { fsModuleCache: true },
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});
