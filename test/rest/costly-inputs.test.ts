import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDatabase } from '../support/database.js';
import { newFolder, pyramid, uploadItem } from '../support/images.js';
import { Client, type Answer, type Sending } from '../support/reference-host.js';
import { startWatchedServer, type WatchedServer } from '../support/watched-server.js';

/** How long a tile of the cache may be waited for while somebody sends the worst, in milliseconds. */
const maxWaitMs = 250;
/** How long the event loop may be kept at a stretch (safety.md, rule 6), and what a collection of garbage in it may add. */
const maxStretchMs = 50;
const collectionMs = 50;

const repeated = (text: string, length: number) => text.repeat(Math.ceil(length / text.length));
const list = (entry: string, length: number) => `[${repeated(`${entry},`, length)}${entry}]`;
const mebibyte = 1024 * 1024;
const asGet = { 'X-HTTP-Method-Override': 'GET' };
const json = { 'Content-Type': 'application/json' };
const plain = { 'Content-Type': 'text/plain' };

interface Place {
  folder: string;
  slide: string;
  item: string;
  annotation: string;
  upload: (name: string, content: string) => Promise<string>;
}

type Send = (place: Place, send: (method: string, path: string, sending?: Sending) => Promise<Answer>) => Promise<Answer>;

/** Requests with texts of every kind that the server takes, at their limits and made to be the worst, with the status of the answer. */
const rows: [what: string, status: number, send: Send][] = [
  [
    'a number of 15 000 digits that is none',
    400,
    ({ slide }, send) => send('GET', `/item/${slide}/tiles/region`, { query: { left: `${'1'.repeat(15_000)}x` } }),
  ],
  [
    'a number of a megabyte in a form',
    400,
    ({ slide }, send) =>
      send('POST', `/item/${slide}/tiles/region`, { form: { left: `${'1'.repeat(1_000_000)}x` }, headers: asGet }),
  ],
  ['a form that is too long', 413, (_place, send) => send('POST', '/user', { form: { login: 'a'.repeat(2 * mebibyte) } })],
  [
    'a form of very many fields',
    400,
    (_place, send) =>
      send('POST', '/user', { body: repeated('a=&', 900_000), headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }),
  ],
  [
    'a search for marks that must be put in order',
    200,
    ({ folder }, send) =>
      send('POST', '/item', { form: { folderId: folder, text: `a${'\u0301\u0316'.repeat(40_000)}` }, headers: asGet }),
  ],
  [
    'a range of blanks',
    200,
    ({ slide }, send) => send('GET', `/item/${slide}/download`, { headers: { Range: `bytes=${' '.repeat(14_000)}x` } }),
  ],
  [
    'more textures than there are pixels',
    400,
    ({ slide }, send) =>
      send('GET', `/item/${slide}/tiles/tile_frames/quad_info`, { query: { maxTextures: 9e12, maxTextureSize: 1e9 } }),
  ],
  [
    'a stride beyond all frames',
    200,
    ({ slide }, send) => send('GET', `/item/${slide}/tiles/tile_frames/quad_info`, { query: { frameGroupStride: 1_000_000 } }),
  ],
  [
    'specifications that are nothing but numbers',
    413,
    (_place, send) => send('POST', '/large_image/thumbnails', { form: { spec: list('1', 900_000) }, headers: asGet }),
  ],
  [
    'a parameter of empty lists',
    413,
    ({ folder }, send) => send('PUT', `/item/${folder}`, { form: { metadata: `{"a":${list('[]', 900_000)}}` } }),
  ],
  [
    'JSON of empty lists',
    400,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: list('[]', mebibyte - 100), headers: json }),
  ],
  [
    'JSON of quotes that nothing closes',
    400,
    ({ item }, send) =>
      send('PUT', `/item/${item}/internal_metadata/x`, { body: `[${repeated('"\\', mebibyte - 10)}`, headers: json }),
  ],
  [
    'JSON that is nested without end',
    400,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: '['.repeat(mebibyte), headers: json }),
  ],
  [
    'JSON that is too long',
    413,
    ({ item }, send) => send('PUT', `/item/${item}/internal_metadata/x`, { body: list('[]', 30 * mebibyte), headers: json }),
  ],
  [
    'metadata of very many keys',
    400,
    ({ item }, send) => {
      const keys = Array.from({ length: 70_000 }, (_, i) => `"${i.toString(36)}":1`);
      return send('PUT', `/item/${item}/metadata`, { body: `{${keys.join(',')}}`, headers: json });
    },
  ],
  [
    'keys of attributes that are not there',
    200,
    ({ annotation }, send) =>
      send('DELETE', `/annotation/${annotation}/metadata`, { body: list('"abcdef"', mebibyte - 100), headers: json }),
  ],
  [
    'a patch whose path is slashes',
    400,
    ({ annotation }, send) =>
      send('PATCH', `/annotation/${annotation}`, { json: [{ op: 'replace', path: `a${'/'.repeat(300_000)}x`, value: 1 }] }),
  ],
  [
    'a configuration of quotes',
    200,
    (_place, send) =>
      send('POST', '/large_image/config/validate', { body: `[a]\nx = ${repeated('"""', 120_000)}`, headers: plain }),
  ],
  [
    'a configuration of numbers',
    200,
    (_place, send) => send('POST', '/large_image/config/validate', { body: `[a]\nx = ${list('1', 120_000)}`, headers: plain }),
  ],
  [
    'a configuration that grows when it is formatted',
    200,
    (_place, send) => send('POST', '/large_image/config/format', { body: '[a]\nx = "a b"*600000', headers: plain }),
  ],
  [
    'YAML of very many entries',
    200,
    ({ folder }, send) =>
      send('PUT', `/folder/${folder}/yaml_config/long.yaml`, { body: repeated('- a\n', 4 * mebibyte), headers: plain }),
  ],
  [
    'YAML that stands for more than it says',
    400,
    ({ folder }, send) => {
      const text = `a: &a ${'x'.repeat(1000)}\nb: &b [${repeated('*a, ', 4000)}]\nc: &c [${repeated('*b, ', 4000)}]\n`;
      return send('PUT', `/folder/${folder}/yaml_config/bomb.yaml`, { body: text, headers: plain });
    },
  ],
  [
    'a file of values with a number of a megabyte',
    200,
    async ({ upload }, send) => {
      const id = await upload('values.csv', `a\n${'1'.repeat(900_000)}x\n`);
      return send('POST', `/annotation/item/${id}/plot/data`, { query: { keys: 'data.a.0' } });
    },
  ],
];

describe('while somebody sends the worst that is taken', () => {
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let server: WatchedServer;
  let dataDirectory: string;
  let admin: Client;
  let place: Place;
  let tile: string;
  beforeAll(async () => {
    database = await startTestDatabase();
    dataDirectory = await mkdtemp(join(tmpdir(), 'costly-'));
    server = await startWatchedServer({ databaseUri: database.uri, dataDirectory });
    const anonymous = new Client(server.url, null, null);
    const query = { login: 'admin', email: 'admin@example.org', firstName: 'A', lastName: 'B', password: 'admin.password' };
    const user = await anonymous.ok('POST', '/user', { query });
    admin = new Client(server.url, (user.authToken as { token: string }).token, String(user._id));
    const folder = await newFolder(admin, 'Public', true);
    const slide = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    const item = await admin.create('/item', { folderId: folder, name: 'item' });
    const annotation = await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'a', elements: [] } });
    const upload = (name: string, content: string) => uploadItem(admin, folder, name, Buffer.from(content));
    place = { folder, slide, item, annotation: String(annotation._id), upload };
    tile = `${server.url}/api/v1/item/${slide}/tiles/zxy/0/0/0`;
    for (let i = 0; i < 50; i += 1) await (await fetch(tile)).arrayBuffer();
  });
  afterAll(async () => {
    await server?.close();
    await database?.stop();
    if (dataDirectory !== undefined) await rm(dataDirectory, { recursive: true, force: true });
  });

  /** The longest time that a tile was waited for while `work` went on. */
  async function longestWait(work: Promise<unknown>): Promise<number> {
    let isGoing = true;
    const end = (): void => {
      isGoing = false;
    };
    work.then(end, end);
    let longest = 0;
    while (isGoing) {
      const start = performance.now();
      await (await fetch(tile)).arrayBuffer();
      longest = Math.max(longest, performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return longest;
  }

  it.each(rows)('tiles come at once: %s', async (_what, status, send) => {
    await server.stretches();
    const answered = send(place, (method, path, sending) => admin.send(method, path, sending));
    const waited = await longestWait(answered);
    expect((await answered).status).toBe(status);
    const { cpu } = await server.stretches();
    // The clock also counts what other programs of a busy machine take; the time of the loop's own thread does not.
    expect(cpu).toBeLessThanOrEqual(maxStretchMs + collectionMs);
    if (cpu > maxStretchMs) expect(waited).toBeLessThanOrEqual(maxWaitMs);
  });
});
