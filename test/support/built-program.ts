import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsup';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * A program of this folder as one file of JavaScript, which starts in a third of the time: for tests that start many processes. It lies in
 * the package, whose name it uses, beside what it imports.
 */
export async function buildProgram(name: string): Promise<{ path: string; remove: () => Promise<void> }> {
  const outDir = await mkdtemp(join(root, '.program-'));
  const entry = [join(root, 'test', 'support', `${name}.ts`)];
  await build({
    entry,
    outDir,
    format: ['esm'],
    dts: false,
    silent: true,
    config: false,
    splitting: false,
    // The package says that its modules do nothing by being imported; those of tests do.
    esbuildOptions: (options) => {
      options.ignoreAnnotations = true;
    },
  });
  return { path: join(outDir, `${name}.js`), remove: () => rm(outDir, { recursive: true, force: true }) };
}
