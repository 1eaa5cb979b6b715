import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

const childrenOf = async (pid: number) =>
  (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);

describe('npm start -- --processes 2', () => {
  let work: string;
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let server: ServerProcess;
  let url: string;
  let admin: Client;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'processes-'));
    database = await startTestDatabase();
    const configFile = join(work, 'server.cfg');
    const env = {
      MONGODB_URI: database.uri,
      DATA_DIR: join(work, 'data'),
      SERVICE_CONFIG: configFile,
      METRICS_TOKEN: 'of-the-scraper',
    };
    server = startServer(['--bare', '--processes', '2'], env);
    url = await server.url();
    await until('both serve', () => server.output().includes('All 2 processes are ready.'));
    const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'a-good-one' };
    const user = await new Client(url, null, null).ok('POST', '/user', { query });
    // Each request has its own connection, because the processes take turns.
    const headers = { Connection: 'close' };
    admin = new Client(url, (user.authToken as { token: string }).token, String(user._id), headers);
  });

  afterAll(async () => {
    server?.kill('SIGKILL');
    await server?.ended;
    await database?.stop();
    await rm(work, { recursive: true, force: true });
  });

  /** How many requests for tiles `/metrics` has counted, in each of its lines about them. */
  const countedTiles = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { Authorization: 'Bearer of-the-scraper' } });
    const lines = (await answer.text()).split('\n');
    const tileLines = lines.filter(
      (line) => line.startsWith('large_image_request_duration_seconds_count') && line.includes('/tiles/zxy'),
    );
    return tileLines.map((line) => Number(line.split(' ').at(-1)));
  };
  const startDates = async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => admin.ok('GET', '/system/version')));
    return new Set(answers.map(({ serverStartDate }) => String(serverStartDate)));
  };

  it('serves the uploads of either process, and adds up their metrics', async () => {
    const item = await uploadItem(admin, await newFolder(admin, 'Images'), 'image.tif', await pyramid());
    const tiles = Array.from({ length: 12 }, () => admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`));
    expect((await Promise.all(tiles)).map(({ status }) => status)).toEqual(tiles.map(() => 200));
    expect((await startDates()).size).toBe(2);
    expect(await countedTiles()).toEqual([12]);
  });

  it('replaces a process that ends, and answers in the meantime', async () => {
    const children = () => childrenOf(server.process.pid!);
    const [first, ...others] = await children();
    expect(others).toHaveLength(1);
    const before = await startDates();
    process.kill(first!, 'SIGKILL');
    await until('its end has been noticed', () =>
      server.output().includes(`Process ${first} has ended (SIGKILL); another takes its place.`),
    );
    expect((await admin.send('GET', '/user/me')).status).toBe(200);
    // A process that ends before it serves is also replaced.
    const second = await until('another has begun', async () => (await children()).find((pid) => !others.includes(pid)));
    process.kill(second, 'SIGKILL');
    const statuses = new Set<number>();
    await until(
      'another serves',
      async () => {
        const answers = await Promise.all(Array.from({ length: 4 }, () => admin.send('GET', '/user/me')));
        for (const { status } of answers) statuses.add(status);
        const dates = await startDates();
        return dates.size === 2 && [...dates].some((date) => !before.has(date));
      },
      60_000,
    );
    // No request is sent to a process that is still starting.
    expect([...statuses]).toEqual([200]);
  });

  it('restarts all processes on request of one, without refusing requests', async () => {
    const before = await startDates();
    await admin.ok('POST', '/large_image/config/replace', { body: '[large_image]\ncache_tilesource_maximum = 7\n' });
    await until('both have restarted', async () => {
      const dates = await startDates();
      return dates.size === 2 && [...dates].every((date) => !before.has(date));
    });
  });

  it('stops as a whole on request', async () => {
    process.kill(server.process.pid!, 'SIGTERM');
    expect(await server.ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });
});
