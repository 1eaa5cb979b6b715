/** One install of the packed package. The group `package` has the rest. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packAndInstall, type Installed, type Packed } from '../support/run/packed.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

let installed: Installed;
let packed: Packed;
beforeAll(async () => {
  installed = await packAndInstall({ needsTypes: false });
  ({ packed } = installed);
});
afterAll(() => installed?.remove());

describe('npm pack', () => {
  it('contains the files that users need and nothing else', () => {
    const allowed = [
      /^(package|plugin)\.json$/,
      /^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/,
      /^docs\/((formats|tutorials)\/)?[\w-]+\.md$/,
      /^docs\/images\/[\w-]+\.webp$/,
      /^deploy\/[\w@./-]+$/,
      /^examples\/[\w-]+\.ts$/,
      /^LICENSE$/,
      /^dist\/[\w-]+(\.d-[\w-]+)?\.(js|d\.ts)$/,
      /^dist\/MemoryDatabase\.java$/,
      /^dist\/THIRD-PARTY-LICENSES\.txt$/,
      /^dist\/swagger-ui\/[\w.-]+\.br$/,
      /^dist\/viewer\/[\w/-]+\.(html|js|css|svg)$/,
      /^dist\/viewer\/page-texts\.json$/,
      /^dist\/viewer\/(element|react|languages\/catalog)\.d\.ts$/,
    ];
    const others = packed.files.map(({ path }) => path).filter((path) => !allowed.some((form) => form.test(path)));
    expect(others).toEqual([]);
  });

  it('contains every file that package.json names, and those that the code reads', () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    for (const name of ['index', 'host', 'reference-host', 's3', 'testing']) expect(paths).toContain(`dist/${name}.js`);
    const others = [
      'LICENSE',
      'README.md',
      'plugin.json',
      'dist/cli.js',
      'dist/viewer/index.html',
      'dist/viewer/element.js',
      'dist/MemoryDatabase.java',
    ];
    for (const path of others) expect(paths).toContain(path);
  });

  it('contains every file that its pages embed or link to', async () => {
    const paths = packed.files.map(({ path }) => path);
    for (const page of paths.filter((path) => path.endsWith('.md'))) {
      const links = [...(await readFile(join(root, page), 'utf8')).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(
        ([, to]) => to!,
      );
      expect({ page, missing: links.filter((to) => !paths.includes(posix.join(posix.dirname(page), to))) }).toEqual({
        page,
        missing: [],
      });
    }
  });

  it('is small: under 7 MB with documentation and bundled packages, no file over 1.5 MB', () => {
    expect(packed.unpackedSize).toBeLessThan(7_000_000);
    for (const { path, size } of packed.files) expect({ path, large: size > 1_500_000 }).toEqual({ path, large: false });
  });
});

describe('the package in an empty folder', () => {
  it('provides the command express-large-image', async ({ skip }) => {
    const { alone, work } = installed;
    if (alone === null) return skip('the registry of npm cannot be reached');
    const { stdout } = await run('npx', ['--no', '--', 'express-large-image', '--version'], { cwd: work });
    expect(stdout).toMatch(/^express-large-image\/\d+\.\d+\.\d+ /);
    // The help is printed before the packages that serving needs are installed.
    expect(alone.messages.help).toContain('npx express-large-image serve');
  });

  it('takes at most 70 MB with express, mongoose and agenda, without install scripts or telemetry', ({ skip }) => {
    const { alone } = installed;
    if (alone === null) return skip('the registry of npm cannot be reached');
    expect(alone.bytesOnDisk / 2 ** 20).toBeLessThan(70);
    expect(alone.withInstallScript.filter((name) => name !== 'sharp')).toEqual([]);
    expect(alone.packages.filter((name) => name.startsWith('@scarf/') || installed.optional.includes(name))).toEqual([]);
  });

  it('names all missing packages of the reference host in one message', ({ skip }) => {
    const { alone } = installed;
    if (alone === null) return skip('the registry of npm cannot be reached');
    const { host, database, serve } = alone.messages;
    const needed = ['@agendajs/mongo-backend', '@node-rs/argon2', 'client-zip', 'rate-limiter-flexible'];
    expect(host).toContain(`needs packages that are not installed: ${needed.join(', ')}. Install them: npm install @agendajs/`);
    expect(serve).toContain(`needs packages that are not installed: ${needed.join(', ')}. Install them: npm install @agendajs/`);
    expect(database).toMatch(
      /mongodb-memory-server: the package mongodb-memory-server is not installed \(npm install mongodb-memory-server@\d+\)/,
    );
    // The others: files in buckets, pictures of further formats, a database that is downloaded, slides that OpenSlide reads, images on the earth, and numbers for Prometheus.
    const pictures = ['jxl-oxide-wasm', 'lerc', 'libheif-js'];
    const others = [
      ...pictures,
      '@aws-sdk/client-s3',
      'geotiff-geokeys-to-proj4',
      'koffi',
      'mongodb-memory-server',
      'proj4',
      'prom-client',
      'ws',
    ];
    expect([...needed, ...others].toSorted()).toEqual(installed.optional.toSorted());
  });

  it('includes the licenses of bundled packages', async ({ skip }) => {
    const { alone, work } = installed;
    if (alone === null) return skip('the registry of npm cannot be reached');
    const text = await readFile(join(work, 'node_modules/express-large-image/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['csv-parse', 'd3-scale-chromatic', 'dcmjs', 'lru-cache', 'pako', 'swagger-ui-dist'])
      expect(text).toContain(`${name}, `);
  });
});
