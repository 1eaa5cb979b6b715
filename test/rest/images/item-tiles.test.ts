import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainSlide, startSpecimens } from '../../support/hosts/installed-specimens.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

describe('tiles of an item', () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  let folder: string;
  let item: string;
  let temporary: string;

  const upload = async (name: string, bytes: Uint8Array): Promise<string> => {
    const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
    const file = await admin.ok('POST', '/file', { query, body: bytes });
    return String(file.itemId);
  };

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    other = await started.register('other');
    const collection = await admin.create('/collection', { name: 'Images', public: false });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Private', public: false });
    temporary = await mkdtemp(join(tmpdir(), 'item-tiles-'));
    const path = join(temporary, 'slide.tif');
    const plain = sharp({ create: { width: 1100, height: 700, channels: 3, background: { r: 200, g: 40, b: 90 } } });
    await plain
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 90 })
      .toFile(path);
    item = await upload('slide.tif', await readFile(path));
  });
  afterAll(async () => {
    await started?.close();
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
  });

  it('are there as soon as an image was uploaded', async () => {
    const record = await admin.ok('GET', `/item/${item}`);
    expect(record.largeImage).toMatchObject({ fileId: expect.any(String), sourceName: 'tiff' });
    expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({
      sizeX: 1100,
      sizeY: 700,
      tileWidth: 256,
      tileHeight: 256,
      levels: 4,
      dtype: 'uint8',
      bandCount: 3,
    });
  });

  it("have the image's colors, and get 304 for clients that have them", async () => {
    const tile = await admin.send('GET', `/item/${item}/tiles/zxy/3/1/1`);
    expect([tile.status, tile.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(tile.headers.get('cache-control')).toBe('private, no-cache');
    const { data, info } = await sharp(tile.bytes).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([256, 256]);
    for (const [band, value] of [200, 40, 90].entries()) expect(Math.abs(data[band]! - value)).toBeLessThan(6);
    const tag = tile.headers.get('etag')!;
    const answer = await admin.send('GET', `/item/${item}/tiles/zxy/3/1/1`, { headers: { 'If-None-Match': tag } });
    expect([answer.status, answer.bytes.length, answer.headers.get('etag')]).toEqual([304, 0, tag]);
  });

  it.each<[string, (tag: string) => Record<string, string>, number]>([
    ['a list with the tag', (tag) => ({ 'If-None-Match': `"a", ${tag}` }), 304],
    ['the weak form of the tag', (tag) => ({ 'If-None-Match': `W/${tag}` }), 304],
    ['anything', () => ({ 'If-None-Match': '*' }), 304],
    ['another tag', () => ({ 'If-None-Match': '"other"' }), 200],
    ['If-Match with the tag', (tag) => ({ 'If-Match': tag }), 200],
    ['If-Match with anything', () => ({ 'If-Match': '*' }), 200],
    ['If-Match with another tag', () => ({ 'If-Match': '"other"' }), 412],
    ['If-Match with the weak form', (tag) => ({ 'If-Match': `W/${tag}` }), 412],
    ['If-Match before If-None-Match', (tag) => ({ 'If-Match': '"other"', 'If-None-Match': tag }), 412],
  ])('answer a conditional request with %s', async (_what, headersFor, status) => {
    for (const path of ['zxy/3/1/1', 'region?width=100', 'thumbnail', 'dzi_files/10/0_0.jpeg']) {
      const plain = await admin.send('GET', `/item/${item}/tiles/${path}`);
      const tag = plain.headers.get('etag')!;
      const answer = await admin.send('GET', `/item/${item}/tiles/${path}`, { headers: headersFor(tag) });
      expect([path, answer.status]).toEqual([path, status]);
      if (status === 412) expect(answer.body).toMatchObject({ message: expect.stringContaining(tag), type: 'rest' });
      else
        expect([answer.headers.get('etag'), answer.headers.get('cache-control')]).toEqual([
          tag,
          plain.headers.get('cache-control'),
        ]);
      if (status === 304) expect(answer.bytes.length).toBe(0);
    }
  });

  it('have equal tags for equal pictures, and different ones otherwise', async () => {
    const tagOf = async (path: string) => (await admin.send('GET', `/item/${item}/tiles/${path}`)).headers.get('etag');
    expect(await tagOf('zxy/3/1/1?encoding=JPEG')).toBe(await tagOf('zxy/3/1/1?_=77'));
    expect(await tagOf('zxy/3/1/1?encoding=PNG')).not.toBe(await tagOf('zxy/3/1/1'));
    const before = await tagOf('zxy/3/1/1');
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.icc_correction', value: false } });
    expect(await tagOf('zxy/3/1/1')).not.toBe(before);
    await admin.ok('DELETE', '/system/setting', { query: { key: 'large_image.icc_correction' } });
    expect(await tagOf('zxy/3/1/1')).toBe(before);
  });

  it('need no database query when the tile was just served', async () => {
    const path = `/item/${item}/tiles/zxy/3/2/1`;
    const { mongoose } = started.host.host;
    const collectionsUsedBy = async (request: () => Promise<unknown>) => {
      const collections: string[] = [];
      mongoose.set('debug', (collection: string) => void collections.push(collection));
      await request();
      mongoose.set('debug', false);
      return collections;
    };
    // Background tasks use the database now and then, to renew caches and to look for jobs. If tiles used it, each of them would.
    // Tiles are requested one at a time, because on a busy machine background tasks run during any five of them.
    await until('a tile that asks nothing', async () => {
      const collections = await collectionsUsedBy(async () => expect((await admin.send('GET', path)).status).toBe(200));
      return collections.length === 0;
    });
    // The counter works: a request for the item uses the database.
    expect(await collectionsUsedBy(() => admin.send('GET', `/item/${item}`))).not.toEqual([]);
  });

  it.each([
    ['zxy/4/0/0', 404, 'z layer does not exist'],
    ['zxy/3/5/0', 404, 'x is outside layer'],
    ['zxy/3/0/3', 404, 'y is outside layer'],
    ['zxy/a/0/0', 400, 'x, y, and z must be integers'],
    ['zxy/3/-1/0', 400, 'x, y, and z must be positive integers'],
    ['zxy/3/0/0?frame=1', 404, 'Frame does not exist'],
    ['zxy/3/0/0?frame=x', 400, '"frame" parameter is an incorrect type.'],
    ['fzxy/x/3/0/0', 400, '"frame" parameter is an incorrect type.'],
    [
      'zxy/3/0/0?encoding=pickle',
      400,
      'Value Error: Invalid encoding "pickle": serialized objects are not supported; use TILED to get samples',
    ],
    ['zxy/3/0/0?encoding=XYZ', 400, 'Value Error: Invalid encoding "XYZ"'],
    ['region?width=x', 400, '"width" parameter is an incorrect type.'],
    ['thumbnail?width=1', 400, 'Value Error: Invalid width or height.  Minimum value is 2.'],
  ])('answer %s with %i: %s', async (path, status, message) => {
    expect(await admin.fails('GET', `/item/${item}/tiles/${path}`)).toMatchObject({ status, message });
  });

  it.each([
    'region?left=100000&regionWidth=10',
    'region?left=10&regionWidth=0',
    'region?exact=true&regionWidth=300&width=77',
    'tile_frames?left=100000&regionWidth=10',
    'images/nolabel',
  ])('answer %s with an empty body', async (path) => {
    const { status, bytes } = await admin.send('GET', `/item/${item}/tiles/${path}`);
    expect([status, bytes.length]).toEqual([200, 0]);
  });

  it('come with regions, thumbnails, pixels and Deep Zoom', async () => {
    const query = { left: 100, top: 100, regionWidth: 300, regionHeight: 200, width: 100, encoding: 'PNG' };
    const region = await admin.send('GET', `/item/${item}/tiles/region`, { query });
    expect(await sharp(region.bytes).metadata()).toMatchObject({ format: 'png', width: 100, height: 66 });
    const thumbnail = await admin.send('GET', `/item/${item}/tiles/thumbnail`, { query: { contentDisposition: 'attachment' } });
    expect(await sharp(thumbnail.bytes).metadata()).toMatchObject({ format: 'jpeg', width: 256, height: 162 });
    expect(thumbnail.headers.get('content-disposition')).toBe('attachment; filename=slide-thumbnail.jpg');
    expect(await admin.ok('GET', `/item/${item}/tiles/pixel`, { query: { left: 10, top: 10 } })).toMatchObject({
      r: expect.any(Number),
    });
    const dzi = await admin.send('GET', `/item/${item}/tiles/dzi.dzi`);
    expect(dzi.bytes.toString()).toContain('<Size Width="1100" Height="700"');
    expect((await admin.send('GET', `/item/${item}/tiles/dzi_files/11/0_0.jpg`)).status).toBe(200);
    expect(await admin.ok('GET', `/item/${item}/tiles/images`)).toEqual([]);
    expect(await admin.ok('GET', `/item/${item}/tiles/internal_metadata`)).toMatchObject({
      tilesource: 'tiff',
      populatedLevels: 4,
    });
  });

  it('redirect to the file when it is an exact or near match', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
    const picture = sharp({ create: { width: 300, height: 200, channels: 3, background: 'black', noise } });
    const jpeg = await upload('photo.jpg', await picture.clone().jpeg({ quality: 80 }).toBuffer());
    const png = await upload('drawing.png', await picture.clone().png().toBuffer());
    const answerOf = async (id: string, query: Record<string, string | number>, place = '0/0/0') => {
      const answer = await admin.send('GET', `/item/${id}/tiles/zxy/${place}`, { query });
      const location = answer.headers.get('location');
      if (location !== null) expect(location).toMatch(/\/file\/[0-9a-f]{24}\/download$/);
      return answer.status;
    };
    expect(await answerOf(jpeg, { redirect: 'exact', jpegQuality: 80 })).toBe(303);
    expect(await answerOf(jpeg, { redirect: 'exact', jpegQuality: 81 })).toBe(303);
    expect(await answerOf(jpeg, { redirect: 'exact', jpegQuality: 83 })).toBe(200);
    expect(await answerOf(jpeg, { redirect: 'exact' })).toBe(200);
    expect(await answerOf(jpeg, { redirect: 'encoding' })).toBe(303);
    expect(await answerOf(jpeg, { redirect: 'encoding', encoding: 'PNG' })).toBe(200);
    expect(await answerOf(png, { redirect: 'exact', encoding: 'PNG' })).toBe(303);
    expect(await answerOf(png, { redirect: 'any' })).toBe(303);
    expect(await answerOf(png, { redirect: 'any', encoding: 'WEBP' })).toBe(200);
    expect(await answerOf(png, { redirect: 'false', encoding: 'PNG' })).toBe(200);
    expect(await answerOf(png, { redirect: 'any' }, '1/0/0')).toBe(404);
    expect(await answerOf(item, { redirect: 'any' })).toBe(200);
  });

  it('show a private image to no one else, and forget permissions immediately', async () => {
    const path = `/item/${item}/tiles/zxy/0/0/0`;
    expect((await started.anonymous.send('GET', path)).status).toBe(401);
    expect((await other.send('GET', path)).status).toBe(403);
    const grant = (users: object[]) =>
      admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify({ users, groups: [] }), public: false } });
    await grant([{ id: other.id, level: 0 }]);
    expect((await other.send('GET', path)).status).toBe(200);
    await grant([]);
    expect((await other.send('GET', path)).status).toBe(403);
  });

  it('stay out of shared caches, and are revalidated by browsers', async () => {
    const open = (isOpen: boolean) =>
      admin.ok('PUT', `/folder/${folder}/access`, {
        query: { access: JSON.stringify({ users: [], groups: [] }), public: isOpen },
      });
    const places = ['zxy/3/1/1', 'dzi_files/10/0_0.jpeg', 'region?width=50', 'thumbnail', 'histogram', 'bands'];
    await open(true);
    const tags = new Map<string, string>();
    for (const place of places) {
      const { status, headers } = await started.anonymous.send('GET', `/item/${item}/tiles/${place}`);
      expect([place, status, headers.get('cache-control')]).toEqual([place, 200, 'private, no-cache']);
      tags.set(place, headers.get('etag')!);
    }
    await open(false);
    for (const [place, tag] of tags) {
      const { status } = await started.anonymous.send('GET', `/item/${item}/tiles/${place}`, {
        headers: { 'If-None-Match': tag },
      });
      expect([place, status]).toEqual([place, 401]);
    }
  });

  it('are gone when a large image is removed, and back when it is created again', async () => {
    expect(await other.fails('DELETE', `/item/${item}/tiles`)).toMatchObject({ status: 403 });
    expect(await admin.fails('POST', `/item/${item}/tiles`)).toMatchObject({
      status: 400,
      message: 'Item already has largeImage set.',
    });
    expect(await admin.ok('DELETE', `/item/${item}/tiles`)).toEqual({ deleted: true });
    expect(await admin.fails('GET', `/item/${item}/tiles/zxy/0/0/0`)).toMatchObject({
      status: 404,
      message: 'No large image file in this item.',
    });
    expect(await admin.ok('DELETE', `/item/${item}/tiles`)).toEqual({ deleted: false });
    await admin.ok('POST', `/item/${item}/tiles`);
    expect((await admin.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
  });

  it.each([
    ['empty.tif', Buffer.alloc(0)],
    ['text.svs', Buffer.from('this is no image at all')],
    ['cut.jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16])],
    [
      'loop.svg',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'),
    ],
  ])('are not made of %s, which stays an ordinary item', async (name, bytes) => {
    const id = await upload(name, bytes);
    expect((await admin.ok('GET', `/item/${id}`)).largeImage).toBeUndefined();
    expect(await admin.fails('POST', `/item/${id}/tiles`)).toMatchObject({ status: 400 });
  });

  it('include the test image without an item, and every route is described', async () => {
    expect(await started.anonymous.ok('GET', '/item/test/tiles')).toMatchObject({ sizeX: 131072, levels: 10, dtype: 'uint8' });
    const tile = await started.anonymous.send('GET', '/item/test/tiles/zxy/0/0/0');
    expect(tile.headers.get('content-type')).toBe('image/png');
    const described = await started.anonymous.ok('GET', '/describe');
    expect(Object.keys(described.paths as object)).toEqual(
      expect.arrayContaining(['/item/{itemId}/tiles/zxy/{z}/{x}/{y}', '/job/{id}', '/user/authentication', '/file/chunk']),
    );
    const page = await started.anonymous.send('GET', '/describe', { headers: { Accept: 'text/html' } });
    expect(page.headers.get('content-type')).toContain('text/html');
  });
});

describe('a slow response about an image', () => {
  it('is refused to callers who can no longer read the item', async () => {
    let reading = Promise.resolve();
    const specimens = await startSpecimens(
      ({ files }) => ({
        files: { ...files, localPath: async () => null, read: (...parameters) => reading.then(() => files.read(...parameters)) },
      }),
      { maxOpenSources: 0, remoteBytes: 0, tileCacheBytes: 0 },
    );
    try {
      const { specimen } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 200, g: 40, b: 90 }));
      await specimens.server.Badges.create({ secret: 'curator', person: 'curator' });
      const created = await fetch(`${specimens.api}/annotation?itemId=${specimen}`, {
        method: 'POST',
        headers: { Authorization: 'Bearer curator', 'Content-Type': 'application/json' },
        body: JSON.stringify({ elements: [{ type: 'point', center: [9, 9, 0] }] }),
      });
      const { _id: annotation } = (await created.json()) as { _id: string };
      const parts = [
        '',
        '/internal_metadata',
        '/images',
        '/zxy/1/0/0',
        '/fzxy/0/0/0/0',
        '/dzi.dzi',
        '/dzi_files/9/0_0.jpg',
        '/pixel',
      ];
      const ofAnnotation = ['', '/zxy/1/0/0', '/mvt/1/0/0'].map((part) => `/annotation/${annotation}/tiles${part}`);
      const paths = [...parts.map((part) => `/item/${specimen}/tiles${part}`), ...ofAnnotation];
      const answers = () => Promise.all(paths.map((path) => specimens.get(path)));
      const statuses = async (pending = answers()) => (await pending).map(({ status }, i) => [paths[i], status]);
      expect(await statuses()).toEqual(paths.map((path) => [path, 200]));
      let release = () => {};
      reading = new Promise((resolve) => (release = resolve));
      const late = answers();
      const began = performance.now();
      await until('two and a half seconds have passed', () => performance.now() - began > 2500);
      await specimens.server.Cabinets.updateMany({}, { open: false });
      release();
      expect(await statuses(late)).toEqual(paths.map((path) => [path, 401]));
    } finally {
      await specimens.close();
    }
  });
});
