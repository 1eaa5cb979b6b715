import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packAndInstall, type Installed } from '../../support/run/packed.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

let installed: Installed;
/** Why the package cannot be installed here, if it cannot. */
let notInstalled: string | null = null;

beforeAll(async () => {
  installed = await packAndInstall();
  if (installed.alone === null) notInstalled = 'the registry of npm cannot be reached';
}, 600_000);
afterAll(() => installed?.remove());

/** Creates a project next to the installed package, which it finds in the parent folder. */
async function project(name: string, packages: readonly string[], files: Record<string, string>): Promise<string> {
  const folder = join(installed.work, name);
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  const words = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', ...packages];
  await run('npm', words, { cwd: folder, maxBuffer: 1 << 26 });
  return folder;
}

/** A code block of a page of the documentation. */
async function block(page: string, language: string): Promise<string> {
  const text = await readFile(join(root, 'docs', page), 'utf8');
  const code = text.split(`\n\`\`\`${language}\n`)[1]?.split('\n```')[0];
  if (code === undefined) throw new Error(`${page} has no ${language}`);
  return code;
}

describe('the package in projects of its users', { timeout: 600_000 }, () => {
  it('loads in Jest, as documented, in a project like those of `nest new`', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const jest = { testRegex: '.*\\.spec\\.ts$', transform: { '^.+\\.(t|j)s$': 'ts-jest' }, testEnvironment: 'node' };
    const options = {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      isolatedModules: true,
      target: 'ES2023',
      skipLibCheck: true,
    };
    const folder = await project('nest', ['jest@30', 'ts-jest@29', 'typescript@5.9', '@types/jest@30'], {
      'package.json': JSON.stringify({ private: true, jest }),
      'tsconfig.json': JSON.stringify({ compilerOptions: options }),
      'server.spec.ts': await block('frameworks.md', 'typescript'),
    });
    const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' };
    const { stderr } = await run(join(folder, 'node_modules', '.bin', 'jest'), [], { cwd: folder, env });
    expect(stderr).toContain('1 passed');
  });

  it('can be imported without a browser, as when a server renders a page', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const code = `for (const name of ['viewer', 'viewer/react']) console.log(Object.keys(await import('express-large-image/' + name)).join());`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: installed.work });
    expect(stdout).toBe('LargeImageViewer,translate\nLargeImageViewer,translate\n');
  });

  it.for(['18', '19'])('has types for the JSX of React %s', async (version, { skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const code = await block('frameworks.md', 'tsx');
    const options = { target: 'ES2022', lib: ['ES2022', 'DOM', 'DOM.Iterable'], module: 'ESNext', moduleResolution: 'bundler' };
    const strict = { jsx: 'react-jsx', strict: true, noEmit: true, types: [] };
    const folder = await project(`react${version}`, [`@types/react@${version}`, 'typescript@5.9'], {
      'package.json': JSON.stringify({ private: true, type: 'module' }),
      'tsconfig.json': JSON.stringify({ compilerOptions: { ...options, ...strict }, include: ['*.tsx'] }),
      'Slide.tsx': code,
      'Wrong.tsx': code.replace('theme="dark"', 'theme="blue"'),
    });
    // The package finds the types of React next to itself.
    const packageFolder = join('node_modules', 'express-large-image');
    await cp(join(installed.work, packageFolder), join(folder, packageFolder), { recursive: true });
    const tsc = run(join(folder, 'node_modules', '.bin', 'tsc'), ['-p', '.'], { cwd: folder });
    const complaints = await tsc.then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(complaints).toMatch(/^Wrong\.tsx\(\d+,\d+\): error TS2322: Type '"blue"'/);
    expect(complaints).not.toContain('Slide.tsx');
  });
});
