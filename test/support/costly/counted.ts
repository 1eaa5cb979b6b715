import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Client } from '../hosts/client.js';
import { startTestDatabase } from '../hosts/database.js';
import { startWatchedServer, type WatchedServer } from '../hosts/watched-server.js';
import type { ServerWork } from '../programs/loop-watch.js';
import type {} from '../run/global-setup.js';
import { createSubjects, type CostlyRow, type Subjects } from './place.js';

type Counts = Omit<ServerWork, 'stretches'>;

/** The work of the server for each request when it was last counted: `COUNT_WORK=1 npm run test:full -- costly --no-file-parallelism` counts it again. */
const countsFile = new URL('counts.json', import.meta.url);
/** Below this number, most checks of the clock come from the server's own tasks. */
const fewLooks = 10_000;
const isCounting = process.env.COUNT_WORK === '1';

/**
 * Sends costly requests, one after another, and counts the work of the server. Apart from the server's own tasks, these numbers
 * are the same on every machine: how often work on the event loop checks whether other work waits, how much is done in threads,
 * the commands to the database, and, if the request is refused, the bytes read. `npm run bench -- costly` measures how long the
 * event loop is blocked.
 */
export function countWorkOf(title: string, rows: readonly CostlyRow[]): void {
  describe(title, () => {
    let database: Awaited<ReturnType<typeof startTestDatabase>>;
    let server: WatchedServer;
    let dataDirectory: string;
    let admin: Client;
    let place: Subjects;
    const recordedCounts: Record<string, Counts> = {};
    const counted: Record<string, Counts> = {};
    beforeAll(async () => {
      Object.assign(recordedCounts, JSON.parse(await readFile(countsFile, 'utf8')));
      database = await startTestDatabase();
      dataDirectory = await mkdtemp(join(tmpdir(), 'costly-'));
      server = await startWatchedServer({ programs: inject('programs'), databaseUri: database.uri, dataDirectory });
      const query = { login: 'admin', email: 'admin@example.org', firstName: 'A', lastName: 'B', password: 'admin.password' };
      const user = await new Client(server.url, null, null).ok('POST', '/user', { query });
      admin = new Client(server.url, (user.authToken as { token: string }).token, String(user._id));
      place = await createSubjects(admin);
    });
    afterAll(async () => {
      await server?.close();
      await database?.stop();
      if (dataDirectory !== undefined) await rm(dataDirectory, { recursive: true, force: true });
      if (!isCounting) return;
      const allCounts = Object.entries({
        ...(JSON.parse(await readFile(countsFile, 'utf8')) as typeof recordedCounts),
        ...counted,
      });
      await writeFile(
        countsFile,
        `${JSON.stringify(Object.fromEntries(allCounts.toSorted(([one], [other]) => (one < other ? -1 : 1))), null, 2)}\n`,
      );
    });

    it.each([...rows])('%s', async (title, status, send) => {
      await server.work();
      const answer = await send(place, (method, path, sending) => admin.send(method, path, sending));
      const { stretches: _time, ...counts } = await server.work();
      expect(answer.status).toBe(status);
      counted[title] = counts;
      if (isCounting) return;
      const { looks, toThreads, commands } = recordedCounts[title]!;
      if (looks >= fewLooks) expect(counts.looks).toBeGreaterThanOrEqual(looks * 0.8);
      if (toThreads > 1) expect(counts.toThreads).toBeGreaterThan(0);
      // These include polls by the server itself, and there are more of them if a busy machine takes longer. Bytes are not compared,
      // because how many bytes of a refused body the server drops depends on how many have arrived.
      expect(counts.commands).toBeLessThanOrEqual(commands * 2 + 1000);
    });
  });
}
