import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longest, projects } from './test/support/run/projects.js';

const inPackage = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const alias = [
  // The names by which users import the package, as in tsconfig.json: examples are run as they stand.
  { find: /^express-large-image$/, replacement: inPackage('src/index.ts') },
  { find: /^express-large-image\/reference-host$/, replacement: inPackage('src/reference-host/index.ts') },
  { find: /^express-large-image\/s3$/, replacement: inPackage('src/s3/index.ts') },
  { find: /^express-large-image\/testing$/, replacement: inPackage('src/testing/index.ts') },
  { find: /^\.{1,2}\/.*\bconcurrency\/program\.js$/, replacement: inPackage('test/support/run/built-threads-and-children.ts') },
];

/** The files that take longest, then the other slow ones, then the fast ones; within these in Vitest's order by time or size. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranks = new Map(longest.map((path, rank) => [inPackage(path), rank]));
    const isSlow = (path: string) => projects.slow!.folders.some((folder) => path.startsWith(inPackage(`${folder}/`)));
    const rankOf = ({ moduleId }: TestSpecification) => ranks.get(moduleId) ?? longest.length + (isSlow(moduleId) ? 0 : 1);
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Only files of one project share processes, of which each costs seconds to load everything: all are one, unless some are asked for by name. */
const projectsOfRun: typeof projects = process.argv.some((word) => word.startsWith('--project'))
  ? projects
  : { all: { folders: Object.values(projects).flatMap(({ folders }) => folders) } };

export default defineConfig({
  test: {
    projects: Object.entries(projectsOfRun).map(([name, { folders, except = [] }]) => ({
      resolve: { alias },
      test: {
        name,
        include: folders.map((folder) => `${folder}/**/*.test.ts`),
        exclude: except.map((folder) => `${folder}/**`),
        setupFiles: ['test/support/run/setup.ts'],
        testTimeout: 60_000,
        hookTimeout: 120_000,
        pool: 'forks' as const,
        // A process runs many files: loading everything anew for each takes longer than most tests.
        isolate: false,
        // It lives for minutes and has memory: collecting garbage of a heap that grows from little takes an eighth of its time.
        execArgv: ['--initial-heap-size=1024', '--min-semi-space-size=64', '--max-semi-space-size=64'],
      },
    })),
    sequence: { sequencer: SlowFirst },
    globalSetup: ['test/support/run/global-setup.ts'],
    // Two processors are busy with four: many tests wait for servers, jobs and killed processes.
    maxWorkers: 4,
    // The second project, and later runs, need not translate the sources again.
    experimental: { fsModuleCache: true },
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});
