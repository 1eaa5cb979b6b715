import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { askedGroups } from '../run/groups.js';

const python = process.env.PYTHON ?? 'python3';

/** Whether Python 3 is available, in runs with the group `writers`. If not, prints why the referee tests are skipped. */
export function hasPython(): boolean {
  if (!askedGroups().includes('writers')) return false;
  const result = spawnSync(python, ['--version'], { encoding: 'utf8' });
  if (result.status === 0) return true;
  console.warn(
    `skipped: ${python} cannot be run (${result.error?.message ?? result.stderr}); set PYTHON to compare with Python's own parsers`,
  );
  return false;
}

/** Runs a script of this folder in one process: JSON in, JSON out. */
export function askPython(script: string, input: unknown): unknown {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const result = spawnSync(python, ['-W', 'ignore', path], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (result.status !== 0) throw new Error(`${script} failed: ${result.stderr}`);
  return JSON.parse(result.stdout);
}
