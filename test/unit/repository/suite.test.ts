import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { programOf } from '../../../src/core/concurrency/program.js';
import { longest, projects } from '../../support/run/projects.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`);

/** Names of the projects that run a file: its folder says which. */
function projectsOf(file: string): string[] {
  const isIn = (folders: readonly string[]) => folders.some((folder) => file.startsWith(`${folder}/`));
  return Object.keys(projects).filter((name) => isIn(projects[name]!.folders) && !isIn(projects[name]!.except ?? []));
}

/** The modules of the tests that one imports, with all that those import. */
function supportOf(file: string, seen = new Set<string>()): Set<string> {
  const imports = /^(?:import|export) (?!type)[^;]*? from '(\.[^']+)\.js';$/gm;
  for (const [, path] of readFileSync(join(root, file), 'utf8').matchAll(imports)) {
    const found = `${relative(root, join(root, dirname(file), path!))}.ts`;
    if (!found.startsWith('test/') || seen.has(found)) continue;
    seen.add(found);
    supportOf(found, seen);
  }
  return seen;
}

it('every test file belongs to one project', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => projectsOf(file).length !== 1)).toEqual([]);
  expect(longest.filter((file) => !files.includes(file))).toEqual([]);
});

it('the fast tests start no browser, no `npm start`, and nothing that is killed at a step', () => {
  const names = ['pages/chromium', 'hosts/server-process', 'run/steps', 'run/built-program'];
  const slow = names.map((name) => `test/support/${name}.ts`);
  const isSlow = (file: string) => slow.some((path) => supportOf(file).has(path));
  expect(files.filter((file) => projectsOf(file)[0] === 'fast' && isSlow(file))).toEqual([]);
  expect(files.filter((file) => projectsOf(file)[0] === 'slow').some(isSlow)).toBe(true);
});

it('threads and processes run what was built for the run, not the sources', () => {
  const { filename, execArgv } = programOf(import.meta.url, { source: './thread.ts', built: 'codec-thread' });
  expect([existsSync(filename), execArgv]).toEqual([true, []]);
  const modules = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const starting = modules.filter((name) => readFileSync(join(root, 'src', name), 'utf8').includes("'tsx'"));
  expect(starting).toEqual(['core/concurrency/program.ts']);
});
