import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { withDatabaseName } from '../../../src/reference-host/database/uri.js';
import type {} from '../../support/run/global-setup.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

interface Packed {
  filename: string;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

interface Manifest {
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  devDependencies: Record<string, string>;
}

const entries = ['.', './reference-host', './s3', './testing'] as const;
/** Something that each entry is known to hold. */
const known = {
  '.': 'install',
  './reference-host': 'createReferenceHost',
  './s3': 's3Files',
  './testing': 'describeHost',
} as const;
const specifierOf = (entry: string): string => `express-large-image${entry.slice(1)}`;

let work: string;
let packed: Packed;
/** Packages that only the reference host needs. */
let optional: string[];
/** What an installation without them looks like. */
let alone: Awaited<ReturnType<typeof lookAtInstallation>>;
/** Why the package cannot be installed here, if it cannot. */
let notInstalled: string | null = null;

/** Whether a build has ended, and everything it made is younger than what it is made of. */
async function isBuilt(): Promise<boolean> {
  const filesBelow = async (folder: string) => {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  };
  const timesOf = (paths: string[]) => Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs));
  const named = ['package-lock.json', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'tsup.config.ts'].map((name) =>
    join(root, name),
  );
  const built = await filesBelow('dist');
  // Types come last.
  if (!built.includes(join(root, 'dist', 'testing.d.cts'))) return false;
  return Math.max(...(await timesOf([...named, ...(await filesBelow('src'))]))) < Math.min(...(await timesOf(built)));
}

/** What `npm install` has made, and what the reference host and its database say in it. */
async function lookAtInstallation() {
  const files = await readdir(join(work, 'node_modules'), { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const { blocks } = await lstat(join(parentPath, name));
      return blocks * 512;
    }),
  );
  const lock = JSON.parse(await readFile(join(work, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const packages = Object.entries(lock.packages);
  const script = `
    import { createReferenceHost, startDatabase } from 'express-large-image/reference-host';
    const messages = [createReferenceHost({ mongoUri: 'mongodb://127.0.0.1:1/x', dataDirectory: 'data' }),
      startDatabase({ env: { PATH: '' }, directory: null })].map((made) => made.catch((error) => error.message));
    console.log(JSON.stringify(await Promise.all(messages)));`;
  await writeFile(join(work, 'alone.mjs'), script);
  const { stdout } = await run(process.execPath, ['alone.mjs'], { cwd: work });
  const [host, database] = JSON.parse(stdout) as string[];
  const serve = (...words: string[]) =>
    run('npx', ['--no', '--', 'express-large-image', 'serve', ...words], { cwd: work }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
  const serving = await serve();
  return {
    bytesOnDisk: sizes.reduce((sum, size) => sum + size, 0),
    packages: packages.map(([path]) => nameOf(path)),
    withInstallScript: packages.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => nameOf(path)),
    messages: { host, database, serve: serving.stderr, help: (await serve('--help')).stdout },
  };
}

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-package-'));
  // Builds first (prepack), so that what is packed is what the sources say.
  const build = (await isBuilt()) ? ['--ignore-scripts'] : [];
  const words = ['pack', '--json', '--pack-destination', work, ...build];
  const { stdout } = await run('npm', words, { cwd: root, maxBuffer: 1 << 26 });
  const [first] = JSON.parse(stdout.slice(stdout.lastIndexOf('\n[') + 1)) as Packed[];
  if (!first) throw new Error('npm pack made nothing');
  packed = first;

  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const { peerDependencies, peerDependenciesMeta, devDependencies } = manifest;
  const versionOf = (name: string): string => `${name}@${peerDependencies[name] ?? devDependencies[name] ?? '*'}`;
  await writeFile(join(work, 'package.json'), JSON.stringify({ name: 'consumer', private: true, version: '1.0.0' }));
  const npmInstall = (words: string[]) =>
    run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', ...words], {
      cwd: work,
      maxBuffer: 1 << 26,
    });
  optional = Object.keys(peerDependenciesMeta);
  const required = Object.keys(peerDependencies).filter((name) => !optional.includes(name));
  try {
    await npmInstall([join(work, packed.filename), ...required.map(versionOf)]);
    alone = await lookAtInstallation();
    await npmInstall([...optional, 'typescript', '@types/node', '@types/express'].map(versionOf));
  } catch (error) {
    const text = String(error);
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED|ENETUNREACH/.test(text)) throw error;
    notInstalled = 'the registry of npm cannot be reached';
    console.warn(`skipped: installing the package, ${notInstalled}`);
  }
});

afterAll(async () => {
  await rm(work, { recursive: true, force: true });
});

describe('npm pack', () => {
  it('holds what users need and nothing else', () => {
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
      /^dist\/viewer\/element\.d\.ts$/,
    ];
    const others = packed.files.map(({ path }) => path).filter((path) => !allowed.some((form) => form.test(path)));
    expect(others).toEqual([]);
  });

  it('holds every file that package.json names, and what the code reads beside itself', () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    for (const name of ['index', 'reference-host', 's3', 'testing']) {
      for (const ending of ['js', 'd.ts']) expect(paths).toContain(`dist/${name}.${ending}`);
    }
    const others = [
      'LICENSE',
      'README.md',
      'plugin.json',
      'dist/cli.js',
      'dist/viewer/index.html',
      'dist/viewer/element.js',
      'dist/viewer/element.d.ts',
      'dist/MemoryDatabase.java',
    ];
    for (const path of others) expect(paths).toContain(path);
  });

  it('holds every file that its pages show or lead to', async () => {
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

  it('is found and typed with every way of resolving modules, by the checks of others', async () => {
    const tarball = join(work, packed.filename);
    const bin = (name: string) => join(root, 'node_modules', '.bin', name);
    // Both end with another code than 0 where something is wrong: node10, node16 from both kinds of modules, bundler.
    const linted = await run(bin('publint'), ['run', tarball, '--strict']);
    expect(linted.stdout).toContain('All good!');
    // Node requires ES modules since 20.19, which this tool does not know.
    await run(bin('attw'), [tarball, '--format', 'ascii', '--ignore-rules', 'cjs-resolves-to-esm']);
  });

  it('is small: under 5 MB with documentation and what is built in, no file over 1.5 MB', () => {
    expect(packed.unpackedSize).toBeLessThan(5_000_000);
    for (const { path, size } of packed.files) expect({ path, large: size > 1_500_000 }).toEqual({ path, large: false });
  });
});

/** A picture of one pixel, PNG. */
const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the package in an empty folder', () => {
  it('has a program', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const { stdout } = await run('npx', ['--no', '--', 'express-large-image', '--version'], { cwd: work });
    expect(stdout).toMatch(/^express-large-image\/\d+\.\d+\.\d+ /);
    // Before there is what it needs to serve.
    expect(alone.messages.help).toContain('npx express-large-image serve');
  });

  it('takes at most 70 MB with express, mongoose and agenda, and nothing runs or reports while it is installed', ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    expect(alone.bytesOnDisk / 2 ** 20).toBeLessThan(70);
    expect(alone.withInstallScript.filter((name) => name !== 'sharp')).toEqual([]);
    expect(alone.packages.filter((name) => name.startsWith('@scarf/') || optional.includes(name))).toEqual([]);
  });

  it('names in one message the packages that the reference host needs beside it', ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const { host, database, serve } = alone.messages;
    const needed = ['@agendajs/mongo-backend', '@node-rs/argon2', 'client-zip', 'rate-limiter-flexible'];
    expect(host).toContain(`needs packages that are not installed: ${needed.join(', ')}. Install them: npm install @agendajs/`);
    expect(serve).toContain(`needs packages that are not installed: ${needed.join(', ')}. Install them: npm install @agendajs/`);
    expect(database).toMatch(/mongodb-memory-server: the package is not installed \(npm install mongodb-memory-server@\d+\)/);
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
    expect([...needed, ...others].toSorted()).toEqual(optional.toSorted());
  });

  it('finds the tile sources of packages by their plugin.json', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const folder = join(work, 'netpbm');
    await mkdir(folder);
    const write = (name: string, content: object | string) =>
      writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    const example = await readFile(join(root, 'examples', 'netpbm-source.ts'), 'utf8');
    const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    await write(
      'source.js',
      `${ts.transpileModule(example, { compilerOptions: options }).outputText}\nexport const tileSources = [netpbmSource];`,
    );
    await write('plugin.json', { extends: 'express-large-image', tileSources: './source.js' });
    await write('package.json', {
      name: '@images/netpbm',
      version: '1.0.0',
      type: 'module',
      files: ['source.js', 'plugin.json'],
    });
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', work], { cwd: folder });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', join(work, filename)], {
      cwd: work,
    });
    await writeFile(
      join(work, 'find.mjs'),
      `import { findTileSources } from 'express-large-image';
       console.log(JSON.stringify((await findTileSources(import.meta.url)).map(({ name, extensions }) => [name, extensions.ppm])));`,
    );
    const printed = await run(process.execPath, ['find.mjs'], { cwd: work });
    expect(JSON.parse(printed.stdout)).toEqual([['netpbm', expect.any(Number)]]);
  });

  it('has the licences of what is built into it', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const text = await readFile(join(work, 'node_modules/express-large-image/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['csv-parse', 'd3-scale-chromatic', 'lru-cache', 'swagger-ui-dist']) expect(text).toContain(`${name}, `);
  });

  it.for(entries)('%s is imported, and required by a CommonJS module, with the same names', async (entry, { skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const print =
      'console.log(JSON.stringify(Object.keys(names).filter((name) => name !== "default" && name !== "module.exports")))';
    const specifier = JSON.stringify(specifierOf(entry));
    await writeFile(join(work, 'try.mjs'), `import * as names from ${specifier};\n${print}`);
    await writeFile(join(work, 'try.cjs'), `const names = require(${specifier});\n${print}`);
    const [esm, cjs] = await Promise.all(
      ['try.mjs', 'try.cjs'].map(async (file) => {
        const { stdout } = await run(process.execPath, [file], { cwd: work });
        return (JSON.parse(stdout) as string[]).toSorted();
      }),
    );
    expect(esm).toContain(known[entry]);
    expect(cjs).toEqual(esm);
  });

  it('types are found and correct in both, as Node resolves modules', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const lines = entries.map((entry, index) => [
      `import { ${known[entry]} as value${index} } from '${specifierOf(entry)}';`,
      // Would compile if the entry had no types, since everything is allowed of "any".
      `// @ts-expect-error: it is no number\nexport const number${index}: number = value${index};`,
      `export type Kind${index} = typeof value${index};`,
    ]);
    const source = lines.flat().join('\n');
    const page = `import type { LargeImageViewer, LargeImageViewerEvents } from 'express-large-image/viewer';
export function follow(viewer: LargeImageViewer, seen: (place: LargeImageViewerEvents['view-change']) => void) {
  viewer.addEventListener('view-change', ({ detail }) => seen(detail));
  // @ts-expect-error: this event has no view
  viewer.addEventListener('problem', ({ detail }) => seen(detail));
}`;
    await writeFile(join(work, 'esm.mts'), `${source}\n${page}`);
    await writeFile(join(work, 'cjs.cts'), `${source}\n${page}`);
    const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true };
    // Errors in the declarations of others are theirs, in ours they would show as "any" above.
    const config = {
      compilerOptions: { ...compilerOptions, skipLibCheck: true, types: ['node'] },
      files: ['esm.mts', 'cjs.cts'],
    };
    await writeFile(join(work, 'tsconfig.json'), JSON.stringify(config));
    const result = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], { cwd: work }).catch(
      (error: { stdout?: string }) => error,
    );
    expect(result.stdout).toBe('');
  });

  it('has peers and not copies of express, mongoose and agenda', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const { stdout } = await run('npm', ['ls', 'express', 'mongoose', 'agenda', '--json', '--all'], { cwd: work }).catch(
      (error: { stdout: string }) => error,
    );
    interface Tree {
      version?: string;
      dependencies?: Record<string, Tree>;
    }
    const versions: Record<string, Set<string>> = {};
    const walk = (tree: Tree): void => {
      for (const [name, entry] of Object.entries(tree.dependencies ?? {})) {
        if (entry.version !== undefined) (versions[name] ??= new Set()).add(entry.version);
        walk(entry);
      }
    };
    walk(JSON.parse(stdout) as Tree);
    for (const name of ['express', 'mongoose', 'agenda']) expect(versions[name]?.size).toBe(1);
  });

  it('starts a reference host that serves its page', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const database = inject('database');
    if ('failure' in database) throw new Error(database.failure);
    const { uri } = database;
    // Conversions run, and SVG files are drawn, in a program of the package beside the main one.
    const conversion = `
      const send = async (method, path, query, token, body) => {
        const headers = token === undefined ? {} : { 'Girder-Token': token };
        const answer = await fetch(url + '/api/v1' + path + '?' + new URLSearchParams(query), { method, headers, body });
        return answer.json();
      };
      const login = 'user' + Date.now();
      const person = { login, email: login + '@example.org', firstName: 'A', lastName: 'B', password: 'a password' };
      const { _id: userId, authToken: { token } } = await send('POST', '/user', person);
      const [folder] = await send('GET', '/folder', { parentType: 'user', parentId: userId }, token);
      const image = Buffer.from('${onePixel}', 'base64');
      const place = { parentType: 'folder', parentId: folder._id, name: 'a.png', size: image.length };
      const { itemId } = await send('POST', '/file', place, token, image);
      let job = await send('POST', '/item/' + itemId + '/tiles/convert', {}, token);
      while (job.status < 3) job = await send('GET', '/job/' + job._id, {}, token);
      console.log(job.status, job.log.at(-1).trim());
      const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="6"/>');
      const drawn = await send('POST', '/file', { ...place, name: 'a.svg', size: drawing.length }, token, drawing);
      console.log((await send('GET', '/item/' + drawn.itemId + '/tiles', {}, token)).sizeX);`;
    const scriptOf = (name: string) => `
      const { createReferenceHost, startDatabase } = await import('express-large-image/reference-host');
      const env = { ...process.env, MONGODB_URI: ${JSON.stringify(withDatabaseName(uri, `test_package_${process.pid}_${name}`))} };
      const database = await startDatabase({ env, directory: null });
      const host = await createReferenceHost({ mongoUri: database.uri, dataDirectory: 'data-${name}' });
      const { url } = await host.listen();
      const page = await fetch(url);
      console.log(page.status, page.headers.get('content-type'));
      const script = await fetch(url + '/api/v1/describe/assets/swagger-ui-bundle.js');
      console.log(script.status, (await script.text()).includes('SwaggerUIBundle'));
      ${conversion}
      await host.close();
      await database.stop();`;
    // Side by side: what is left of Agenda's timers keeps each of them for a while.
    const outputs = ['mjs', 'cjs'].map(async (kind) => {
      const script = scriptOf(kind);
      const text = kind === 'mjs' ? script : `(async () => {${script.replace('await import', 'require')}})()`;
      await writeFile(join(work, `host.${kind}`), text);
      return (await run(process.execPath, [`host.${kind}`], { cwd: work })).stdout.trim().split('\n');
    });
    const expected = ['200 text/html; charset=utf-8', '200 true', '3 Finished large image conversion', '8'];
    expect(await Promise.all(outputs)).toEqual([expected, expected]);
  });
});
