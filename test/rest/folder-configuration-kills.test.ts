import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../support/database.js';
import { Client } from '../support/reference-host.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { stepsEnvironment } from '../support/steps.js';
import { until } from '../support/until.js';

describe('a server that is killed while it stores configurations of folders', () => {
  let work: string;
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let server: ServerProcess | undefined;
  let admin: Client;
  let folder: string;

  /** Starts the server anew; it ends when it reaches the step. */
  const run = (killAt?: string) => {
    server = startServer(['--bare'], {
      MONGODB_URI: database.uri,
      DATA_DIR: join(work, 'data'),
      SERVICE_CONFIG: join(work, 'server.cfg'),
      ...(killAt !== undefined && stepsEnvironment({ killAt: `folder-configuration:${killAt}` })),
    });
    return server;
  };
  const start = async (killAt?: string) => {
    admin = new Client(await run(killAt).url(), admin?.token ?? null, admin?.id ?? null);
  };
  const put = (name: string, body: string) => admin.send('PUT', `/folder/${folder}/yaml_config/${name}`, { body });
  const get = (name: string) => admin.ok('GET', `/folder/${folder}/yaml_config/${name}`);
  const killedBy = async (name: string, body: string) => {
    await expect(put(name, body)).rejects.toThrow();
    expect(await server!.ended).toBe('SIGKILL');
  };
  const items = async () =>
    (await admin.ok('GET', '/item', { query: { folderId: folder } })) as unknown as { _id: string; name: string }[];

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'folder-configuration-kills-'));
    database = await startTestDatabase();
  });
  afterAll(async () => {
    server?.kill('SIGKILL');
    await server?.ended;
    await database?.stop();
    await rm(work, { recursive: true, force: true });
  });

  it(
    'has the former text or the new one afterwards, takes the next one at once, and leaves nothing',
    { timeout: 300_000 },
    async () => {
      await start('item');
      const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'a-good-one' };
      const user = await admin.ok('POST', '/user', { query });
      admin = new Client(admin.url, (user.authToken as { token: string }).token, String(user._id));
      folder = await admin.create('/folder', { parentType: 'user', parentId: admin.id!, name: 'Configured' });
      await killedBy('given-up.yaml', 'a: 1\n');

      await start('item');
      await until('what was given up is gone', async () => (await items()).length === 0);
      await killedBy('a.yaml', 'a: 1\n');

      await start('stored');
      await killedBy('a.yaml', 'a: 2\n');

      await start('complete');
      expect(await get('a.yaml')).toEqual({ a: 2 });
      await killedBy('b.yaml', 'b: 1\n');

      await start('stored');
      expect(await get('b.yaml')).toEqual({ b: 1 });
      await killedBy('b.yaml', 'b: 2\n');

      // While it removes what the write had to leave.
      expect(await run('replaced').ended).toBe('SIGKILL');

      await start('replaced');
      expect([await get('a.yaml'), await get('b.yaml')]).toEqual([{ a: 2 }, { b: 2 }]);
      await killedBy('a.yaml', 'a: 3\n');

      await start();
      expect(await get('a.yaml')).toEqual({ a: 3 });
      for (const name of ['a.yaml', 'b.yaml']) expect((await put(name, 'last: 1\n')).status).toBe(200);
      for (const { _id, name } of await items()) {
        expect(await admin.ok('GET', `/item/${_id}/files`), name).toHaveLength(1);
        expect(await get(name)).toEqual({ last: 1 });
      }
      expect((await items()).map(({ name }) => name).toSorted()).toEqual(['a.yaml', 'b.yaml']);
      const connection = await mongoose.createConnection(database.uri).asPromise();
      try {
        expect(await connection.collection('item').countDocuments({ largeImageUnfinished: { $exists: true } })).toBe(0);
        expect(await connection.collection('file').countDocuments({ largeImageReplaces: { $exists: true } })).toBe(0);
      } finally {
        await connection.close();
      }
    },
  );
});
