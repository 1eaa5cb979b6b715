import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

export default defineConfig({
  // The names by which users import the package, as in tsconfig.json: examples are run as they stand.
  resolve: {
    alias: [
      { find: /^express-large-image$/, replacement: source('index.ts') },
      { find: /^express-large-image\/reference-host$/, replacement: source('reference-host/index.ts') },
      { find: /^express-large-image\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/own-temporary-folder.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Two processors are busy with three: many tests wait for servers, jobs and killed processes.
    maxWorkers: 3,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary'] },
  },
});
