import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, type Dirent } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Files of all layers. A file might import any of them. */
const imports = `
  errors host installation install worker index larger-host core/core core/json core/host/records core/database/outage
  core/concurrency/slices http/route http/serving/mount tilesource/raster tilesource/sources/tiff/tiff-layout tilesource/style/usual-colors
  annotation-format/rules configuration-text/parse features/feature features/images/images features/jobs/job.model
  features/jobs/jobs.routes features/cached-files/cache-files.job reference-host/index reference-host/start/serve
  s3/index s3/bucket cli/usage viewer/dom testing/index
`
  .trim()
  .split(/\s+/)
  .map((path) => `${path}.ts`);
/** The packages for which words of the table stand. */
const packages: Readonly<Record<string, readonly string[]>> = {
  express: ['express'],
  mongoose: ['mongoose', 'mongodb'],
  agenda: ['agenda'],
  sharp: ['sharp'],
  'node:fs': ['node:fs', 'node:fs/promises', 'node:child_process', 'node:worker_threads'],
  'node:http': ['node:http', 'node:https', 'node:net'],
};

const wordsOf = (cell: string) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, word]) => word!);

/** Whether a word of the table, such as `core/` or `*.model.ts`, stands for a file or package. */
function standsFor(word: string, name: string): boolean {
  if (word in packages) return packages[word]!.includes(name);
  if (word.endsWith('/')) return name.startsWith(word);
  const pattern = new RegExp(`^${word.replaceAll('.', '\\.').replace('*', '[^/]*')}$`);
  return pattern.test(word.startsWith('*') ? basename(name) : name);
}

/** The rows of the table in docs/architecture.md. Each says what may be imported. */
function readTable() {
  const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8').split(/^## Where /m)[1]!;
  const rows = Array.from(text.matchAll(/^\| (`.*) \| .* \| (.*) \|$/gm), ([, places, may]) => [wordsOf(places!), may!] as const);
  const services = rows.find(([[place]]) => place === 'features/')![1];
  return rows
    .filter(([, may]) => may !== 'everything')
    .map(([places, may]) => {
      const allowed = may.replace('as services', services);
      const [not = ''] = /[(]not .*?[)]/.exec(allowed) ?? [];
      return { place: places[0]!, allowed: wordsOf(allowed.replace(not, '')), refused: wordsOf(not) };
    });
}

/** Possible files at a place: one in each existing folder. */
function filesAt(place: string): string[] {
  const isFolder = place.endsWith('/');
  if (!isFolder && place !== 'feature.ts' && !place.startsWith('*')) return [place];
  const top = isFolder ? place : 'features/';
  const folders = readdirSync(join(root, 'src', top), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(join(root, 'src'), join(parentPath, name)));
  const file = isFolder ? 'x.ts' : place.replace('*', 'x');
  return [top, ...folders].map((folder) => join(folder, file));
}

/** How a file of `src` imports another one, or a package. */
function specifier(file: string, name: string): string {
  if (!name.endsWith('.ts')) return name;
  const relativePath = relative(dirname(file), name).replace(/\.ts$/, '.js');
  return relativePath.startsWith('.') ? relativePath : `./${relativePath}`;
}

it('enforces the import table of docs/architecture.md in the linter', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'layers-'));
  try {
    await cp(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    const rows = readTable();
    const top = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rows.map(({ place }) => place)).toEqual(expect.arrayContaining(top.map(({ name }) => `${name}/`)));
    const names = [...imports, ...Object.values(packages).flat()];
    const expected: [file: string, refused: string[]][] = [];
    for (const { place, allowed, refused } of rows) {
      for (const file of filesAt(place)) {
        const ownPlace = file.startsWith('features/') ? 'features/' : place.endsWith('/') ? place : `${dirname(place)}/`;
        const isOwn = (name: string) => name === file || (name.startsWith(ownPlace) && !/\.(model|routes|job)\.ts$/.test(name));
        const may = (name: string) =>
          (isOwn(name) || allowed.some((word) => standsFor(word, name))) && !refused.some((word) => standsFor(word, name));
        expected.push([file, names.filter((name) => !may(name))]);
        const path = join(folder, 'src', file);
        await mkdir(dirname(path), { recursive: true });
        // One import a line, in the order of the names.
        await writeFile(path, names.map((name) => `export * from '${specifier(file, name)}';\n`).join(''));
      }
    }
    const program = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
    const report = await new Promise<string>((resolve) => {
      execFile(process.execPath, [program, '-f', 'unix', 'src'], { cwd: folder }, (_error, stdout) => resolve(stdout));
    });
    const lines = new Set(Array.from(report.matchAll(/^src\/(.*?:\d+):.*no-restricted-imports/gm), ([, line]) => line));
    const refusedIn = (file: string) => names.filter((_, i) => lines.has(`${file}:${i + 1}`));
    expect(expected.map(([file]) => [file, refusedIn(file)])).toEqual(expected);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const modules = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/** The folder of the feature that a file belongs to: the nearest one with a `feature.ts`. `null` for files of no feature. */
function featureOf(file: string): string | null {
  for (let folder = dirname(file); folder.startsWith('features/'); folder = dirname(folder)) {
    if (modules.includes(`${folder}/feature.ts`)) return folder;
  }
  return null;
}

it('features have no circular imports', () => {
  const uses = new Map<string, Set<string>>();
  for (const file of modules) {
    const feature = featureOf(file);
    if (feature === null) continue;
    const used = uses.get(feature) ?? new Set();
    uses.set(feature, used);
    for (const [, path] of readFileSync(join(root, 'src', file), 'utf8').matchAll(/ from '(\.[^']+)';$/gm)) {
      const other = featureOf(join(dirname(file), path!));
      if (other !== null && other !== feature) used.add(other);
    }
  }
  expect(uses.size).toBeGreaterThan(10);
  // Features that use no others are removed repeatedly, which leaves cycles and features that use them.
  for (let before = Infinity; uses.size < before;) {
    before = uses.size;
    for (const [feature, used] of uses) if (![...used].some((other) => uses.has(other))) uses.delete(feature);
  }
  expect([...uses]).toEqual([]);
});

it.each(['src', 'test', 'bench'])('no file of %s is next to a folder with its name', (top) => {
  const entries = readdirSync(join(root, top), { recursive: true, withFileTypes: true });
  const pathOf = ({ parentPath, name }: Dirent) => join(parentPath, name);
  const folders = new Set(entries.filter((entry) => entry.isDirectory()).map(pathOf));
  const files = entries.filter((entry) => entry.isFile()).map(pathOf);
  expect(files.filter((file) => folders.has(join(dirname(file), basename(file).replace(/\..*/, ''))))).toEqual([]);
});
