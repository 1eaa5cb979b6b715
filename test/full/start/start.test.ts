import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockDataDirectory } from '../../../src/reference-host/start/data-lock.js';
import { makeSyntheticSlide, nucleiOf, syntheticSlide } from '../../../src/reference-host/synthetic-slide/slide.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const minutes = 60_000;

const newUser = { login: 'first', email: 'first@example.org', firstName: 'First', lastName: 'User', password: 'secret-1' };

let work: string;
const servers: ServerProcess[] = [];
const databases: { stop: () => Promise<void> }[] = [];

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'large-image-start-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.kill('SIGKILL');
    await server.ended;
  }
  for (const database of databases.splice(0)) await database.stop();
  await rm(work, { recursive: true, force: true });
});

function endedAfterTest(server: ServerProcess): ServerProcess {
  servers.push(server);
  return server;
}

async function databaseEnv(): Promise<{ MONGODB_URI: string; DATA_DIR: string }> {
  const test = await startTestDatabase();
  databases.push(test);
  return { MONGODB_URI: test.uri, DATA_DIR: join(work, 'data') };
}

/** Creates a small slide in place of the large one, because an existing file is not made again. */
async function smallSlide(): Promise<void> {
  await mkdir(join(work, 'data'), { recursive: true });
  await makeSyntheticSlide(join(work, 'data', 'synthetic-tissue-slide.tiff'), { size: 1024 });
}

async function call(url: string, method: string, path: string, headers: Record<string, string> = {}): Promise<never> {
  const response = await fetch(`${url}/api/v1${path}`, { method, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  // The type is loose: tests read the members that they expect, and fail if these are missing.
  return JSON.parse(text) as never;
}

async function signIn(url: string, login: string, password: string): Promise<Record<string, string>> {
  const credentials = Buffer.from(`${login}:${password}`).toString('base64');
  const { authToken } = (await call(url, 'GET', '/user/authentication', { Authorization: `Basic ${credentials}` })) as {
    authToken: { token: string };
  };
  return { Authorization: `Bearer ${authToken.token}` };
}

interface Named {
  _id: string;
  name: string;
}

/** Items of a folder of a collection by name, as anonymous users see them. */
async function itemsIn(url: string, collectionName: string, folderName: string): Promise<Named[]> {
  const collections: Named[] = await call(url, 'GET', '/collection');
  const collection = collections.find(({ name }) => name === collectionName);
  const folders: Named[] = await call(url, 'GET', `/folder?parentType=collection&parentId=${collection?._id}`);
  const folder = folders.find(({ name }) => name === folderName);
  return call(url, 'GET', `/item?folderId=${folder?._id}`);
}

describe('npm start', () => {
  it('prints address and login before it makes the synthetic slide, and leaves no part of it when it is stopped', async () => {
    const env = { ...(await databaseEnv()), ADMIN_PASSWORD: 'a-good-one' };
    const server = endedAfterTest(startServer([], env));
    const url = await server.url();
    // Painting twenty thousand by twenty thousand pixels takes far longer than this test.
    expect(await filesBelow(join(work, 'data'))).not.toContain('synthetic-tissue-slide.tiff');
    expect(await signIn(url, 'admin', 'a-good-one')).toBeTruthy();
    await until('the slide is begun', () => server.output().includes('slide'));
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect((await filesBelow(join(work, 'data'))).filter((name) => name.includes('slide'))).toEqual([]);
  });

  it('serves one synthetic slide with its nuclei', async () => {
    await smallSlide();
    const env = { ...(await databaseEnv()), ADMIN_PASSWORD: 'a-good-one' };
    const server = endedAfterTest(startServer(['--public'], env));
    const url = await server.url();
    await until('the nuclei are annotated', () => server.output().includes('the annotation Nuclei'));
    const [slide] = await itemsIn(url, 'Examples', 'Slides');
    expect(slide?.name).toBe('Synthetic tissue slide');
    const tiles: { sizeX: number; magnification: number } = await call(url, 'GET', `/item/${slide?._id}/tiles`);
    expect(tiles).toMatchObject({ sizeX: 1024, magnification: syntheticSlide.magnification });
    const tile = await fetch(`${url}/api/v1/item/${slide?._id}/tiles/zxy/0/0/0`);
    expect(tile.status).toBe(200);
    expect(await sharp(Buffer.from(await tile.arrayBuffer())).metadata()).toMatchObject({
      format: 'jpeg',
      width: 256,
      height: 256,
    });
    const annotations: { annotation: { name: string }; _elementCount: number; public: boolean }[] = await call(
      url,
      'GET',
      `/annotation?itemId=${slide?._id}`,
    );
    expect(annotations).toMatchObject([{ annotation: { name: 'Nuclei' }, public: true }]);
    expect(annotations[0]!._elementCount).toBe([...nucleiOf(syntheticSlide.seed, 1024)].length);
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);

    const again = endedAfterTest(startServer(['--public'], env));
    const nextUrl = await again.url();
    expect((await itemsIn(nextUrl, 'Examples', 'Slides')).map(({ _id }) => _id)).toEqual([slide?._id]);
  });

  it('serves given files in place, and then makes no synthetic slide', async () => {
    const ownFolder = join(work, 'own');
    await mkdir(join(ownFolder, 'deep'), { recursive: true });
    const picture = sharp({ create: { width: 600, height: 400, channels: 3, background: '#c02040' } });
    await picture
      .clone()
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true })
      .toFile(join(ownFolder, 'deep', 'red.tiff'));
    await picture.clone().png().toFile(join(work, 'single.png'));
    const env = { ...(await databaseEnv()), ADMIN_PASSWORD: 'a-good-one' };
    const words = ['--public', join(work, 'single.png'), ownFolder];
    const server = endedAfterTest(startServer(words, env));
    const url = await server.url();
    await until('the files are registered', () => server.output().includes('2 of your own files'));
    const [single] = await itemsIn(url, 'Local files', 'Files');
    expect(single?.name).toBe('single.png');
    expect(await call(url, 'GET', `/item/${single?._id}/tiles`)).toMatchObject({ sizeX: 600, sizeY: 400 });
    expect(await itemsIn(url, 'Local files', 'own')).toEqual([]);
    // No file was copied or made.
    expect(await filesBelow(join(work, 'data', 'files'))).toEqual([]);
    expect(((await call(url, 'GET', '/collection')) as Named[]).map(({ name }) => name)).toEqual(['Local files']);
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    // The second start adds nothing twice.
    const again = endedAfterTest(startServer(words, env));
    const nextUrl = await again.url();
    await until('the files are registered', () => again.output().includes('2 of your own files'));
    expect((await itemsIn(nextUrl, 'Local files', 'Files')).map(({ _id }) => _id)).toEqual([single?._id]);
  });

  it('generates, stores and prints a password, and says when it is no longer correct', async () => {
    await smallSlide();
    const env = { ...(await databaseEnv()), ADMIN_PASSWORD: undefined };
    const server = endedAfterTest(startServer([], env));
    const url = await server.url();
    const password = (await readFile(join(work, 'data', 'admin-password'), 'utf8')).trim();
    expect(server.output()).toContain(`Password  ${password}`);
    const token = await signIn(url, 'admin', password);
    const change = new URLSearchParams({ old: password, new: 'another-one' });
    await call(url, 'PUT', `/user/password?${change.toString()}`, token);
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);

    const again = endedAfterTest(startServer([], env));
    await again.url();
    expect(again.output()).toContain('the password of admin in this database is not the one');
    expect(again.output()).not.toContain(password);
  });

  it('keeps users and items through kill -9', async () => {
    const env = await databaseEnv();
    const server = endedAfterTest(startServer(['--bare'], env));
    const url = await server.url();
    await call(url, 'POST', `/user?${new URLSearchParams(newUser).toString()}`);
    const token = await signIn(url, newUser.login, newUser.password);
    const collection: Named = await call(url, 'POST', '/collection?name=Kept&public=true', token);
    server.kill('SIGKILL');
    await server.ended;
    const again = endedAfterTest(startServer(['--bare'], env));
    const nextUrl = await again.url();
    expect(again.output()).toContain('Login     unchanged: there are users in this database');
    expect(await call(nextUrl, 'GET', '/collection')).toMatchObject([{ _id: collection._id, name: 'Kept' }]);
    expect(await signIn(nextUrl, newUser.login, newUser.password)).toBeTruthy();
  });
});

describe('npm start explains in plain words', () => {
  it('a port that is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const server = endedAfterTest(startServer(['--bare'], { PORT: `${port}`, DATA_DIR: join(work, 'data') }));
    expect(await server.ended).toBe(2);
    expect(server.output()).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(server.output()).not.toMatch(/^ +at /m);
    await new Promise((resolve) => other.close(resolve));
  });

  it('a data folder in which another server has its database', async () => {
    const folder = join(work, 'taken');
    const release = await lockDataDirectory(folder);
    const second = endedAfterTest(startServer(['--bare'], { DATA_DIR: folder, MONGODB_URI: undefined }));
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`(process ${process.pid}) is using the data folder`);
    await release();
  });

  it('a database that does not answer, without its password', async () => {
    const env = { MONGODB_URI: 'mongodb://ann:s3cret@127.0.0.1:1/x', DATABASE_WAIT: '0', DATA_DIR: join(work, 'data') };
    const server = endedAfterTest(startServer(['--bare'], env));
    expect(await server.ended).toBe(1);
    expect(server.output()).toContain('MONGODB_URI: the server at 127.0.0.1:1 cannot be used');
    expect(server.output()).not.toContain('s3cret');
  });

  it('an unknown option, and --help', async () => {
    const wrong = endedAfterTest(startServer(['--bear'], {}));
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toContain('Unknown option: --bear');
    const help = endedAfterTest(startServer(['--help'], {}));
    expect(await help.ended).toBe(0);
    expect(help.output()).toContain('ADMIN_PASSWORD');
  });
});

const documentdb = join(root, '..', 'shared', 'tools', 'documentdb', 'start');
const reason = existsSync(documentdb) ? null : `${documentdb} is not there`;
if (reason) console.warn(`skipped: npm start on a durable database, ${reason}`);

describe('npm start on a durable database', () => {
  it.skipIf(reason)('keeps acknowledged writes after kill -9 of server and database', async () => {
    const folder = await mkdtemp('/var/tmp/large-image-documentdb-');
    const startDatabase = async (): Promise<string> => {
      const { stdout } = await run(documentdb, [folder], { timeout: 2 * minutes });
      return /^MONGODB_URI=(.*)$/m.exec(stdout)?.[1] ?? '';
    };
    const pids = async (): Promise<number[]> =>
      Promise.all(
        ['ferretdb', 'postgres'].map(async (name) =>
          Number((await readFile(join(folder, `${name}.pid`), 'utf8')).split('\n')[0]),
        ),
      );
    const isAlive = (pid: number): boolean => {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    };
    try {
      const env = { DATA_DIR: join(work, 'data') };
      const server = endedAfterTest(startServer(['--bare'], { ...env, MONGODB_URI: await startDatabase() }));
      const url = await server.url();
      await call(url, 'POST', `/user?${new URLSearchParams(newUser).toString()}`);
      const token = await signIn(url, newUser.login, newUser.password);
      const names: string[] = [];
      for (let index = 0; index < 20; index++) {
        names.push(((await call(url, 'POST', `/collection?name=Kept ${index}&public=true`, token)) as Named).name);
      }
      const before = await pids();
      server.kill('SIGKILL');
      for (const pid of before) process.kill(pid, 'SIGKILL');
      await server.ended;
      await until('the database has ended', () => !before.some(isAlive));
      // PostgreSQL starts again only when the last of its child processes has released the shared memory.
      const uri = await until('the database is back', startDatabase);
      const again = endedAfterTest(startServer(['--bare'], { ...env, MONGODB_URI: uri }));
      const collections: Named[] = await call(await again.url(), 'GET', '/collection?limit=0');
      expect(collections.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
      again.kill('SIGTERM');
      expect(await again.ended).toBe(0);
    } finally {
      const left = await pids().catch(() => []);
      await run(documentdb, ['--stop', folder]);
      await until('the database has ended', () => !left.some(isAlive));
      await rm(folder, { recursive: true, force: true });
    }
  });
});

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
