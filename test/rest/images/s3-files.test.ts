import { ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Bucket } from '../../../src/s3/index.js';
import { specimenFilesInBucket } from '../../../examples/s3-files.js';
import { meanColor, plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';
import { noGateway, startGateway, type TestGateway } from '../../support/hosts/s3-gateway.js';
import { slideFile } from '../../support/images/slide.js';

if (noGateway !== null) console.warn(`skipped: files in a bucket, because ${noGateway}`);

describe.skipIf(noGateway !== null)('a host with files in a bucket', () => {
  let gateway: TestGateway;
  let at: InstalledSpecimens;
  let folder: string;
  beforeAll(async () => {
    gateway = await startGateway();
    at = await startSpecimens((_host, server) => ({ files: specimenFilesInBucket(server, gateway.client, 'bucket') }));
    folder = await mkdtemp(join(tmpdir(), 's3-files-'));
  });
  afterEach(() => {
    gateway.latencyMs = 0;
    gateway.cut = () => null;
    gateway.refuses = () => false;
  });
  afterAll(async () => {
    await at?.close();
    await gateway?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const gets = () => gateway.requests.filter(({ method, key }) => method === 'GET' && key !== '').length;
  const image = async (name: string, bytes: Buffer) => {
    const { specimen, blob } = await at.addSpecimen(name, bytes);
    const item = await at.server.Specimens.findById(specimen).lean<{ largeImage?: unknown }>();
    expect(item?.largeImage).toBeDefined();
    return { path: `/item/${specimen}/tiles`, blob };
  };
  const bytesOf = async (path: string) => {
    const answer = await at.get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    return Buffer.from(await answer.arrayBuffer());
  };

  it('reads a slide 20 ms away in few requests: description, first tile, thumbnail, region', async () => {
    const bytes = await readFile(await slideFile(folder));
    gateway.latencyMs = 20;
    gateway.forget();
    const { path } = await image('slide.svs', bytes);
    const counts: Record<string, number> = { creation: gets() };
    for (const [kind, request] of Object.entries({
      tile: '/zxy/0/0/0',
      thumbnail: '/thumbnail?width=256',
      region: '/region?left=100&top=100&regionWidth=900&regionHeight=700&width=300',
    })) {
      gateway.forget();
      await bytesOf(path + request);
      counts[kind] = gets();
    }
    for (const [kind, count] of Object.entries(counts)) expect([kind, count <= 10]).toEqual([kind, true]);
    // All of it is now in cached blocks.
    expect(counts.region).toBeLessThanOrEqual(Math.ceil(bytes.length / 2 ** 19));
  });

  it('fetches a block once for simultaneous requests', async () => {
    const bytes = await readFile(await slideFile(folder));
    const { path } = await image('crowd.svs', bytes);
    gateway.latencyMs = 20;
    gateway.forget();
    const tiles = [0, 1, 2, 3].flatMap((x) => [0, 1, 2].map((y) => `${path}/zxy/3/${x}/${y}`));
    const statuses = await Promise.all(tiles.map(async (tile) => (await at.get(tile)).status));
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
    expect(gets()).toBeLessThanOrEqual(Math.ceil(bytes.length / 2 ** 19) + 1);
  });

  it('resumes broken connections, and answers 503 for unavailable objects', async () => {
    const { path } = await image('cut.tif', await plainSlide({ r: 200, g: 20, b: 20 }));
    let cuts = 0;
    gateway.cut = ({ method, key }) => (method === 'GET' && key !== '' && cuts++ < 2 ? 100 : null);
    const [red] = await meanColor(await bytesOf(`${path}/thumbnail?width=64`));
    expect(red).toBeGreaterThan(190);
    const other = await image('gone.tif', await plainSlide({ r: 20, g: 200, b: 20 }));
    gateway.cut = ({ method, key }) => (method === 'GET' && key !== '' ? 0 : null);
    const answer = await at.get(`${other.path}/zxy/0/0/0`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('10');
    gateway.cut = () => null;
    // It is still an image.
    expect((await meanColor(await bytesOf(`${other.path}/zxy/0/0/0?edge=crop`)))[1]).toBeGreaterThan(190);
  });

  it('notices an object that was replaced, and never shows a mixture', async () => {
    const [red, green] = await Promise.all([
      plainSlide({ r: 220, g: 0, b: 0 }, 3000, 2000),
      plainSlide({ r: 0, g: 220, b: 0 }, 3000, 2000),
    ]);
    const { path, blob } = await image('replaced.tif', red);
    const { storedAs: Key } = (await at.server.Blobs.findById(blob).lean<{ storedAs: string }>())!;
    await gateway.client.send(new PutObjectCommand({ Bucket: 'bucket', Key, Body: green }));
    const first = await at.get(`${path}/region?left=0&top=0&regionWidth=3000&regionHeight=2000&width=300`);
    const color = first.status === 200 ? await meanColor(await first.arrayBuffer()) : null;
    // Either the complete cached picture is sent once more, or a new one is made, or the client is told to try again.
    if (color === null) expect(first.status).toBe(503);
    else expect([Math.round(color[0]! / 220), Math.round(color[1]! / 220)].toSorted((a, b) => a - b)).toEqual([0, 1]);
  });

  it('stores uploads in parts, and leaves nothing of interrupted ones', async () => {
    const { specimen } = await at.addSpecimen('a.txt', Buffer.from('abc'));
    const before = await keys();
    const leaving = new AbortController();
    const endless = Readable.from(
      (async function* () {
        for (let sent = 0; ; sent += 1) {
          if (sent === 12) leaving.abort(new Error('The client has left.'));
          yield Buffer.alloc(2 ** 20, sent);
        }
      })(),
    );
    const file = { name: 'b.bin', mimeType: '', size: 2 ** 30, parent: { type: 'item', itemId: specimen } } as const;
    const creating = at.host.files.create(file, endless, { signal: leaving.signal });
    await expect(creating).rejects.toThrow('The client has left.');
    expect(await keys()).toEqual(before);
    const parts = gateway.requests.filter(({ method, query }) => method === 'PUT' && query.has('partNumber'));
    expect(parts.length).toBeGreaterThan(0);
    const { Uploads = [] } = await gateway.client.send(new ListMultipartUploadsCommand({ Bucket: 'bucket' }));
    expect(Uploads).toEqual([]);
  });

  it('names missing permissions of the credentials, and leaves nothing partial', async () => {
    const { path } = await image('guarded.tif', await plainSlide({ r: 10, g: 20, b: 200 }));
    const { specimen, blob } = await at.addSpecimen('b.txt', Buffer.from('abc'));
    const before = await keys();
    const blobs = () => at.server.Blobs.countDocuments();
    const count = await blobs();
    gateway.refuses = ({ method, key }) => key !== '' && method !== 'GET' && method !== 'HEAD';
    const file = { name: 'c.txt', mimeType: '', parent: { type: 'item', itemId: specimen } } as const;
    for (const size of [3, 9 * 2 ** 20]) {
      const creating = at.host.files.create({ ...file, size }, Readable.from([Buffer.alloc(size)]));
      await expect(creating).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('refuses access') });
    }
    expect([await keys(), await blobs()]).toEqual([before, count]);
    // A removed file is gone for everyone; a sweep removes its bytes.
    await at.host.files.remove((await at.server.Blobs.findById(blob).lean())!);
    expect([await keys(), await blobs()]).toEqual([before, count - 1]);

    gateway.refuses = ({ key }) => key !== '';
    const answer = await at.get(`${path}/zxy/0/0/0`);
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('refuses access')]);
    gateway.refuses = () => false;
    expect((await at.get(`${path}/zxy/0/0/0`)).status).toBe(200);
  });

  it('lists a bucket in pages', async () => {
    const allKeys = await keys();
    expect(allKeys.length).toBeGreaterThan(2);
    gateway.forget();
    expect(await keys(2)).toEqual(allKeys);
    const pages = gateway.requests.filter(({ key, query }) => key === '' && query.get('list-type') === '2');
    expect(pages.length).toBe(Math.ceil(allKeys.length / 2));
  });

  async function keys(perPage?: number): Promise<string[]> {
    const listedKeys: string[] = [];
    const options = perPage === undefined ? {} : { perPage };
    for await (const { key } of new Bucket(gateway.client, 'bucket').list('', options)) listedKeys.push(key);
    return listedKeys;
  }
});
