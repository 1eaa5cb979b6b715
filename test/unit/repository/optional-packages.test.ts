import Module from 'node:module';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { memoryInput } from '../../support/images/memory-input.js';
import { grayTags, writeTiff } from '../../support/writers/tiff-writer.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
};
const optional = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional === true);

type Find = (request: string, ...rest: unknown[]) => unknown;
const loader = Module as unknown as Record<'_load' | '_resolveFilename', Find>;
const { _load, _resolveFilename } = loader;
/** The function of Node's loader, which does not find the optional packages. */
const withoutOptional = (find: Find): Find => {
  return (request, ...rest) => {
    if (!optional.some((name) => request === name || request.startsWith(`${name}/`))) return find.call(Module, request, ...rest);
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
  };
};
beforeAll(() => {
  vi.resetModules();
  // A package that another test file of this process has loaded is not resolved again.
  Object.assign(loader, { _load: withoutOptional(_load), _resolveFilename: withoutOptional(_resolveFilename) });
});
afterAll(() => {
  Object.assign(loader, { _load, _resolveFilename });
  // Other test files of this process need the modules that found their packages.
  vi.resetModules();
});

/** The message of the error with which work fails. */
async function failure(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('It did not fail.');
}

const source = (path: string) => readFileSync(join(root, 'src', path), 'utf8');
const projections = async () => {
  const { projectToWebMercator } = await import('../../../src/tilesource/geo/web-mercator.js');
  return failure(() => projectToWebMercator({ metadata: {} } as never));
};
const referenceHost = async () => {
  const { requirePackages } = await import('../../../src/reference-host/packages.js');
  return failure(requirePackages);
};
/** The message about each missing package. It is searched for in files that run in separate processes or import the package. */
const places: Record<string, () => string | Promise<string>> = {
  proj4: projections,
  'geotiff-geokeys-to-proj4': projections,
  async lerc() {
    const { decodeLerc } = await import('../../../src/tilesource/codecs/lerc.js');
    return failure(() => decodeLerc({} as never));
  },
  async 'jxl-oxide-wasm'() {
    const { loadJxlDecoder } = await import('../../../src/tilesource/codecs/whole-pictures.js');
    return failure(loadJxlDecoder);
  },
  async 'libheif-js'() {
    const { loadHeifDecoder } = await import('../../../src/tilesource/codecs/whole-pictures.js');
    return failure(loadHeifDecoder);
  },
  koffi: () => messageIn('koffi', source('tilesource/sources/openslide/openslide-process.ts')),
  'prom-client': () => messageIn('prom-client', source('reference-host/system/operation.routes.ts')),
  async '@aws-sdk/client-s3'() {
    const { requireBuckets } = await import('../../../src/reference-host/start/content/bucket-objects.js');
    return failure(() => requireBuckets([{ bucket: 'b', prefix: '' }], new AbortController().signal));
  },
  async 'mongodb-memory-server'() {
    const { downloadMongod } = await import('../../../src/reference-host/database/downloaded-mongod.js');
    return failure(() => downloadMongod({ env: {} }));
  },
  async ws() {
    const { createNotificationUpgradeHandler } = await import('../../../src/reference-host/notifications/web-sockets.js');
    const upgrading = await createNotificationUpgradeHandler({ apiRoot: '/api/v1', closing: { aborted: false } } as never);
    let sent = '';
    const request = { headers: { upgrade: 'websocket' }, url: '/notifications/me?token=a' };
    const socket = { end: (text: string) => (sent = text) };
    expect(upgrading(request as never, socket as never, Buffer.alloc(0))).toBe(true);
    expect(sent).toMatch(/^HTTP\/1\.1 501 /);
    return sent;
  },
  '@agendajs/mongo-backend': referenceHost,
  '@node-rs/argon2': referenceHost,
  'client-zip': referenceHost,
  'rate-limiter-flexible': referenceHost,
};

/** The message about a missing package, which a source file has to contain. */
async function messageIn(name: string, text: string): Promise<string> {
  expect(text).toContain(`describeMissingPackages('${name}')`);
  const { describeMissingPackages } = await import('../../../src/optional-packages.js');
  return describeMissingPackages(name);
}

it.each(optional)('names %s with the command that installs it when it is missing', async (name) => {
  // A minor version of 0 is as different as a major version.
  const [version] = /0\.\d+|\d+/.exec(peerDependencies[name]!)!;
  expect(await places[name]!()).toMatch(
    new RegExp(`npm install .*\\b${name.replace('@', '')}@${version.replace('.', '\\.')}\\b`),
  );
});

it.each([
  ['LERC', 34_887, 'lerc'],
  ['JPEG XL', 50_002, 'jxl-oxide-wasm'],
  ['JPEG XL of DNG', 52_546, 'jxl-oxide-wasm'],
])('refuses a TIFF file in %s when it is opened and the package is missing', async (_, compression, name) => {
  const { tiffSource } = await import('../../../src/tilesource/sources/tiff/tiff-source.js');
  const tags = { ...grayTags(16, 16, 16), 259: { short: [compression] } };
  const file = writeTiff([{ tags, chunks: [Buffer.alloc(8)] }]);
  const message = await failure(() => tiffSource.open(memoryInput(file)));
  expect(message).toMatch(
    new RegExp(`^Cannot read this TIFF image: the package ${name} is not installed \\(npm install ${name}@`),
  );
});

it('has the command in one place', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files.filter((name) => /['"`(]npm install/.test(source(name)))).toEqual(['optional-packages.ts']);
});
