import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, type Dirent } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Folder or file of `src`, what it may import, and what it may not: the table of docs/architecture.md. */
const table: readonly [file: string, allowed: readonly string[], refused: readonly string[]][] = [
  ['errors.ts', [], ['./host.js', './core/core.js', 'express']],
  [
    'annotation-format/schema/x.ts',
    ['../../errors.js', '../rules.js', 'ajv'],
    [
      'sharp',
      'mongodb',
      'node:fs',
      'node:fs/promises',
      'node:http',
      '../../host.js',
      '../../core/json.js',
      '../../tilesource/xml.js',
    ],
  ],
  [
    'configuration-text/x.ts',
    ['../errors.js', 're2js'],
    ['node:fs', '../host.js', '../core/yaml.js', '../http/route.js', '../index.js'],
  ],
  [
    'tilesource/sources/tiff/x.ts',
    ['sharp', 'node:fs', '../../geometry.js', '../../../core/concurrency/slices.js', '../../../core/temporary-files.js'],
    ['mongoose', 'node:http', '../../../host.js', '../../../core/host/records.js', '../../../core/database/outage.js'],
  ],
  ['tilesource/x.ts', [], ['../core/core.js', '../http/route.js', '../features/feature.js', '../configuration-text/parse.js']],
  [
    'tilesource/geometry.ts',
    ['../errors.js', './contract.js'],
    ['sharp', 'node:fs', '../core/json.js', '../features/feature.js'],
  ],
  ['core/x.ts', ['../host.js', 'mongoose'], ['express', '../http/route.js', '../tilesource/xml.js', '../install.js']],
  ['http/serving/x.ts', ['express', '../../core/json.js'], ['mongoose', '../../features/feature.js', '../../tilesource/xml.js']],
  [
    'features/items/x.ts',
    ['./x.model.js', '../settings/settings.js', '../../http/reply.js', '../../tilesource/contract.js'],
    [
      'express',
      'mongoose',
      'sharp',
      'agenda',
      './x.routes.js',
      './x.job.js',
      '../../install.js',
      '../../reference-host/index.js',
    ],
  ],
  ['features/items/feature.ts', ['./x.routes.js', './x.job.js', '../../installation.js'], ['mongoose', '../../install.js']],
  ['features/items/x.model.ts', ['mongoose'], ['express', './x.routes.js', '../../http/reply.js', '../../s3/index.js']],
  ['features/items/x.routes.ts', ['../../http/route.js', './x.js'], ['mongoose', 'express', './x.job.js', './x.model.js']],
  ['features/items/x.job.ts', ['./x.js'], ['agenda', 'mongoose', './x.routes.js', './x.model.js', '../../http/route.js']],
  ['features/jobs/running/runner.ts', ['agenda'], ['mongoose', 'express']],
  ['s3/x.ts', ['../host.js', '../core/steps.js'], ['../features/feature.js', '../tilesource/xml.js', 'mongoose']],
  ['cli/x.ts', ['../tilesource/contract.js', '../reference-host/start/serve.js'], ['../features/feature.js', '../http/route.js']],
  ['testing/x.ts', ['../host.js', '../features/caches/contract.js'], ['../install.js', '../http/route.js']],
  [
    'viewer/image/x.ts',
    ['../dom.js', 'openseadragon'],
    ['../../core/json.js', '../../errors.js', '../../tilesource/geometry.js'],
  ],
  ['reference-host/x.ts', ['../index.js', '../s3/index.js'], ['../core/json.js', '../installation.js', '../cli/usage.js']],
  ['reference-host/files/x.ts', ['../http/cookies.js'], ['../../http/route.js', '../../core/json.js']],
  ['reference-host/start/content/x.ts', ['../options.js'], ['../../../core/json.js', '../../../viewer/api.js']],
];

it('the linter holds what each folder may import', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'layers-'));
  try {
    await cp(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    for (const [file, allowed, refused] of table) {
      const path = join(folder, 'src', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, [...allowed, ...refused].map((name) => `export * from '${name}';\n`).join(''));
    }
    const program = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
    const report = await new Promise<string>((resolve) => {
      execFile(process.execPath, [program, '-f', 'unix', 'src'], { cwd: folder }, (_error, stdout) => resolve(stdout));
    });
    const refusedIn = (file: string) =>
      report
        .split('\n')
        .filter((line) => line.startsWith(`src/${file}:`) && line.includes('no-restricted-imports'))
        .map((line) => /'(.*?)' import/.exec(line)?.[1]);
    expect(table.map(([file]) => [file, refusedIn(file)])).toEqual(table.map(([file, , refused]) => [file, refused]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const modules = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

it('features do not know each other in a circle', () => {
  const uses = new Map<string, Set<string>>();
  for (const file of modules.filter((name) => /^features\/.*\//.test(name))) {
    const feature = file.split('/')[1]!;
    const used = uses.get(feature) ?? new Set();
    uses.set(feature, used);
    for (const [, path] of readFileSync(join(root, 'src', file), 'utf8').matchAll(/ from '(\.[^']+)';$/gm)) {
      const [folder, other, ...rest] = relative(join(root, 'src'), join(root, 'src', dirname(file), path!)).split('/');
      if (folder === 'features' && rest.length > 0 && other !== feature) used.add(other!);
    }
  }
  expect(uses.size).toBeGreaterThan(10);
  // Features that use no others are removed, again and again. What remains are circles, and features that use them.
  for (let before = Infinity; uses.size < before;) {
    before = uses.size;
    for (const [feature, used] of uses) if (![...used].some((other) => uses.has(other))) uses.delete(feature);
  }
  expect([...uses]).toEqual([]);
});

it.each(['src', 'test', 'bench'])('folders of %s have at most fifteen files, none beside a folder of its own name', (top) => {
  const entries = readdirSync(join(root, top), { recursive: true, withFileTypes: true });
  const pathOf = ({ parentPath, name }: Dirent) => join(parentPath, name);
  const folders = new Set([join(root, top), ...entries.filter((entry) => entry.isDirectory()).map(pathOf)]);
  const files = entries.filter((entry) => entry.isFile()).map(pathOf);
  const crowded = [...folders].filter((folder) => files.filter((file) => dirname(file) === folder).length > 15);
  expect(crowded).toEqual([]);
  expect(files.filter((file) => folders.has(join(dirname(file), basename(file).replace(/\..*/, ''))))).toEqual([]);
});
