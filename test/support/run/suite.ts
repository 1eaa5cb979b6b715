/**
 * `npm test` and `npm run test:full -- [GROUP…] [words for Vitest]`: runs groups of tests (`groups.ts`), by default all except
 * `core`. The group `database` runs last and alone, with its own database.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { groups, isGroup, type Group } from './groups.js';
import { startDurableDatabase } from './durable-database.js';

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const words = process.argv.slice(2);
const named = words.filter(isGroup);
const others = words.filter((word) => !isGroup(word));
const groupNames = named.length > 0 ? named : (Object.keys(groups) as Group[]).filter((name) => name !== 'core');

async function run(names: readonly Group[], env: Record<string, string> = {}): Promise<void> {
  if (names.length === 0) return;
  console.log(`Tests: ${names.join(', ')}`);
  const child = spawn(process.execPath, [vitest, 'run', ...others], {
    stdio: 'inherit',
    env: { ...process.env, TEST_GROUPS: names.join(','), ...env },
  });
  // Ctrl-C reaches both processes. Vitest stops what it has started.
  process.once('SIGINT', () => undefined);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) process.exitCode = 1;
}

// Two files of this group pack the package at the same time, so it is built before they run.
if (groupNames.includes('package')) execFileSync('npm', ['run', 'build'], { stdio: 'inherit' });
await run(groupNames.filter((name) => name !== 'database'));
if (groupNames.includes('database')) {
  const database = await startDurableDatabase();
  if (database === null) {
    console.log('Skipped: the group database. Set MONGODB_URI to a MongoDB that keeps its data on disk.');
  } else {
    try {
      await run(['database'], { MONGODB_URI: database.uri });
    } finally {
      await database.stop();
    }
  }
}
