import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import createClient from 'openapi-fetch';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaOf, type Schema } from '../../../src/larger-host.js';
import { componentName } from '../../../src/http/schemas.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { answerCheck } from '../../support/access/answers.js';
import { answerTypes } from '../../support/pages/answer-types.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { isFull, sampleOf } from '../../support/run/sample.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** Whether a schema says what its values are. A schema that allows any value must have the description "Any JSON value.". */
function tells(schema: Schema): boolean {
  if (componentName(schema) !== undefined || 'const' in schema || 'enum' in schema) return true;
  const either = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(either)) return (either as Schema[]).every(tells);
  const types = [schema.type].flat();
  if (types.includes('array')) return typeof schema.items === 'object' && tells(schema.items as Schema);
  if (types.includes('object')) return 'properties' in schema || 'additionalProperties' in schema;
  return typeof schema.type === 'string' || schema.description === 'Any JSON value.';
}

/** A program that uses what the generator has made from the description. */
const program = `
import type { Client } from 'openapi-fetch';
import type { paths } from './api.js';

export async function run(client: Client<paths>, itemId: string) {
  const path = { itemId };
  const { data: image } = await client.GET('/item/{itemId}/tiles', { params: { path } });
  const width: number = image!.sizeX;
  const tile = await client.GET('/item/{itemId}/tiles/zxy/{z}/{x}/{y}', {
    params: { path: { itemId, z: 0, x: 0, y: 0 } },
    parseAs: 'arrayBuffer',
  });
  const bytes: ArrayBuffer = tile.data!;
  const body = { name: 'made by a generated client', elements: [{ type: 'point' as const, center: [1, 2, 0] }] };
  const { data: made } = await client.POST('/annotation', { params: { query: { itemId } }, body });
  const count: number = made!._elementCount;
  const { error } = await client.GET('/item/{itemId}/tiles', { params: { path: { itemId: 'f'.repeat(24) } } });
  const message: string = error!.message;
  return { width, bytes: bytes.byteLength, count, name: made!.annotation.name, message };
}
`;

/** The messages of the compiler about each program with the generated types. */
function complaints(programs: readonly string[], api: string): string[][] {
  const names = programs.map((_, i) => join(root, `program-${i}.ts`));
  const files = new Map([...programs.map((code, i) => [names[i]!, code] as const), [join(root, 'api.ts'), api]]);
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const inMemory: ts.CompilerHost = {
    ...host,
    fileExists: (path) => files.has(path) || host.fileExists(path),
    readFile: (path) => files.get(path) ?? host.readFile(path),
    getSourceFile: (path, target, ...rest) => {
      const text = files.get(path);
      return text === undefined ? host.getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target);
    },
  };
  const compiled = ts.createProgram([...files.keys()], options, inMemory);
  return names.map((name) =>
    ts
      .getPreEmitDiagnostics(compiled, compiled.getSourceFile(name))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  );
}

describe('the description of the API', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let document: Record<string, unknown>;
  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await mkdtemp(join(tmpdir(), 'description-'));
    document = await started.anonymous.ok('GET', '/describe/openapi.json');
  });
  afterAll(async () => {
    await started?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('documents the response of every route', () => {
    expect(started.host.routes.length).toBeGreaterThan(190);
    const silent = started.host.routes.filter(({ returns }) =>
      'schema' in returns ? !tells(schemaOf(returns.schema, 'girder')) : returns.types.length === 0,
    );
    expect(silent.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    expect([{}, { type: 'object' }, { type: 'array' }, { type: 'array', items: { type: 'object' } }].map(tells)).toEqual(
      Array(4).fill(false),
    );
  });

  it('gives each route an operation with its own name, and names the schemas', () => {
    const paths = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>);
    const names = paths.flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(names).toHaveLength(started.host.routes.length);
    expect(new Set(names).size).toBe(names.length);
    const { schemas } = document.components as { schemas: object };
    for (const name of ['Item', 'LargeImage', 'Annotation', 'AnnotationDocument', 'Element', 'Job', 'Error']) {
      expect(schemas).toHaveProperty(name);
    }
  });

  it('has the schema of a response under each of its media types', () => {
    const paths = document.paths as Record<string, { get: { responses: Record<string, { content: object }> } }>;
    const schema = { $ref: '#/components/schemas/IiifManifest' };
    expect(paths['/iiif/{identifier}/manifest.json']!.get.responses['200']!.content).toEqual({
      'application/ld+json': { schema },
      'application/json': { schema },
    });
  });

  it('matches the responses', async () => {
    const check = answerCheck(started.host.routes, 'girder');
    const answer = await admin.send('GET', '/user/me');
    expect(check('GET', '/user/me', answer)).toBeNull();
    expect(check('GET', '/user/me', { ...answer, body: { ...(answer.body as object), login: 5 } })).toContain(
      '/login must be string',
    );
    expect(check('GET', `/user/${admin.id!}`, { ...answer, body: {} })).toContain("must have required property '_id'");
  });

  it.each(sampleOf(['/describe/openapi.json', '/describe'], 1))('passes a public linter: %s', async (path) => {
    const file = join(folder, `${path.replaceAll('/', '-')}.json`);
    await writeFile(file, (await started.anonymous.send('GET', path)).bytes);
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const linting = promisify(execFile)('npm', ['run', '--silent', 'check:api', '--', '--format=json', file], { cwd: root, env });
    const { stdout } = await linting.catch((error: { stdout: string }) => error);
    const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { totals: object; problems: { message: string }[] };
    expect(report.problems.map(({ message }) => message)).toEqual([]);
  });

  it('names each media type of a response once, as validators of Swagger 2.0 demand', async () => {
    const { paths } = (await started.anonymous.ok('GET', '/describe')) as unknown as {
      paths: Record<string, Record<string, { produces: string[] }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).map((each) => ({ path, ...each })),
    );
    expect(operations.length).toBeGreaterThan(190);
    const twice = operations.filter(({ produces }) => produces.length === 0 || new Set(produces).size < produces.length);
    expect(twice.map(({ path }) => path)).toEqual([]);
  });

  it('gives each enum values of one type, and names the type, because code generators drop others', () => {
    const untyped: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { enum: values, type } = value as { enum?: unknown; type?: unknown };
      const fits = (entry: unknown) => (type === 'integer' ? Number.isInteger(entry) : typeof entry === type);
      if (Array.isArray(values) && !values.every(fits)) untyped.push(path);
      for (const [key, member] of Object.entries(value)) visit(member, `${path}/${key}`);
    };
    visit(document, '');
    expect(untyped).toEqual([]);
  });

  it('has a header that tells programs what went wrong, and which level of permission is missing', async () => {
    const other = await started.register('other');
    const folder = await newFolder(admin, 'Private');
    const codeOf = async (client: Client, path: string) => {
      const { status, headers } = await client.send('GET', path);
      return [status, headers.get('large-image-error')];
    };
    expect(await codeOf(other, `/folder/${folder}`)).toEqual([403, 'access-denied; level=0']);
    expect(await codeOf(started.anonymous, `/folder/${folder}`)).toEqual([401, 'access-denied; level=0']);
    expect(await codeOf(other, `/folder/${folder}/access`)).toEqual([403, 'access-denied; level=2']);
    expect(await codeOf(other, '/system/setting/definitions')).toEqual([403, 'access-denied']);
    expect(await codeOf(admin, `/item/${'f'.repeat(24)}`)).toEqual([400, 'unknown-id']);
    expect(await codeOf(admin, '/item/nosuch')).toEqual([400, 'invalid']);
    expect(await codeOf(admin, '/user/me')).toEqual([200, null]);
  });

  it('matches the types of responses that the page uses', async () => {
    await expect(await answerTypes(document as never)).toMatchFileSnapshot('../../../src/viewer/answer-types.ts');
  });

  it('is enough for a generated client', async ({ skip }) => {
    skip(!isFull, 'the group "tables" generates one');
    const source = astToString(await openapiTS(document as never));
    const [complaintsOfProgram, ofWrong] = complaints([program, program.replace('sizeX', 'width')], source);
    expect(complaintsOfProgram).toEqual([]);
    // The check itself works.
    expect(ofWrong).toHaveLength(1);
    const { outputText } = ts.transpileModule(program, { compilerOptions: { module: ts.ModuleKind.ESNext } });
    const script = join(folder, 'program.mjs');
    await writeFile(script, outputText);
    const { run } = (await import(script)) as { run: (this: void, client: unknown, itemId: string) => Promise<object> };
    const item = await uploadItem(admin, await newFolder(admin, 'Generated'), 'image.tif', await pyramid());
    const client = createClient({ baseUrl: `${started.url}/api/v1`, headers: { 'Girder-Token': admin.token! } });
    expect(await run(client, item)).toEqual({
      width: (await admin.ok('GET', `/item/${item}/tiles`)).sizeX,
      bytes: expect.any(Number),
      count: 1,
      name: 'made by a generated client',
      message: `Invalid item id (${'f'.repeat(24)}).`,
    });
    expect(await readFile(script, 'utf8')).not.toContain('import');
  });
});
