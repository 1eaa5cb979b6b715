import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { packAndInstall, type Installed } from '../../support/run/packed.js';
import { withDatabaseName } from '../../../src/reference-host/database/uri.js';
import type {} from '../../support/run/global-setup.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

const entries = ['.', './reference-host', './s3', './testing'] as const;
/** A name that each entry is known to export. */
const expectedExports = {
  '.': 'install',
  './reference-host': 'createReferenceHost',
  './s3': 's3Files',
  './testing': 'describeHost',
} as const;
const specifierOf = (entry: string): string => `express-large-image${entry.slice(1)}`;

let work: string;
let installed: Installed;
/** Why the package cannot be installed here, if it cannot. */
let notInstalled: string | null = null;

beforeAll(async () => {
  installed = await packAndInstall();
  ({ work } = installed);
  if (installed.alone === null) notInstalled = 'the registry of npm cannot be reached';
  else await installed.install([...installed.optional, 'typescript', '@types/node', '@types/express']);
});
afterAll(() => installed?.remove());

describe('the packed package', () => {
  it('resolves with its types under every module resolution, according to public checkers', async () => {
    const tarball = join(work, installed.packed.filename);
    const bin = (name: string) => join(root, 'node_modules', '.bin', name);
    // Both end with a code other than 0 if something is wrong: node10, node16 from both kinds of modules, bundler.
    const linted = await run(bin('publint'), ['run', tarball, '--strict']);
    expect(linted.stdout).toContain('All good!');
    // Node requires ES modules since 20.19, which this tool does not know.
    await run(bin('attw'), [tarball, '--format', 'ascii', '--ignore-rules', 'cjs-resolves-to-esm']);
  });
});

/** A PNG of one pixel. */
const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the package in an empty folder', () => {
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
    expect(esm).toContain(expectedExports[entry]);
    expect(cjs).toEqual(esm);
  });

  it('has types that are found and correct in ES modules and CommonJS, as Node resolves modules', async ({ skip }) => {
    skip(notInstalled !== null, notInstalled ?? '');
    const lines = entries.map((entry, index) => [
      `import { ${expectedExports[entry]} as value${index} } from '${specifierOf(entry)}';`,
      // This would compile if the entry had no types, because "any" allows everything.
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
    // Errors in the declarations of other packages do not count. Errors in ours would appear as "any" above.
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

  it('uses express, mongoose and agenda as peers, not as copies', async ({ skip }) => {
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
    // Conversions and the drawing of SVG files run in separate programs of the package.
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
    // Both run at the same time, because remaining timers of Agenda keep each of them running for a while.
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
