import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface LockedPackage {
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, LockedPackage> };
const names = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));

it('locks every optional dependency, because npm ci refuses a lock file that lacks the builds of another platform', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !names.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it('names no registry host', () => {
  expect(Object.entries(packages).filter(([, { resolved }]) => resolved?.startsWith('http'))).toEqual([]);
});

it('mongodb-memory-server downloads no database while it is installed', () => {
  const cwd = 'node_modules/mongodb-memory-server';
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, INIT_CWD: process.cwd() };
  expect(execFileSync(process.execPath, ['postinstall.js'], { cwd, env, encoding: 'utf8' })).toContain('postinstall skipped');
});
