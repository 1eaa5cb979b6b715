import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleFile } from '../../support/images/data.js';
import { writeFixtures } from '../../support/images/fixtures.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { hasPython } from '../../support/python/python.js';
import { startHost, type Answer, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const run = promisify(execFile);
const python = process.env.PYTHON ?? 'python3';
const squares = hasPython() ? writeFixtures<{ name: string }>('iiif.py', ['iiif_validator', 'magic', 'PIL']) : null;
const canReadManifests = hasPython() && spawnSync(python, ['-c', 'import iiif_prezi3']).status === 0;
const omeSample = sampleFile('multi-channel-z-series.ome.tif');

/** The color of a square of the picture, which has 10 by 10 of them. */
const colorOf = (x: number, y: number): [number, number, number] => [20 + x * 23, 20 + y * 23, (x * 7 + y * 29) % 256];

/** A picture of 1000 by 1000 pixels, of squares of 100. */
function squaredPicture(): Promise<Buffer> {
  const data = Buffer.alloc(1000 * 1000 * 3);
  for (let at = 0; at < 1_000_000; at += 1) data.set(colorOf(Math.floor((at % 1000) / 100), Math.floor(at / 100_000)), at * 3);
  return sharp(data, { raw: { width: 1000, height: 1000, channels: 3 } })
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'deflate' })
    .toBuffer();
}

type Json = Record<string, never>;

describe('IIIF', () => {
  let started: TestHost;
  let admin: Client;
  let stranger: Client;
  let folder: string;
  let item: string;
  let hidden: string;

  const image = (path: string, id = item, client: Client = started.anonymous) => client.send('GET', `/iiif/${id}/${path}`);
  const info = async (id = item) => (await image('info.json', id, admin)).body as unknown as Record<string, unknown>;
  const pixels = async (answer: Answer) => {
    expect(answer.status).toBe(200);
    return sharp(answer.bytes).raw().toBuffer({ resolveWithObject: true });
  };
  /** The square of the picture that is visible at a pixel of a response. */
  const squareAt = async (answer: Answer, [left, top]: [number, number]): Promise<[number, number]> => {
    const { data, info: size } = await pixels(answer);
    const [r, g, b] = data.subarray((top * size.width + left) * size.channels);
    let best: [number, number, number] = [0, 0, Infinity];
    for (let x = 0; x < 10; x++) {
      for (let y = 0; y < 10; y++) {
        const [red, green, blue] = colorOf(x, y);
        const distance = Math.abs(red - r!) + Math.abs(green - g!) + Math.abs(blue - b!);
        if (distance < best[2]) best = [x, y, distance];
      }
    }
    expect(best[2]).toBeLessThan(20);
    return [best[0], best[1]];
  };

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    stranger = await started.register('stranger');
    folder = await newFolder(admin, 'Slides', true);
    item = await uploadItem(admin, folder, 'squares.tif', await squaredPicture());
    hidden = await uploadItem(admin, await newFolder(admin, 'Hidden'), 'hidden.tif', await pyramid());
  });
  afterAll(async () => {
    await started?.close();
    squares?.remove();
  });

  it('describes an image at level 2 in JSON-LD, with the requested address', async () => {
    const answer = await image('info.json');
    expect(answer.headers.get('content-type')).toBe('application/ld+json;profile="http://iiif.io/api/image/3/context.json"');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.body).toMatchObject({
      '@context': 'http://iiif.io/api/image/3/context.json',
      id: `${started.url}/api/v1/iiif/${item}`,
      type: 'ImageService3',
      protocol: 'http://iiif.io/api/image',
      profile: 'level2',
      width: 1000,
      height: 1000,
      maxWidth: 65_500,
      maxArea: 2 ** 27,
      tiles: [{ width: 256, height: 256, scaleFactors: [1, 2, 4] }],
      extraFormats: ['webp', 'tif', 'gif'],
      extraQualities: ['color', 'gray', 'bitonal'],
    });
    expect(answer.body).not.toHaveProperty('rights');
    const plain = await started.anonymous.send('GET', `/iiif/${item}/info.json`, { headers: { Accept: 'application/json' } });
    expect(plain.headers.get('content-type')).toBe('application/json');
  });

  it('includes the rights in the metadata if they are a statement that IIIF knows', async () => {
    await admin.ok('PUT', `/item/${item}/metadata`, {
      json: { license: 'https://creativecommons.org/licenses/by/4.0/', attribution: 'A. Museum' },
    });
    expect((await info()).rights).toBe('http://creativecommons.org/licenses/by/4.0/');
    const manifest = (await image('manifest.json')).body as unknown as Record<string, unknown>;
    expect(manifest).toMatchObject({
      rights: 'http://creativecommons.org/licenses/by/4.0/',
      requiredStatement: { value: { none: ['A. Museum'] } },
    });
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { license: 'ask the director' } });
    expect(await info()).not.toHaveProperty('rights');
  });

  it('redirects from the address of the image to its description', async () => {
    const answer = await started.anonymous.send('GET', `/iiif/${item}`);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${started.url}/api/v1/iiif/${item}/info.json`]);
  });

  it('shows regions by pixels, by percent, and the square', async () => {
    expect(await squareAt(await image('510,310,80,80/max/0/default.png'), [40, 40])).toEqual([5, 3]);
    expect(await squareAt(await image('pct:71,21,8,8/max/0/default.jpg'), [40, 40])).toEqual([7, 2]);
    const { info: size } = await pixels(await image('900,900,500,500/max/0/default.png'));
    expect([size.width, size.height]).toEqual([100, 100]);
    expect((await pixels(await image('square/200,/0/default.png'))).info).toMatchObject({ width: 200, height: 200 });
  });

  it.each([
    ['full/max', [1000, 1000]],
    ['full/500,', [500, 500]],
    ['full/,250', [250, 250]],
    ['full/pct:10', [100, 100]],
    ['full/300,200', [300, 200]],
    ['full/!300,200', [200, 200]],
    ['full/^1200,', [1200, 1200]],
    ['100,100,200,100/^!600,600', [600, 300]],
    ['100,100,200,100/50,', [50, 25]],
  ])('scales %s', async (path, [width, height]) => {
    const answer = await image(`${path}/0/default.png`);
    expect((await pixels(answer)).info).toMatchObject({ width, height });
  });

  it('rotates clockwise, after mirroring', async () => {
    const corner: [number, number] = [50, 50];
    expect(await squareAt(await image('full/max/90/default.png'), corner)).toEqual([0, 9]);
    expect(await squareAt(await image('full/max/180/default.png'), corner)).toEqual([9, 9]);
    expect(await squareAt(await image('full/max/270/default.png'), corner)).toEqual([9, 0]);
    expect(await squareAt(await image('full/max/!0/default.png'), corner)).toEqual([9, 0]);
    expect(await squareAt(await image('full/max/!90/default.png'), corner)).toEqual([9, 9]);
    expect(await squareAt(await image('full/max/!180/default.png'), corner)).toEqual([0, 9]);
    expect(await squareAt(await image('full/max/!270/default.png'), corner)).toEqual([0, 0]);
    const { info: size } = await pixels(await image('0,0,200,100/100,50/90/default.png'));
    expect([size.width, size.height]).toEqual([50, 100]);
  });

  it('shows color, gray and two tones', async () => {
    const channels = async (path: string) => (await sharp((await image(path)).bytes).metadata()).channels;
    expect(await channels('full/100,/0/color.png')).toBe(3);
    expect(await channels('full/100,/0/gray.jpg')).toBe(1);
    expect(await channels('full/100,/0/bitonal.png')).toBe(1);
    expect(new Set((await pixels(await image('full/100,/0/bitonal.png'))).data)).toEqual(new Set([0, 255]));
  });

  it.each([
    ['jpg', 'jpeg', 'image/jpeg'],
    ['png', 'png', 'image/png'],
    ['webp', 'webp', 'image/webp'],
    ['tif', 'tiff', 'image/tiff'],
    ['gif', 'gif', 'image/gif'],
  ])('writes %s', async (extension, format, type) => {
    const answer = await image(`full/64,/0/default.${extension}`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    expect((await sharp(answer.bytes).metadata()).format).toBe(format);
  });

  it('names the canonical address and the level of the service', async () => {
    const answer = await image('pct:0,0,50,50/!250,250/360/color.jpg');
    expect(answer.headers.get('link')).toBe(
      `<${started.url}/api/v1/iiif/${item}/0,0,500,500/250,250/0/default.jpg>;rel="canonical", ` +
        '<http://iiif.io/api/image/3/level2.json>;rel="profile"',
    );
    const other = await image('0,0,500,500/250,250/0/default.jpg');
    expect(other.headers.get('etag')).toBe(answer.headers.get('etag'));
    const headers = { 'If-None-Match': answer.headers.get('etag')! };
    expect((await started.anonymous.send('GET', `/iiif/${item}/0,0,500,500/250,250/0/default.jpg`, { headers })).status).toBe(
      304,
    );
  });

  it('sends stored tiles of the pyramid unchanged', async () => {
    const id = await uploadItem(admin, folder, 'tiles.tif', await pyramid());
    const stored = await admin.send('GET', `/item/${id}/tiles/zxy/2/1/0`);
    expect((await image('256,0,256,256/256,256/0/default.jpg', id)).bytes).toEqual(stored.bytes);
  });

  it.each([
    'full/full/0/default.jpg',
    'full/1001,/0/default.jpg',
    '0,0,0,0/max/0/default.jpg',
    'full/max/45/default.jpg',
    'a/b/c/d.e',
  ])('answers 400 to %s', async (path) =>
    expect(await image(path)).toMatchObject({ status: 400, body: { message: expect.stringContaining('') } }),
  );

  it('answers 404 to identifiers that do not exist, escaped or not', async () => {
    const missing = [
      '0123456789abcdef01234567',
      'f05bd8a0-0f4d-11ee-be56-0242ac120002',
      '%5Bfrob%5D',
      `${item}_7`,
      'a%2Fb',
      `${item}_`,
    ];
    for (const id of missing) {
      expect((await image('info.json', id)).status, id).toBe(404);
      expect((await image('full/max/0/default.jpg', id)).status, id).toBe(404);
    }
    expect((await started.anonymous.send('GET', '/iiif/a/b/info.json')).status).toBe(404);
    const plain = await admin.create('/item', { folderId: folder, name: 'no image' });
    expect((await image('info.json', plain)).status).toBe(404);
    expect(
      (
        await image(
          'info.json',
          item.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`),
        )
      ).status,
    ).toBe(200);
  });

  it('shows a private image to callers who can read it', async () => {
    for (const path of ['info.json', 'manifest.json', 'full/64,/0/default.jpg', '']) {
      expect((await image(path, hidden)).status, path).toBe(401);
      expect((await image(path, hidden, stranger)).status, path).toBe(403);
      expect((await image(path, hidden, admin)).status, path).toBeLessThan(400);
    }
    const refused = await image('info.json', hidden);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect(refused.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('lets pages of all origins read answers, unless the host allows only some', async () => {
    const headers = { Origin: 'https://viewer.example' };
    const answer = await started.anonymous.send('GET', `/iiif/${item}/full/64,/0/default.jpg`, { headers });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-expose-headers')).toContain('Link');
    const tiles = await started.anonymous.send('GET', `/item/${item}/tiles`, { headers });
    expect(tiles.headers.get('access-control-allow-origin')).toBeNull();
    await admin.ok('PUT', '/system/setting', { query: { key: 'core.cors.allow_origin', value: 'https://viewer.example' } });
    const named = await started.anonymous.send('GET', `/iiif/${item}/info.json`, { headers });
    await admin.ok('DELETE', '/system/setting', { query: { key: 'core.cors.allow_origin' } });
    expect(named.headers.get('access-control-allow-origin')).toBe('https://viewer.example');
  });

  it.skipIf(squares === null)('passes the public validator', async () => {
    const id = await uploadItem(admin, folder, 'validator.png', await readFile(join(squares!.folder, squares!.manifest.name)));
    const script = fileURLToPath(new URL('../../support/python/iiif_validator_run.py', import.meta.url));
    const { stdout } = await run(python, ['-W', 'ignore', script, new URL(started.url).host, 'api/v1/iiif', id]);
    const { passed, failed } = JSON.parse(stdout) as {
      passed: string[];
      failed: Record<string, { level: number; message: string }>;
    };
    // Level 3 means tests that no level requires. By the specification (4.2), `!w,h` with a larger box returns the region at its
    // own size.
    const needed = Object.entries(failed).filter(([, { level }]) => level <= 2);
    expect(needed.map(([name]) => name)).toEqual(['size_noup']);
    expect(passed).toEqual(
      expect.arrayContaining(['info_json', 'region_percent', 'size_bwh', 'rot_mirror', 'quality_bitonal', 'cors']),
    );
    expect((await image('full/!2000,3000/0/default.jpg', id)).status).toBe(200);
  });

  describe('Presentation 3', () => {
    const manifestOf = async (id: string) => (await image('manifest.json', id, admin)).body as unknown as Record<string, Json[]>;

    it('has a canvas for an image, with its thumbnail', async () => {
      const manifest = await manifestOf(item);
      expect(manifest).toMatchObject({ type: 'Manifest', label: { none: ['squares.tif'] } });
      expect(manifest.items).toHaveLength(1);
      expect(manifest.items![0]).toMatchObject({ type: 'Canvas', width: 1000, height: 1000 });
      const [thumbnail] = manifest.thumbnail as unknown as { id: string; width: number; height: number }[];
      const answer = await fetch(thumbnail!.id);
      const { width, height } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
      expect([width, height]).toEqual([thumbnail!.width, thumbnail!.height]);
    });

    it.skipIf(omeSample === null)('has a canvas for each depth, with the channels as a choice', async () => {
      const id = await uploadItem(admin, folder, 'z.ome.tif', await readFile(omeSample!));
      const facts = (await admin.ok('GET', `/item/${id}/tiles`)) as Record<string, unknown>;
      const { IndexC, IndexZ } = facts.IndexRange as { IndexC: number; IndexZ: number };
      const manifest = await manifestOf(id);
      expect(manifest.items).toHaveLength(IndexZ);
      const bodies = (
        manifest.items as unknown as {
          items: { items: { body: { type: string; items: { service: { id: string }[] }[] } }[] }[];
        }[]
      ).map((canvas) => canvas.items[0]!.items[0]!.body);
      for (const body of bodies) {
        expect(body.type).toBe('Choice');
        expect(body.items).toHaveLength(IndexC);
        for (const { service } of body.items) {
          const answer = await fetch(`${service[0]!.id}/full/32,/0/default.jpg`);
          expect(answer.status).toBe(200);
        }
      }
    });

    it('lists the images of a folder, and the folders below it, that the caller can read', async () => {
      const below = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Below', public: true });
      await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Secret', public: false });
      const answer = await started.anonymous.send('GET', `/iiif/folder/${folder}/collection.json`);
      const { items } = answer.body as unknown as { items: { id: string; type: string; label: { none: string[] } }[] };
      const collections = items.filter(({ type }) => type === 'Collection');
      expect(collections.map(({ id }) => id)).toEqual([`${started.url}/api/v1/iiif/folder/${below}/collection.json`]);
      expect(items.map(({ label }) => label.none[0])).toEqual(expect.arrayContaining(['squares.tif', 'Below']));
      expect(JSON.stringify(items)).not.toContain('no image');
      const manifest = await started.anonymous.send('GET', `/iiif/folder/${folder}/manifest.json`);
      expect((manifest.body as unknown as { items: unknown[] }).items).toHaveLength(items.length - 1);
      expect((await started.anonymous.send('GET', '/iiif/folder/0123456789abcdef01234567/collection.json')).status).toBe(404);
    });

    it.skipIf(!canReadManifests)('is accepted by iiif-prezi3', async () => {
      const documents = [];
      const paths = [
        `${item}/manifest.json`,
        `${hidden}/manifest.json`,
        `folder/${folder}/collection.json`,
        `folder/${folder}/manifest.json`,
      ];
      for (const path of paths) documents.push((await admin.send('GET', `/iiif/${path}`)).body);
      const script = fileURLToPath(new URL('../../support/python/iiif_presentation_check.py', import.meta.url));
      const reading = run(python, ['-W', 'ignore', script]);
      reading.child.stdin!.end(JSON.stringify(documents));
      expect(JSON.parse((await reading).stdout)).toEqual(documents.map(() => null));
    });
  });
});
