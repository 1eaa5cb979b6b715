import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { noNginx, startNginx } from '../../support/hosts/nginx.js';
import { noRedis, startRedis, type TestRedis } from '../../support/hosts/redis.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

const absent = [noNginx, noRedis].filter((reason) => reason !== null).join(', ');

describe.skipIf(absent !== '')(`two servers and two workers behind nginx${absent === '' ? '' : ` (skipped: ${absent})`}`, () => {
  let work: string;
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let redis: TestRedis;
  let env: Record<string, string>;
  const servers: ServerProcess[] = [];
  const workers: ServerProcess[] = [];
  const urls: string[] = [];
  let nginx: Awaited<ReturnType<typeof startNginx>>;
  /** The administrator, at the servers themselves and behind nginx. */
  let at: [Client, Client];
  let admin: Client;
  let folder: string;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'several-servers-'));
    database = await startTestDatabase();
    redis = await startRedis();
    env = {
      MONGODB_URI: database.uri,
      DATA_DIR: join(work, 'data'),
      LARGE_IMAGE_CACHE_BACKEND: 'redis',
      LARGE_IMAGE_CACHE_REDIS_URL: redis.url,
      TRUST_PROXY: '1',
    };
    for (let index = 0; index < 2; index += 1) servers.push(startServer(['--bare'], env));
    for (const server of servers) urls.push(await server.url());
    for (let index = 0; index < 2; index += 1) workers.push(startServer(['--worker'], env));
    nginx = await startNginx(urls.map((url) => Number(new URL(url).port)));
    const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'a-good-one' };
    const user = await new Client(nginx.url, null, null).ok('POST', '/user', { query });
    const signedIn = (url: string) => new Client(url, (user.authToken as { token: string }).token, String(user._id));
    at = [signedIn(urls[0]!), signedIn(urls[1]!)];
    admin = signedIn(nginx.url);
    folder = await newFolder(admin, 'Slides');
  });

  afterAll(async () => {
    await nginx?.close();
    for (const each of [...servers, ...workers]) each.kill('SIGKILL');
    await Promise.all([...servers, ...workers].map((each) => each.ended));
    await redis?.close();
    await database?.stop();
    await rm(work, { recursive: true, force: true });
  });

  /** Waits for the end of a job: 3 success, 4 error, 5 canceled. */
  const ended = (job: string) =>
    until('the job has ended', async () => {
      const { status } = await admin.ok('GET', `/job/${job}`);
      return [3, 4, 5].includes(Number(status)) && status;
    });
  const convert = async (client: Client, item: string, name: string) =>
    String((await client.ok('POST', `/item/${item}/tiles/convert`, { query: { localJob: false, name } }))._id);

  it('accept a file in chunks that arrive at different servers', async () => {
    const body = randomBytes(256 * 1024);
    await admin.ok('PUT', '/system/setting', { query: { key: 'core.upload_minimum_chunk_size', value: '0' } });
    const query = { parentType: 'folder', parentId: folder, name: 'parts.bin', size: body.length };
    const uploadId = String((await at[0].ok('POST', '/file', { query }))._id);
    let file: Record<string, unknown> = {};
    for (let index = 0; index < 4; index += 1) {
      const offset = index * 65_536;
      const bytes = body.subarray(offset, offset + 65_536);
      // The other server learns of the setting within a second.
      const sent = { query: { uploadId, offset }, body: bytes };
      file = await until(`chunk ${index} is taken`, () => at[index % 2]!.ok('POST', '/file/chunk', sent));
    }
    const downloads = await Promise.all(at.map((client) => client.send('GET', `/file/${String(file._id)}/download`)));
    for (const { bytes } of downloads) expect(bytes.equals(body)).toBe(true);
  });

  it('serve the same tiles, and clear the cache of both', async () => {
    const item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    const tiles = await Promise.all(at.map((client) => client.send('GET', `/item/${item}/tiles/zxy/0/0/0`)));
    expect(tiles.map(({ status }) => status)).toEqual([200, 200]);
    expect(tiles[0]!.bytes.equals(tiles[1]!.bytes)).toBe(true);
    const used = async (client: Client) =>
      Number(((await client.ok('GET', '/large_image/cache')).tileCache as { used: number }).used);
    await until('the tile is in the cache that both share', async () => (await used(at[1])) > 0);
    await at[0].ok('PUT', '/large_image/cache/clear');
    expect(await used(at[1])).toBe(0);
  });

  it('stream events from each other', async () => {
    const item = await uploadItem(admin, folder, 'told.tif', await pyramid());
    const leaving = new AbortController();
    const headers = { 'Girder-Token': admin.token! };
    const stream = await fetch(`${urls[0]!}/api/v1/notification/stream`, { headers, signal: leaving.signal });
    let output = '';
    const reading = (async () => {
      for await (const bytes of stream.body!) output += Buffer.from(bytes).toString();
    })().catch(() => undefined);
    const job = await convert(at[1], item, 'told-copy.tiff');
    await until('the stream has told of the job', () => output.includes(job));
    leaving.abort();
    await reading;
    expect(await ended(job)).toBe(3);
  });

  it('cancel a job that was started through the other', async () => {
    const side = 5000;
    const noise = await sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    const item = await uploadItem(admin, folder, 'long.png', noise);
    const job = await convert(at[0], item, 'long-copy.tiff');
    await at[1].ok('PUT', `/job/${job}/cancel`);
    expect(await ended(job)).toBe(5);
  });

  it('sign a user out on both when one is asked to', async () => {
    const headers = { Authorization: `Basic ${Buffer.from('admin:a-good-one').toString('base64')}` };
    const session = await new Client(urls[0]!, null, null).ok('GET', '/user/authentication', { headers });
    const { token } = session.authToken as { token: string };
    const other = new Client(urls[1]!, token, null);
    expect((await other.send('GET', '/user/me')).body).toMatchObject({ login: 'admin' });
    await new Client(urls[0]!, token, null).ok('DELETE', '/user/authentication');
    await until('the other server knows', async () => (await other.send('GET', `/folder/${folder}`)).status === 401);
  });

  it('hide the loss of a killed server or worker from clients', async () => {
    const item = await uploadItem(admin, folder, 'stays.tif', await pyramid());
    workers[0]!.kill('SIGKILL');
    servers[0]!.kill('SIGKILL');
    await Promise.all([workers[0]!.ended, servers[0]!.ended]);
    const tiles = Array.from({ length: 20 }, () => admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`));
    expect((await Promise.all(tiles)).map(({ status }) => status)).toEqual(tiles.map(() => 200));
    expect(await ended(await convert(admin, item, 'stays-copy.tiff'))).toBe(3);
    // It starts again at the same address, and receives no request before it can answer. The other server answers.
    servers[0] = startServer(['--bare'], { ...env, PORT: new URL(urls[0]!).port });
    const statuses = new Set<number | 'refused'>();
    const live = () =>
      fetch(`${urls[0]}/health/live`).then(
        ({ status }) => status,
        () => 'refused' as const,
      );
    await until('it is back', async () => statuses.add(await live()).has(200));
    expect([...statuses]).toEqual(['refused', 200]);
    await servers[0].url();
    expect(await at[0].ok('GET', `/item/${item}`)).toMatchObject({ name: 'stays.tif' });
  });
});
