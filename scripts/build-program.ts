/** Builds the program of `npm start` into the folder that is named on the command line: what `npm run build` makes, without the declarations of types. */
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'tsup';
import { copyRunTimeFiles, packageBuild } from '../tsup.config.js';

/** Number of builds to keep, because servers that run from an older one may still start threads. */
const keptBuilds = 4;

const folder = process.argv[2]!;
const builds = dirname(folder);
process.stdout.write('Building the program (once, and again when the sources change).\n');
await mkdir(builds, { recursive: true });
const unfinished = await mkdtemp(join(builds, '.unfinished-'));
await build({
  ...packageBuild,
  config: false,
  silent: true,
  entry: { ...packageBuild.entry, main: 'src/reference-host/start/main.ts' },
  outDir: unfinished,
  dts: false,
  metafile: false,
  onSuccess: () => copyRunTimeFiles(unfinished),
});
// Another `npm start` may have built the same meanwhile; the folder appears only when it is complete.
await rename(unfinished, folder).catch(async (error: NodeJS.ErrnoException) => {
  await rm(unfinished, { recursive: true, force: true });
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
});
await removeOldBuilds();

async function removeOldBuilds(): Promise<void> {
  const names = (await readdir(builds)).filter((name) => !name.startsWith('.'));
  const found = await Promise.all(
    names.map(async (name) => ({ path: join(builds, name), usedAt: (await stat(join(builds, name))).mtimeMs })),
  );
  const old = found.toSorted((one, other) => other.usedAt - one.usedAt).slice(keptBuilds);
  for (const { path } of old) await rm(path, { recursive: true, force: true });
}
