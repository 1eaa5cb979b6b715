import { mkdtemp, readFile, readdir, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Options } from 'tsup';
import { writeViewer } from '../../../src/reference-host/viewer-bundle.js';
import { packageBuild } from '../../../tsup.config.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
type Plugin = NonNullable<Options['esbuildPlugins']>[number];
type Entries = Record<string, string>;

/** Makes the program wait at its steps (kills/hold-at-step.ts): `announceStep(…)` becomes `await reached(…)`. */
const holdingAtSteps: Plugin = {
  name: 'hold-at-steps',
  setup(building) {
    building.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const awaited = text.replaceAll(/(?<![.\w])announceStep\((?=['`])/g, 'await reached(');
      if (awaited === text) return null;
      const from = JSON.stringify(join(root, 'test', 'support', 'kills', 'hold-at-step.js'));
      return { contents: `import { reached } from ${from};\n${awaited}`, loader: 'ts' };
    });
  },
};

const { entry: packageEntries, banner } = packageBuild;

/** Built JavaScript programs in a folder. */
interface BuiltPrograms {
  folder: string;
  remove: () => Promise<void>;
}

/**
 * Builds programs into a folder inside the package, because they import it by its name, together with the programs of threads and
 * processes.
 */
async function buildInto(entry: Entries, { holdsAtSteps = false } = {}): Promise<BuiltPrograms> {
  const folder = await mkdtemp(join(root, '.program-'));
  const started = Object.entries(packageEntries).filter(([program]) => /-(thread|process)$/.test(program));
  await build({
    entry: { ...entry, ...Object.fromEntries(started) },
    outDir: folder,
    format: ['esm'],
    dts: false,
    silent: true,
    config: false,
    splitting: true,
    // Loading hundreds of modules of packages takes half of the start time, so these are bundled. Packages with their own
    // programs or files are not.
    noExternal: [/^(@agendajs\/mongo-backend|agenda|ajv|express|find-my-way|js-yaml|mongoose)$/],
    banner,
    esbuildPlugins: holdsAtSteps ? [holdingAtSteps] : [],
    // The package declares that its modules have no side effects; the modules of tests have some.
    esbuildOptions: (options) => {
      options.ignoreAnnotations = true;
      Object.assign(options, { minifyWhitespace: true, lineLimit: 160 });
    },
  });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/**
 * Builds everything that tests start in separate processes, each as a JavaScript file, which starts in a third of the time of the
 * sources: the programs of `programs/`, `npm start` as `main`, the command line as `cli`, and the modules that small scripts of
 * tests import.
 */
export async function buildTestPrograms(): Promise<BuiltPrograms> {
  const programs = (await readdir(join(root, 'test', 'support', 'programs'))).map((file) => `test/support/programs/${file}`);
  const parts = ['core/database/leases/process-name', 'core/temporary-files', 'reference-host/database/start-database'];
  const sources = ['cli/cli', 'reference-host/start/main', 'reference-host/start/data-lock', ...parts].map(
    (path) => `src/${path}.ts`,
  );
  const built = await buildInto(
    Object.fromEntries([...programs, ...sources].map((path) => [basename(path, '.ts'), join(root, path)])),
  );
  await symlink(join(root, 'src/reference-host/database/MemoryDatabase.java'), join(built.folder, 'MemoryDatabase.java'));
  await writeViewer(join(built.folder, 'viewer'));
  return built;
}

/** Builds a program that is not built for all tests, such as `test/support/programs/host-process`. */
export async function buildProgram(
  source: string,
  options: { holdsAtSteps?: boolean } = {},
): Promise<{ path: string; remove: () => Promise<void> }> {
  const name = basename(source);
  const { folder, remove } = await buildInto({ [name]: join(root, `${source}.ts`) }, options);
  return { path: join(folder, `${name}.js`), remove };
}
