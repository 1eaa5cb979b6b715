import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { until } from '../../support/run/until.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let started: TestHost;
let admin: Client;
let reader: Client;
beforeAll(async () => {
  started = await startHost();
  admin = await started.register('admin');
  reader = await started.register('reader');
});
afterAll(() => started.close());

/** A picture all of one color. */
function plainPicture(background: string, width = 80, height = 60): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}

const upload = (folder: string, name: string, bytes: Uint8Array) => uploadItem(admin, folder, name, bytes);
const subfolder = (parentId: string, name: string, isPublic = false): Promise<string> =>
  admin.create('/folder', { parentType: 'folder', parentId, name, public: isPublic });
const facts = (item: string, client = admin) => client.send('GET', `/item/${item}/tiles`);

/** The color of a tile's pixel. */
async function colorAt(item: string, { frame = 0, z = 0, at = 0 } = {}): Promise<number[]> {
  const { bytes } = await admin.send('GET', `/item/${item}/tiles/fzxy/${frame}/${z}/0/0`, { query: { encoding: 'PNG' } });
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  return Array.from(data.subarray(at * info.channels, at * info.channels + 3));
}

/** The job of a conversion, when it has ended. */
async function conversion(item: string, client: Client, folderId: string): Promise<Record<string, unknown>> {
  const query = { name: `copy of ${item}`, folderId, localJob: true };
  const { _id: id } = await client.ok('POST', `/item/${item}/tiles/convert`, { query });
  return until('the conversion has ended', async () => {
    const record = await client.ok('GET', `/job/${String(id)}`);
    return [3, 4, 5].includes(Number(record.status)) && record;
  });
}

/** The item of a converted copy. */
async function converted(item: string, folderId: string): Promise<string> {
  const job = await conversion(item, admin, folderId);
  expect(job.status, String(job.log)).toBe(3);
  const items = await admin.ok('GET', '/item', { query: { folderId } });
  return String((items as unknown as { _id: string }[])[0]?._id);
}

describe('an image that combines others', () => {
  const twoPlanes = Buffer.from('sources:\n  - {path: one.png, z: 0}\n  - {path: below/two.png, z: 1}\n');

  it('waits for them in any order, names missing ones, and is complete with the last', async () => {
    const folder = await newFolder(admin, 'Waiting');
    const item = await upload(folder, 'planes.yaml', twoPlanes);
    expect((await facts(item)).body).toMatchObject({
      message: 'No large image file in this item. It is waiting for files that belong to it: one.png, below/two.png.',
    });
    const tried = await admin.fails('POST', `/item/${item}/tiles`);
    expect(tried).toMatchObject({ status: 400, message: expect.stringContaining('are missing: one.png, below/two.png') });
    const below = await subfolder(folder, 'below');
    await upload(below, 'two.png', await plainPicture('#00ff00'));
    expect((await facts(item)).body.message).toMatch(/belong to it: one\.png\.$/);
    const firstSource = await upload(folder, 'one.png', await plainPicture('#ff0000'));
    expect((await facts(item)).body).toMatchObject({ sizeX: 80, IndexRange: { IndexZ: 2 } });
    expect([await colorAt(item), await colorAt(item, { frame: 1 })]).toEqual([
      [255, 0, 0],
      [0, 255, 0],
    ]);
    const copy = await converted(item, await newFolder(admin, 'Copies of planes'));
    expect([await colorAt(copy), await colorAt(copy, { frame: 1 })]).toEqual([
      [255, 0, 0],
      [0, 255, 0],
    ]);
    // The earlier files are still separate images.
    expect((await facts(firstSource)).body).toMatchObject({ sizeX: 80 });
  });

  it('shows the new contents of a file, and names it when it is missing', async () => {
    const folder = await newFolder(admin, 'Changing');
    const part = await upload(folder, 'part.png', await plainPicture('#ff0000'));
    const item = await upload(folder, 'whole.json', Buffer.from(JSON.stringify({ sources: [{ path: 'part.png' }] })));
    expect(await colorAt(item)).toEqual([255, 0, 0]);
    const [file] = await admin.ok('GET', `/item/${part}/files`);
    const fresh = await plainPicture('#0000ff');
    await admin.ok('PUT', `/file/${String((file as { _id: string })._id)}/contents`, {
      query: { size: fresh.length },
      body: fresh,
    });
    expect(await colorAt(item)).toEqual([0, 0, 255]);
    await admin.ok('DELETE', `/item/${part}`);
    expect((await facts(item)).body).toMatchObject({ message: expect.stringContaining('are missing: part.png') });
    await upload(folder, 'part.png', await plainPicture('#ffff00'));
    expect(await colorAt(item)).toEqual([255, 255, 0]);
  });

  it('is shown only to callers who can read all parts, even when tiles are cached', async () => {
    const folder = await newFolder(admin, 'Shared', true);
    const below = await subfolder(folder, 'below');
    await upload(folder, 'one.png', await plainPicture('#ff0000'));
    await upload(below, 'two.png', await plainPicture('#00ff00'));
    const item = await upload(folder, 'planes.yaml', twoPlanes);
    expect(await colorAt(item, { frame: 1 })).toEqual([0, 255, 0]);
    const routes = [
      '',
      '/zxy/0/0/0',
      '/thumbnail',
      '/region',
      '/histogram',
      '/pixel',
      '/internal_metadata',
      '/images',
      '/dzi.dzi',
      '/bands',
    ];
    await Promise.all(routes.map((route) => admin.ok('GET', `/item/${item}/tiles${route}`)));
    for (const route of routes) {
      const refused = await reader.fails('GET', `/item/${item}/tiles${route}`);
      expect(refused, route).toMatchObject({
        status: 403,
        type: 'access',
        message: expect.stringMatching(/^Read access denied for 1 of/),
      });
    }
    const refused = await conversion(
      item,
      reader,
      await reader.create('/folder', { parentType: 'user', parentId: String(reader.id), name: 'Own' }),
    );
    expect(refused).toMatchObject({
      status: 4,
      log: expect.arrayContaining([expect.stringContaining('Read access denied for 1 of')]),
    });
    // The item itself can be read, because it names nothing that is hidden.
    expect((await reader.send('GET', `/item/${item}`)).status).toBe(200);
    const grant = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${below}/access`, { query: { access: JSON.stringify(grant) } });
    expect((await facts(item, reader)).status).toBe(200);
    expect((await reader.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(200);
    await admin.ok('PUT', `/folder/${below}/access`, { query: { access: JSON.stringify({ users: [], groups: [] }) } });
    expect((await reader.send('GET', `/item/${item}/tiles/zxy/0/0/0`)).status).toBe(403);
  });

  it('reads neither itself nor files outside its folder', async () => {
    const folder = await newFolder(admin, 'Bounds');
    const other = await newFolder(admin, 'Other');
    await upload(other, 'secret.png', await plainPicture('#123456'));
    const paths = [
      '../Other/secret.png',
      '/etc/passwd',
      'girder://0123456789abcdef01234567',
      'girder://secret',
      'https://localhost/secret.png',
      'secret.png',
      'self.json',
    ];
    for (const path of paths) {
      const item = await upload(
        folder,
        path === 'self.json' ? path : 'multi.json',
        Buffer.from(JSON.stringify({ sources: [{ path }] })),
      );
      const { status, message } = await admin.fails('POST', `/item/${item}/tiles`);
      expect({ path, status }).toEqual({ path, status: 400 });
      expect(message).toMatch(/is not allowed|are missing|contains itself|is not an item with a large image/);
    }
  });

  it('combines items by id, for callers who can read them, and follows their changes', async () => {
    const hidden = await newFolder(admin, 'Hidden');
    const part = await upload(hidden, 'hidden part.png', await plainPicture('#123456'));
    const describing = (path: string) => Buffer.from(JSON.stringify({ sources: [{ path }] }));
    const open = await newFolder(admin, 'Open', true);
    const item = await upload(open, 'named.json', describing(`girder://${part}`));
    expect(await colorAt(item)).toEqual([0x12, 0x34, 0x56]);
    for (const route of ['', '/zxy/0/0/0', '/thumbnail', '/internal_metadata', '/pixel?left=1&top=1']) {
      const { status, message } = await reader.fails('GET', `/item/${item}/tiles${route}`);
      expect({ route, status, message }).toEqual({
        route,
        status: 403,
        message: expect.stringMatching(/^Read access denied for 1 of/),
      });
    }
    const combined = await upload(open, 'whole.json', describing(`girder://${item}`));
    expect(await colorAt(combined)).toEqual([0x12, 0x34, 0x56]);
    expect((await facts(combined, reader)).status).toBe(403);
    const grant = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${hidden}/access`, { query: { access: JSON.stringify(grant) } });
    await until('what may be read is seen', async () => (await facts(combined, reader)).status === 200);
    const replace = async (id: string, body: Buffer) => {
      const [file] = await admin.ok('GET', `/item/${id}/files`);
      const query = { size: body.length };
      await admin.ok('PUT', `/file/${String((file as { _id: string })._id)}/contents`, { query, body });
    };
    await replace(part, await plainPicture('#0000ff'));
    expect([await colorAt(item), await colorAt(combined)]).toEqual([
      [0, 0, 255],
      [0, 0, 255],
    ]);
    // Another hidden item becomes a part of the image.
    const other = await upload(await newFolder(admin, 'Hidden, too'), 'other.png', await plainPicture('#ff0000'));
    await replace(item, describing(`girder://${other}`));
    expect(await colorAt(combined)).toEqual([255, 0, 0]);
    await until('it is hidden', async () => (await facts(combined, reader)).status === 403);
    await replace(item, describing(`girder://${combined}`));
    const { message } = await admin.fails('GET', `/item/${combined}/tiles`);
    expect(message).toMatch(/is not an item with a large image|it cannot be read, or it contains this image/);
    const ownDescription = await upload(open, 'own.json', Buffer.from('{}'));
    await replace(ownDescription, describing(`girder://${ownDescription}`));
    expect((await admin.fails('POST', `/item/${ownDescription}/tiles`)).message).toMatch(
      /is not an item with a large image|consists of/,
    );
  });

  it('reveals nothing about an item that it names and that is not an image', async () => {
    const other = await newFolder(admin, 'Other items');
    const text = await upload(other, 'private name.txt', Buffer.from('nothing'));
    const item = await upload(
      await newFolder(admin, 'Naming'),
      'names.json',
      Buffer.from(JSON.stringify({ sources: [{ path: `girder://${text}` }] })),
    );
    const { message } = await admin.fails('POST', `/item/${item}/tiles`);
    expect(message).toContain(`The source girder://${text} is not an item with a large image.`);
    expect(message).not.toContain('private name');
  });

  it('reveals nothing about hidden files by becoming an image or not', async () => {
    const hidden = await newFolder(admin, 'Not theirs');
    const picture = await upload(hidden, 'picture.png', await plainPicture('#123456'));
    const text = await upload(hidden, 'text.txt', Buffer.from('nothing'));
    const shared = await newFolder(admin, 'Theirs, too', true);
    const grant = (id: string, level: number) => ({
      query: {
        access: JSON.stringify({
          users: [
            { id: admin.id, level: 2 },
            { id, level },
          ],
          groups: [],
        }),
      },
    });
    await admin.ok('PUT', `/folder/${shared}/access`, grant(reader.id!, 1));
    const below = await subfolder(shared, 'below');
    await admin.ok('PUT', `/folder/${below}/access`, {
      query: { access: JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] }), public: false },
    });
    await upload(below, 'secret.png', await plainPicture('#654321'));
    const outcome = async (source: object, count: number) => {
      const item = await uploadItem(reader, shared, `guess ${count}.json`, Buffer.from(JSON.stringify({ sources: [source] })));
      const { largeImage = null, largeImageRefused = null } = await reader.ok('GET', `/item/${item}`);
      const { status, body } = await reader.send('POST', `/item/${item}/tiles`);
      const response = JSON.stringify([largeImage, largeImageRefused, status, body?.message]);
      return response.replaceAll(/[0-9a-f]{24}/g, 'ID').replaceAll(/secret|guessed|guess \d+/g, 'NAME');
    };
    const huge = { position: { scale: 1e9 } };
    const ids = [picture, text, '0123456789abcdef01234567'];
    const byId = await Promise.all(ids.map((id, i) => outcome({ path: `girder://${id}`, ...huge }, i)));
    expect(new Set(byId).size, byId.join('\n')).toBe(1);
    const paths = ['below/secret.png', 'below/guessed.png'];
    const byPath = await Promise.all(paths.map((path, i) => outcome({ path, ...huge }, 10 + i)));
    expect(new Set(byPath).size, byPath.join('\n')).toBe(1);
    const patterns = ['^secret', '^guessed'];
    const byPattern = await Promise.all(patterns.map((pathPattern, i) => outcome({ path: 'below', pathPattern }, 20 + i)));
    expect(new Set(byPattern).size, byPattern.join('\n')).toBe(1);
    // The names are also hidden later, when the image can no longer be opened.
    const item = await upload(shared, 'named.json', Buffer.from(JSON.stringify({ sources: [{ path: `girder://${picture}` }] })));
    expect((await facts(item, reader)).status).toBe(403);
    await admin.ok('DELETE', `/item/${picture}/tiles`);
    await until('the image is gone', async () => (await facts(item)).status === 400);
    expect((await facts(item, reader)).body).toMatchObject({ message: expect.stringMatching(/^Read access denied for 1 of/) });
  });

  it('is not seen in a JSON file next to the picture of an item', async () => {
    const folder = await newFolder(admin, 'Beside');
    const item = await upload(folder, 'slide.png', await plainPicture('#ff0000'));
    const body = Buffer.from('{"scanner": "sources"}');
    await admin.ok('POST', '/file', {
      query: { parentType: 'item', parentId: item, name: 'notes.json', size: body.length },
      body,
    });
    expect((await facts(item)).body).toMatchObject({ sizeX: 80 });
    const later = await admin.create('/item', { folderId: folder, name: 'later' });
    await admin.ok('POST', '/file', {
      query: { parentType: 'item', parentId: later, name: 'notes.json', size: body.length },
      body,
    });
    const picture = await plainPicture('#00ff00');
    await admin.ok('POST', '/file', {
      query: { parentType: 'item', parentId: later, name: 'a.png', size: picture.length },
      body: picture,
    });
    expect((await facts(later)).body).toMatchObject({ sizeX: 80 });
  });
});

describe('an image that is a folder', () => {
  const dzi =
    '<?xml version="1.0"?><Image xmlns="http://schemas.microsoft.com/deepzoom/2008" Format="png" Overlap="0" TileSize="64">' +
    '<Size Width="100" Height="60"/></Image>';

  it('becomes a Deep Zoom image when its tiles have arrived', async () => {
    const folder = await newFolder(admin, 'Deep Zoom');
    const item = await upload(folder, 'slide.dzi', Buffer.from(dzi));
    expect((await facts(item)).body.message).toMatch(/belong to it: slide_files\/7\/0_0\.png\.$/);
    const level = await subfolder(await subfolder(folder, 'slide_files'), '7');
    await upload(level, '1_0.png', await plainPicture('#0000ff', 36, 60));
    await upload(level, '0_0.png', await plainPicture('#ff0000', 64, 60));
    expect((await facts(item)).body).toMatchObject({ sizeX: 100, sizeY: 60, levels: 2 });
    expect(await colorAt(item, { z: 1 })).toEqual([255, 0, 0]);
    expect((await admin.ok('GET', `/item/${item}`)).largeImage).toMatchObject({ sourceName: 'deepzoom' });
  });

  it('becomes an OME-Zarr when its arrays have arrived, in any order of its folders', async () => {
    const attributes = {
      multiscales: [
        {
          axes: [
            { name: 'y', type: 'space' },
            { name: 'x', type: 'space' },
          ],
          datasets: [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: [1, 1] }] }],
          version: '0.4',
        },
      ],
    };
    const array = {
      zarr_format: 2,
      shape: [64, 128],
      chunks: [64, 64],
      dtype: '|u1',
      compressor: null,
      fill_value: 7,
      filters: null,
      order: 'C',
      dimension_separator: '.',
    };
    const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
    const zarr = await subfolder(await newFolder(admin, 'Zarr'), 'image.zarr');
    const below = await subfolder(zarr, '0');
    await upload(below, '0.0', new Uint8Array(64 * 64).fill(90));
    const item = await upload(zarr, '.zattrs', json(attributes));
    expect((await facts(item)).body.message).toMatch(/belong to it: 0\/\.zarray\.$/);
    await upload(zarr, '.zgroup', json({ zarr_format: 2 }));
    await upload(below, '.zarray', json(array));
    expect((await facts(item)).body).toMatchObject({ sizeX: 128, sizeY: 64, dtype: 'uint8' });
    expect((await colorAt(item, { at: 5 }))[0]).toBe(90);
    const pixel = (left: number) => admin.ok('GET', `/item/${item}/tiles/pixel`, { query: { left, top: 3 } });
    expect(await pixel(70)).toMatchObject({ value: [7] });
    await upload(below, '0.1', new Uint8Array(64 * 64).fill(33));
    expect(await pixel(70)).toMatchObject({ value: [33] });

    // The same files in one item, with their paths from the folder as names.
    const single = await admin.create('/item', { folderId: await newFolder(admin, 'One item'), name: 'image.zarr' });
    const part = (name: string, body: Uint8Array) =>
      admin.ok('POST', '/file', { query: { parentType: 'item', parentId: single, name, size: body.length }, body });
    await part('0/0.0', new Uint8Array(64 * 64).fill(44));
    await part('.zattrs', json(attributes));
    await part('0/.zarray', json(array));
    expect((await facts(single)).body).toMatchObject({ sizeX: 128, sizeY: 64 });
    expect(await admin.ok('GET', `/item/${single}/tiles/pixel`, { query: { left: 3, top: 3 } })).toMatchObject({ value: [44] });
  });

  it('is shown only to callers who can read its folders', async () => {
    const folder = await newFolder(admin, 'Hidden tiles', true);
    const files = await subfolder(folder, 'slide_files', true);
    const level = await subfolder(files, '7');
    await upload(level, '0_0.png', await plainPicture('#ff0000', 64, 60));
    await upload(level, '1_0.png', await plainPicture('#ff0000', 36, 60));
    const item = await upload(folder, 'slide.dzi', Buffer.from(dzi));
    expect((await facts(item)).status).toBe(200);
    expect((await facts(item, reader)).status).toBe(403);
    const combined = await upload(folder, 'whole.json', Buffer.from('{"sources": [{"path": "slide.dzi"}]}'));
    expect((await facts(combined)).status).toBe(200);
    expect((await facts(combined, reader)).status).toBe(403);
  });
});

describe('a slide of several files', () => {
  it('waits for the files that it names, in folders or in one item, and is not mistaken for anything else', async () => {
    const folder = await newFolder(admin, 'Slide');
    const mirax = await upload(folder, 'scan.mrxs', Buffer.from('not looked at'));
    expect((await facts(mirax)).body.message).toMatch(/belong to it: scan\/Slidedat\.ini\.$/);
    const below = await subfolder(folder, 'scan');
    await upload(below, 'Slidedat.ini', Buffer.from('INDEXFILE=Index.dat\nFILE_COUNT=1\nFILE_0=Data.dat\n'));
    expect((await facts(mirax)).body.message).toMatch(/belong to it: scan\/Index\.dat, scan\/Data\.dat\.$/);
    await upload(below, 'Data.dat', Buffer.from('x'));
    expect((await facts(mirax)).body.message).toMatch(/belong to it: scan\/Index\.dat\.$/);

    const item = await admin.create('/item', { folderId: folder, name: 'slide' });
    const part = (name: string, body: Uint8Array) =>
      admin.ok('POST', '/file', { query: { parentType: 'item', parentId: item, name, size: body.length }, body });
    await part('slide.vms', Buffer.from('ImageFile=a.png\nMapFile=map.png\n'));
    await part('a.png', await plainPicture('#ff0000'));
    expect((await facts(item)).body.message).toMatch(/belong to it: map\.png\.$/);
    expect((await admin.ok('GET', `/item/${item}`)).largeImage).toBeUndefined();
  });

  it('waits for the files that it names even if a picture came first and was taken for the image', async () => {
    const item = await admin.create('/item', { folderId: await newFolder(admin, 'Picture first'), name: 'slide' });
    const part = (name: string, body: Uint8Array) =>
      admin.ok('POST', '/file', { query: { parentType: 'item', parentId: item, name, size: body.length }, body });
    await part('a.png', await plainPicture('#ff0000'));
    expect((await facts(item)).body).toMatchObject({ sizeX: 80 });
    await part('slide.vms', Buffer.from('ImageFile=a.png\nMapFile=map.png\n'));
    expect((await facts(item)).body.message).toMatch(/belong to it: map\.png\.$/);
    expect((await admin.ok('GET', `/item/${item}`)).largeImage).toBeUndefined();
  });
});
