import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findProgram } from '../../../src/core/concurrency/program.js';
import { groups, longest } from '../../support/run/groups.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
  .toSorted();

/** Names of the groups that run a file, by its folder. `database`, `tables` and `writers` repeat files of other groups. */
function groupsOf(file: string): string[] {
  const { database: _database, tables: _tables, ...others } = groups;
  return Object.entries(others)
    .filter(([, folders]) => folders.some((folder) => file.startsWith(`${folder}/`)))
    .map(([name]) => name);
}

/** The test modules that a file imports, directly or indirectly. */
function supportOf(file: string, modules = new Set<string>()): Set<string> {
  const imports = /^(?:import|export) (?!type)[^;]*? from '(\.[^']+)\.js';$/gm;
  for (const [, path] of readFileSync(join(root, file), 'utf8').matchAll(imports)) {
    const module = `${relative(root, join(root, dirname(file), path!))}.ts`;
    if (!module.startsWith('test/') || modules.has(module)) continue;
    modules.add(module);
    supportOf(module, modules);
  }
  return modules;
}

it('finds every test file in one group', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => groupsOf(file).length !== 1)).toEqual([]);
  expect(longest.filter((file) => !files.includes(file))).toEqual([]);
});

it('has files written by Python only in the group `writers`', () => {
  const named: readonly string[] = groups.writers;
  const writing = ['images/fixtures', 'python/python'].map((name) => `test/support/${name}.ts`);
  const expected = files.filter((file) => writing.some((path) => supportOf(file).has(path)));
  expect(expected.filter((file) => !file.startsWith('test/full/writers/'))).toEqual(named.slice(1));
});

it('starts browsers, `npm start` and programs to be killed only in `test/e2e` in the group `core`', () => {
  const names = ['pages/chromium', 'hosts/server-process', 'run/steps', 'run/built-program'];
  const slow = names.map((name) => `test/support/${name}.ts`);
  const isSlow = (file: string) => slow.some((path) => supportOf(file).has(path));
  const slowFiles = files.filter(isSlow);
  expect(slowFiles.filter((file) => groupsOf(file)[0] === 'core' && !file.startsWith('test/e2e/'))).toEqual([]);
  expect(slowFiles.length).toBeGreaterThan(10);
});

it('runs built programs in threads and processes, not the sources', () => {
  const { filename, execArgv } = findProgram(import.meta.url, { source: './thread.ts', built: 'codec-thread' });
  expect([existsSync(filename), execArgv]).toEqual([true, []]);
  const modules = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const starting = modules.filter((name) => readFileSync(join(root, 'src', name), 'utf8').includes("'tsx'"));
  expect(starting).toEqual(['core/concurrency/program.ts']);
});
