import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Options } from 'tsup';
import packageBuild from '../../tsup.config.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Has the program wait at its steps where it is told so (kills/hold-at-step.ts): `step(…)` becomes `await reached(…)`. */
const holdingAtSteps: Plugin = {
  name: 'hold-at-steps',
  setup(building) {
    building.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const awaited = text.replaceAll(/(?<![.\w])step\((?=['`])/g, 'await reached(');
      if (awaited === text) return null;
      const from = JSON.stringify(join(root, 'test', 'support', 'kills', 'hold-at-step.js'));
      return { contents: `import { reached } from ${from};\n${awaited}`, loader: 'ts' };
    });
  },
};

/**
 * A program, `test/support/host-process`, as one file of JavaScript, which starts in a third of the time: for tests that start many processes. It lies in
 * the package, whose name it uses, beside what it imports and the programs of threads and processes.
 */
export async function buildProgram(
  source: string,
  { holdsAtSteps = false } = {},
): Promise<{ path: string; remove: () => Promise<void> }> {
  const name = basename(source);
  const outDir = await mkdtemp(join(root, '.program-'));
  const { entry } = packageBuild as { entry: Record<string, string> };
  const started = Object.entries(entry).filter(([program]) => /-(thread|process)$/.test(program));
  await build({
    entry: { [name]: join(root, `${source}.ts`), ...Object.fromEntries(started) },
    outDir,
    format: ['esm'],
    dts: false,
    silent: true,
    config: false,
    splitting: false,
    esbuildPlugins: holdsAtSteps ? [holdingAtSteps] : [],
    // The package says that its modules do nothing by being imported; those of tests do.
    esbuildOptions: (options) => {
      options.ignoreAnnotations = true;
    },
  });
  return { path: join(outDir, `${name}.js`), remove: () => rm(outDir, { recursive: true, force: true }) };
}
