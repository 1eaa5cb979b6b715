import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askedGroups } from '../run/groups.js';

const python = process.env.PYTHON ?? 'python3';

/** Files that third-party programs have written, in a folder that {@link Fixtures.remove} removes. */
export interface Fixtures<Manifest> {
  folder: string;
  /** The output of the script. */
  manifest: Manifest;
  remove(): void;
}

/** Exit code of scripts that lack something other than a module. They print what it is. */
const skippedCode = 77;

/**
 * Runs a script of `test/fixtures`, which writes files into a folder and prints their contents as JSON. Returns `null`, and
 * prints the reason, if Python lacks a module or the script ends with code 77. Also returns `null` in runs without the group
 * `writers`.
 */
export function writeFixtures<Manifest>(script: string, modules: readonly string[]): Fixtures<Manifest> | null {
  // The core does not need them, so no message is printed.
  if (!askedGroups().includes('writers')) return null;
  const probe = spawnSync(python, ['-c', `import ${modules.join(', ')}`], { encoding: 'utf8' });
  if (probe.status !== 0) {
    const reason = probe.error?.message ?? probe.stderr.trim().split('\n').at(-1);
    console.warn(`skipped: ${script} needs ${modules.join(', ')} (${reason}); set PYTHON to a Python that has them`);
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), 'fixtures-'));
  const path = fileURLToPath(new URL(`../../fixtures/${script}`, import.meta.url));
  const result = spawnSync(python, ['-W', 'ignore', path, folder], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  if (result.status !== 0) {
    remove();
    if (result.status === skippedCode) {
      console.warn(`skipped: ${script} (${result.stderr.trim()})`);
      return null;
    }
    throw new Error(`${script} failed: ${result.stderr}`);
  }
  const printed = result.stdout.trim().split('\n').at(-1) ?? '';
  return { folder, manifest: JSON.parse(printed) as Manifest, remove };
}
