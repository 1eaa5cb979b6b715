import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

describe('npm start, restarted through config/replace', () => {
  let work: string;
  let configFile: string;
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let server: ServerProcess;
  let url: string;
  let admin: Client;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'start-restart-'));
    configFile = join(work, 'server.cfg');
    await mkdir(join(work, 'data'));
    database = await startTestDatabase();
    server = startServer(['--bare'], { MONGODB_URI: database.uri, DATA_DIR: join(work, 'data'), SERVICE_CONFIG: configFile });
    url = await server.url();
    const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'a-good-one' };
    const user = await new Client(url, null, null).ok('POST', '/user', { query });
    admin = new Client(url, (user.authToken as { token: string }).token, String(user._id));
  });

  afterAll(async () => {
    server?.kill('SIGKILL');
    await server?.ended;
    await database?.stop();
    await rm(work, { recursive: true, force: true });
  });

  const startDate = async () => (await admin.ok('GET', '/system/version')).serverStartDate;
  const maxOpenSources = async () => ((await admin.ok('GET', '/large_image/cache')).tilesource as { maxsize: number }).maxsize;
  const replace = (body: string) => admin.ok('POST', '/large_image/config/replace', { body });
  const restarts = () => server.output().match(/^Restarted\.$/gm)?.length ?? 0;

  it('serves again at the same address with the new configuration, and refuses no request', async () => {
    expect(await admin.ok('GET', '/large_image/config')).toEqual({
      path: configFile,
      exists: false,
      text: '',
      version: 'none',
      backups: [],
      canRestart: true,
    });
    const before = await startDate();
    expect(await maxOpenSources()).toBe(64);
    expect(await replace('[large_image]\ncache_tilesource_maximum = 7\n')).toEqual({ restarted: expect.any(String) });
    // Requests are sent all the time. None may fail, before, during or after the restart.
    const startDates = new Set<unknown>();
    await until('requests before and after the restart are answered', async () => {
      startDates.add(await startDate());
      return startDates.size === 2;
    });
    expect([...startDates][0]).toBe(before);
    expect(await maxOpenSources()).toBe(7);
    expect(restarts()).toBe(1);
    expect(server.output()).toContain(`"msg":"Replacing config file ${configFile}"`);
    expect(server.process.exitCode).toBe(null);
    // The session and the data are the same.
    expect(await admin.ok('GET', '/user/me')).toMatchObject({ login: 'admin' });
  });

  it('lets running requests finish, and ends event streams', async () => {
    const collection = await admin.create('/collection', { name: 'Slow' });
    const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Files' });
    const stream = await fetch(`${url}/api/v1/notification/stream?timeout=600&token=${admin.token}`);
    expect(stream.status).toBe(200);
    const streamEnd = stream.text().then(
      () => 'ended',
      () => 'ended',
    );
    const size = 2000;
    const query = new URLSearchParams({ parentType: 'folder', parentId: folder, name: 'slow.bin', size: String(size) });
    const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
      const upload = httpRequest(
        `${url}/api/v1/file?${query.toString()}`,
        {
          method: 'POST',
          headers: { 'Girder-Token': admin.token!, 'Content-Length': size, 'Content-Type': 'application/octet-stream' },
        },
        (response) => {
          let body = '';
          response.on('data', (chunk: Buffer) => (body += chunk.toString()));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
        },
      );
      upload.on('error', reject);
      upload.write(Buffer.alloc(size / 2, 1));
      // The second half is sent only when the restart has begun.
      until('the restart has begun', () => (server.output().match(/^Restarting\.$/gm)?.length ?? 0) === 2).then(
        () => upload.end(Buffer.alloc(size / 2, 2)),
        reject,
      );
    });
    const before = await startDate();
    await replace('[large_image]\ncache_tilesource_maximum = 8\n');
    expect(await answered).toMatchObject({ status: 200 });
    expect(JSON.parse((await answered).body)).toMatchObject({ name: 'slow.bin', size });
    expect(await streamEnd).toBe('ended');
    await until('it has restarted', async () => (await startDate()) !== before);
    expect(await maxOpenSources()).toBe(8);
  });

  it('starts with an unusable configuration, and uses the default values', async () => {
    const before = await startDate();
    await writeFile(configFile, '[large_image\n');
    await replace('[large_image]\ncache_backend = "floppy"\n');
    await until('it has restarted', async () => (await startDate()) !== before);
    expect(server.output()).toMatch(/Configuration:(Setting|File):Ignored/);
    expect(await maxOpenSources()).toBe(64);
    expect(await readFile(configFile, 'utf8')).toContain('floppy');
  });

  it('stops as usual after restarts', async () => {
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });
});
