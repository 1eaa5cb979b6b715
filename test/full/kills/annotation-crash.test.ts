import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';

type Json = Record<string, unknown>;

/** The contents of an annotation: all elements of a state have the same line width. */
interface State {
  lineWidth: number;
  count: number;
}

/** A request during which the server is killed, and what its annotation may contain afterwards. */
interface Change {
  send(client: Client, id: string): Promise<unknown>;
  outcomes: (State | null)[];
}

// How often the server is killed. A higher number finds rare faults.
const rounds = Number(process.env.CRASH_ROUNDS ?? 2);
const count = 3000;
const first: State = { lineWidth: 1, count };
const second: State = { lineWidth: 2, count: 2000 };

const rectangles = ({ lineWidth, count: length }: State) =>
  Array.from({ length }, (_, i) => ({
    type: 'rectangle',
    center: [i % 100, Math.floor(i / 100), 0],
    width: 1,
    height: 1,
    lineWidth,
  }));
const bodyOf = (state: State) => ({ json: { name: 'crash', elements: rectangles(state) } });

const changes: Record<string, Change> = {
  put: { send: (client, id) => client.send('PUT', `/annotation/${id}`, bodyOf(second)), outcomes: [first, second] },
  patch: {
    send: (client, id) =>
      client.send('PATCH', `/annotation/${id}`, { json: [{ op: 'replace', path: 'elements', value: rectangles(second) }] }),
    outcomes: [first, second],
  },
  added: {
    send: (client, id) => client.send('POST', `/annotation/${id}/elements`, { json: rectangles({ lineWidth: 1, count: 500 }) }),
    outcomes: [first, { lineWidth: 1, count: count + 500 }],
  },
  removed: { send: (client, id) => client.send('DELETE', `/annotation/${id}`), outcomes: [first, null] },
  revert: {
    send: (client, id) => client.send('PUT', `/annotation/${id}/history/revert`),
    outcomes: [first, second],
  },
};

describe('a server that is killed while annotations are written', () => {
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let directory: string;
  let server: ServerProcess;
  let client: Client;

  const start = async (token: string | null) => {
    const env = { MONGODB_URI: database.uri, ADMIN_PASSWORD: 'admin.password', DATA_DIR: directory, BRAND: 'girder' };
    server = startServer(['--bare'], env);
    client = new Client(await server.url(), token, null);
  };

  beforeAll(async () => {
    database = await startTestDatabase();
    directory = await mkdtemp(join(tmpdir(), 'annotation-crash-'));
    await start(null);
  });
  afterAll(async () => {
    server?.kill('SIGKILL');
    await server?.ended;
    await database.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const signUp = async (): Promise<string> => {
    const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'admin.password' };
    const user = await client.ok('POST', '/user', { query });
    const { token } = user.authToken as { token: string };
    client = new Client(client.url, token, String(user._id));
    const collection = await client.create('/collection', { name: 'Crash' });
    const folder = await client.create('/folder', { parentType: 'collection', parentId: collection, name: 'Crash' });
    return client.create('/item', { folderId: folder, name: 'crash' });
  };

  /** The complete annotation with an id; `null` if there is none. */
  const stateOf = async (id: string): Promise<State | null> => {
    const { status, body } = await client.send('GET', `/annotation/${id}`);
    if (status === 404 || status === 400) return null;
    expect(status).toBe(200);
    const elements = (body.annotation as Json).elements as { lineWidth: number }[];
    const widths = new Set(elements.map(({ lineWidth }) => lineWidth));
    expect(widths.size, 'versions among the elements of one annotation').toBe(1);
    return { lineWidth: elements[0]!.lineWidth, count: elements.length };
  };

  it('shows each of them as it was before or after, never in part', async () => {
    const item = await signUp();
    for (let round = 0; round < rounds; round += 1) {
      const ids: Record<string, string> = {};
      for (const name of Object.keys(changes)) {
        ids[name] = String((await client.ok('POST', '/annotation', { query: { itemId: item }, ...bodyOf(first) }))._id);
      }
      await client.ok('PUT', `/annotation/${ids.revert}`, bodyOf(second));
      const formerIds = new Set(
        ((await client.ok('GET', '/annotation', { query: { itemId: item, limit: 0 } })) as unknown as Json[]).map(
          ({ _id }) => _id,
        ),
      );
      const sent = [
        ...Object.entries(changes).map(([name, change]) => change.send(client, ids[name]!)),
        client.send('POST', '/annotation', { query: { itemId: item }, ...bodyOf(second) }),
      ];
      const settled = Promise.allSettled(sent);
      const delay = Math.random() * 800;
      await new Promise((resolve) => setTimeout(resolve, delay));
      server.kill('SIGKILL');
      await server.ended;
      await settled;
      await start(client.token);
      for (const [name, { outcomes }] of Object.entries(changes)) {
        expect(outcomes, `${name}, killed after ${delay} ms`).toContainEqual(await stateOf(ids[name]!));
      }
      const listed = (await client.ok('GET', '/annotation', { query: { itemId: item, limit: 0 } })) as unknown as Json[];
      const created = listed.filter(({ _id }) => !formerIds.has(_id));
      expect(created.length).toBeLessThanOrEqual(1);
      for (const { _id } of created) expect(await stateOf(String(_id))).toEqual(second);
      // Interrupted writes do not block later ones.
      await client.ok('PUT', `/annotation/${ids.put}`, bodyOf(first));
      expect(await stateOf(ids.put!)).toEqual(first);
      for (const { _id } of listed) await client.ok('DELETE', `/annotation/${String(_id)}`);
    }
  });
});
