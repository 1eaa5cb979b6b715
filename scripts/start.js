/**
 * `npm start`: runs the program that is published, so that a server from a clone behaves like an installed one. The program is built when the sources have
 * changed since it was last built.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** A digest of everything that the program is built from. */
function digestOfSources() {
  const inSources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const others = ['package.json', 'package-lock.json', 'tsup.config.ts', 'scripts/build-program.ts'].map((name) =>
    join(root, name),
  );
  const hash = createHash('sha256');
  for (const path of [...inSources, ...others])
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

const folder = join(root, '.built', digestOfSources());
if (existsSync(folder)) {
  // The builds that were used least recently are removed first.
  utimesSync(folder, new Date(), new Date());
} else {
  const build = spawnSync(process.execPath, ['--import', 'tsx', join(root, 'scripts', 'build-program.ts'), folder], {
    cwd: root,
    stdio: 'inherit',
  });
  if (build.status !== 0) process.exit(build.status ?? 1);
}
// Further processes that serve are started with this path.
process.argv[1] = join(folder, 'main.js');
await import(pathToFileURL(process.argv[1]).href);
