import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostEventPayloads } from '../../../src/index.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const minimumChunk = 64 * 1024;
let server: TestHost;
let admin: Client;
let user: Client;
let folder: string;
let item: string;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true, settings: { 'core.upload_minimum_chunk_size': minimumChunk } });
  admin = await server.register('admin');
  user = await server.register('user');
  const collection = await admin.create('/collection', { name: 'Coll', public: true });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
  item = await admin.create('/item', { folderId: folder, name: 'item' });
});
afterAll(() => server.close());

/** Files in the data directory: unfinished uploads, and stored files. */
async function onDisk() {
  const list = async (name: string) =>
    (await readdir(join(server.dataDirectory, name), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
      .length;
  return { uploads: await list('uploads'), files: await list('files') };
}

/** Handles that this process has open below the data directory. */
async function openHandles(): Promise<number> {
  const { readlink } = await import('node:fs/promises');
  const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return links.filter((link) => link.startsWith(server.dataDirectory)).length;
}

const start = (name: string, size: number, more: Record<string, string | number> = {}) =>
  admin.ok('POST', '/file', { query: { parentType: 'folder', parentId: folder, name, size, ...more } });
const chunk = (uploadId: unknown, offset: number, body: Uint8Array, client = admin) =>
  client.send('POST', '/file/chunk', { query: { uploadId: String(uploadId), offset }, body });
const download = async (fileId: unknown) => (await admin.send('GET', `/file/${String(fileId)}/download`)).bytes;
const children = async (name: string) => admin.ok('GET', '/item', { query: { folderId: folder, name } });

describe('POST file with a body', () => {
  it.each([
    ['slide.TIF', undefined, 'image/tiff'],
    ['a.b.png', 'application/octet-stream', 'image/png'],
    ['settings.yml', '', 'text/yaml'],
    ['shapes.geojson', undefined, 'application/vnd.geo+json'],
    ['notes.txt', 'text/x-own', 'text/x-own'],
    ['slide.svs', undefined, 'application/octet-stream'],
    ['png', undefined, 'application/octet-stream'],
    ['x.constructor', undefined, 'application/octet-stream'],
  ])('stores %s, sent as %s, with the type %s', async (name, mimeType, expected) => {
    const query = { parentType: 'item', parentId: item, name, size: 1, ...(mimeType !== undefined && { mimeType }) };
    const file = await admin.ok('POST', '/file', { query, body: randomBytes(1) });
    expect(file.mimeType).toBe(expected);
    await admin.ok('DELETE', `/file/${String(file._id)}`);
  });

  it('creates item and file in one request', async () => {
    const body = randomBytes(300_000);
    const file = await admin.ok('POST', '/file', {
      query: { parentType: 'folder', parentId: folder, name: 'one.tar.GZ', size: body.length, mimeType: 'application/gzip' },
      body,
    });
    expect(file).toMatchObject({
      name: 'one.tar.GZ',
      size: 300_000,
      exts: ['tar', 'gz'],
      mimeType: 'application/gzip',
      _modelType: 'file',
    });
    expect(Object.keys(file).sort()).toEqual(
      ['_id', '_modelType', 'assetstoreId', 'created', 'creatorId', 'exts', 'itemId', 'mimeType', 'name', 'size'].sort(),
    );
    expect(await admin.ok('GET', `/item/${String(file.itemId)}`)).toMatchObject({
      name: 'one.tar.GZ',
      size: 300_000,
      folderId: folder,
    });
    expect((await download(file._id)).equals(body)).toBe(true);
    expect(await server.anonymous.ok('GET', `/file/${String(file._id)}`)).not.toHaveProperty('assetstoreId');
  });

  it('creates an empty file at once', async () => {
    const file = await start('empty', 0);
    expect(file).toMatchObject({ _modelType: 'file', size: 0 });
    const answer = await admin.send('GET', `/file/${String(file._id)}/download`);
    expect([answer.status, answer.bytes.length, answer.headers.get('content-length')]).toEqual([200, 0, '0']);
  });

  it('continues in chunks when the body was incomplete', async () => {
    const body = randomBytes(minimumChunk * 2);
    const query = { parentType: 'folder', parentId: folder, name: 'half', size: body.length };
    const upload = await admin.ok('POST', '/file', { query, body: body.subarray(0, minimumChunk) });
    expect(upload).toMatchObject({ received: minimumChunk, size: body.length });
    const { body: file } = await chunk(upload._id, minimumChunk, body.subarray(minimumChunk));
    expect((await download(file._id)).equals(body)).toBe(true);
  });

  it('leaves nothing when the body is too long', async () => {
    const before = await onDisk();
    const query = { parentType: 'folder', parentId: folder, name: 'long', size: 5 };
    const failure = { status: 400, type: 'validation', message: 'Received too many bytes.' };
    expect(await admin.fails('POST', '/file', { query, body: '123456' })).toMatchObject(failure);
    // Without a declared length, this is noticed while the body arrives.
    const stream = Readable.toWeb(Readable.from([Buffer.from('123'), Buffer.from('456')]));
    const address = new URL(`${server.url}/api/v1/file?${new URLSearchParams({ ...query, size: '5' }).toString()}`);
    const init = { method: 'POST', headers: { 'Girder-Token': admin.token! }, body: stream, duplex: 'half' };
    const answer = await fetch(address, init as unknown as RequestInit);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { type: 'validation', message: 'Received too many bytes.' },
    ]);
    expect(await onDisk()).toEqual(before);
    expect(await server.host.context.models.upload.countDocuments({ name: 'long' })).toBe(0);
    expect(await children('long')).toEqual([]);
  });

  it('leaves no handle, file or record when the connection breaks halfway', async () => {
    const before = await onDisk();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const query = new URLSearchParams({ parentType: 'folder', parentId: folder, name: 'broken', size: '1000000' });
    socket.write(
      `POST /api/v1/file?${query.toString()} HTTP/1.1\r\nHost: x\r\nGirder-Token: ${admin.token}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    socket.write(randomBytes(400_000));
    await until('bytes have arrived', async () => (await onDisk()).uploads > before.uploads);
    socket.destroy();
    const { upload } = server.host.context.models;
    await until('the upload is gone', async () => (await upload.countDocuments({ name: 'broken' })) === 0);
    await until('its bytes are gone', async () => (await onDisk()).uploads === before.uploads);
    expect(await onDisk()).toEqual(before);
    expect(await openHandles()).toBe(0);
    expect(await children('broken')).toEqual([]);
  });

  it('accepts links, but only to http and https', async () => {
    const query = { parentType: 'item', parentId: item, name: 'link', linkUrl: 'https://example.org/a b' };
    const link = await admin.ok('POST', '/file', { query });
    expect(link).toMatchObject({ linkUrl: 'https://example.org/a%20b', _modelType: 'file' });
    expect(link).not.toHaveProperty('size');
    const answer = await admin.send('GET', `/file/${String(link._id)}/download`);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, 'https://example.org/a%20b']);
    expect(await admin.fails('POST', '/file', { query: { ...query, linkUrl: 'file:///etc/passwd' } })).toMatchObject({
      status: 400,
      type: 'validation',
      field: 'linkUrl',
      message: 'Linked file URL must start with http: or https:.',
    });
  });

  it('needs a size, a name, an existing parent and the right to write', async () => {
    const query = { parentType: 'folder', parentId: folder, name: 'n' };
    expect(await admin.fails('POST', '/file', { query })).toMatchObject({
      status: 400,
      type: 'rest',
      message: 'Parameter "size" is required.',
    });
    expect(await admin.fails('POST', '/file', { query: { ...query, size: 'x' } })).toMatchObject({
      message: 'Invalid value for integer parameter size: x.',
    });
    expect(await admin.fails('POST', '/file', { query: { ...query, size: -1 } })).toMatchObject({ status: 400 });
    expect(await admin.fails('POST', '/file', { query: { ...query, name: ' ', size: 1 } })).toMatchObject({
      status: 400,
      field: 'name',
    });
    const id = '0'.repeat(24);
    expect(await admin.fails('POST', '/file', { query: { ...query, parentId: id, size: 1 } })).toMatchObject({
      status: 400,
      type: 'validation',
      message: `No such folder: ${id}`,
    });
    expect(await user.fails('POST', '/file', { query: { ...query, size: 1 } })).toMatchObject({
      status: 403,
      type: 'access',
      message: `Write access denied for folder ${folder} (user ${user.id}).`,
    });
    expect(await server.anonymous.fails('POST', '/file', { query: { ...query, size: 1 } })).toMatchObject({ status: 401 });
  });

  it('accepts any text as a name', async () => {
    const before = await onDisk();
    for (const name of ['../../../escape', '/etc/passwd', 'C:\\x', '.', 'a\0b', 'ü"x\\y\r\nSet-Cookie: a=b.txt']) {
      const file = await admin.ok('POST', '/file', {
        query: { parentType: 'folder', parentId: folder, name, size: 3 },
        body: 'abc',
      });
      expect(file.name).toBe(name);
      const answer = await admin.send('GET', `/file/${String(file._id)}/download`);
      expect(answer.bytes.toString()).toBe('abc');
      expect(answer.headers.get('set-cookie')).toBe(null);
    }
    expect((await onDisk()).files).toBe(before.files + 6);
  });
});

describe('POST file/chunk', () => {
  it('completes an upload chunk by chunk', async () => {
    const body = randomBytes(minimumChunk * 2 + 1);
    const upload = await start('chunks', body.length);
    expect(upload).toMatchObject({
      name: 'chunks',
      size: body.length,
      received: 0,
      parentType: 'folder',
      parentId: folder,
      userId: admin.id,
    });
    const first = await chunk(upload._id, 0, body.subarray(0, minimumChunk));
    expect(first.body).toMatchObject({ _id: upload._id, received: minimumChunk });
    expect(first.body).not.toHaveProperty('writer');
    await chunk(upload._id, minimumChunk, body.subarray(minimumChunk, 2 * minimumChunk));
    const { body: file } = await chunk(upload._id, 2 * minimumChunk, body.subarray(2 * minimumChunk));
    expect(file).toMatchObject({ _modelType: 'file', size: body.length });
    expect((await download(file._id)).equals(body)).toBe(true);
    const id = String(upload._id);
    expect((await chunk(id, 0, body)).body).toMatchObject({ type: 'rest', message: `Invalid upload id (${id}).` });
  });

  it('refuses wrong offsets, too many bytes, short chunks, strangers and forms', async () => {
    const size = minimumChunk * 3;
    const upload = await start('refusals', size);
    const status400 = async (offset: number, length: number) => {
      const { status, body } = await chunk(upload._id, offset, Buffer.alloc(length));
      expect(status).toBe(400);
      return body;
    };
    expect(await status400(3, 10)).toMatchObject({
      type: 'rest',
      message: 'Server has received 0 bytes, but client sent offset 3.',
    });
    expect(await status400(0, size + 1)).toMatchObject({ type: 'validation', message: 'Received too many bytes.' });
    expect(await status400(0, 10)).toMatchObject({ type: 'validation', message: 'Chunk is smaller than the minimum size.' });
    const stranger = await chunk(upload._id, 0, Buffer.alloc(size), user);
    expect([stranger.status, stranger.body]).toMatchObject([
      403,
      { type: 'access', message: 'You did not initiate this upload.' },
    ]);
    const form = new FormData();
    form.append('chunk', new Blob(['abc']));
    const address = `${server.url}/api/v1/file/chunk?uploadId=${String(upload._id)}&offset=0`;
    const answer = await fetch(address, { method: 'POST', body: form, headers: { 'Girder-Token': admin.token! } });
    expect(await answer.json()).toMatchObject({
      type: 'rest',
      message: expect.stringMatching(/^Multipart encoding is no longer supported\./),
    });
    expect(await admin.ok('GET', '/file/offset', { query: { uploadId: String(upload._id) } })).toEqual({ offset: 0 });
    expect(await admin.fails('POST', '/file/completion', { query: { uploadId: String(upload._id) } })).toMatchObject({
      status: 400,
      type: 'rest',
      message: `Server has only received 0 bytes, but the file should be ${size} bytes.`,
    });
    await admin
      .ok('DELETE', `/file/upload/${String(upload._id)}`)
      .then((body) => expect(body).toEqual({ message: 'Upload canceled.' }));
    expect(await admin.fails('GET', '/file/offset', { query: { uploadId: String(upload._id) } })).toMatchObject({ status: 400 });
  });

  it('can be resumed after a broken connection ended it', async () => {
    const body = randomBytes(1_000_000);
    const upload = await start('resumed', body.length);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /api/v1/file/chunk?uploadId=${String(upload._id)}&offset=0 HTTP/1.1\r\nHost: x\r\nGirder-Token: ${admin.token}\r\nContent-Length: 1000000\r\n\r\n`,
    );
    socket.write(body.subarray(0, 300_000));
    const { models, store } = server.host.context;
    const { stat } = await import('node:fs/promises');
    const path = join(store.root, 'uploads', String(upload._id));
    await until('all of it has arrived', async () => (await stat(path)).size === 300_000);
    socket.destroy();
    await until('the offset is that of the bytes', async () => {
      const { offset } = await admin.ok('GET', '/file/offset', { query: { uploadId: String(upload._id) } });
      return Number(offset) === 300_000;
    });
    expect(await openHandles()).toBe(0);
    const { body: file } = await chunk(upload._id, 300_000, body.subarray(300_000));
    expect((await download(file._id)).equals(body)).toBe(true);
    expect(await models.upload.exists({ _id: String(upload._id) })).toBe(null);
  });

  it('lets one of two writers win, and the bytes are those of one of them', async () => {
    const upload = await start('two', minimumChunk);
    const bodies = [Buffer.alloc(minimumChunk, 1), Buffer.alloc(minimumChunk, 2)];
    const answers = await Promise.all(bodies.map((body) => chunk(upload._id, 0, body)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    const file = answers.find(({ status }) => status === 200)!.body;
    const bytes = await download(file._id);
    expect(bodies.some((body) => body.equals(bytes))).toBe(true);
    expect(await children('two')).toHaveLength(1);
  });

  it('gives uploads with the same name items with different names', async () => {
    const query = { parentType: 'folder', parentId: folder, name: 'same.bin', size: 1 };
    await Promise.all([1, 2, 3].map(() => admin.ok('POST', '/file', { query, body: 'x' })));
    const list = await admin.ok('GET', '/item', { query: { folderId: folder, text: 'same' } });
    expect(list.map((entry) => (entry as { name: string }).name)).toEqual(['same.bin', 'same.bin (1)', 'same.bin (2)']);
  });
});

describe('PUT file/:id/contents', () => {
  it('replaces the bytes of a file once the new ones are complete', async () => {
    const target = await admin.create('/item', { folderId: folder, name: 'contents' });
    const item = await admin.ok('GET', `/item/${target}`);
    const query = { parentType: 'item', parentId: target, name: 'c.txt', size: 3 };
    const file = await admin.ok('POST', '/file', { query, body: 'old' });
    const before = await onDisk();
    const upload = await admin.ok('PUT', `/file/${String(file._id)}/contents`, { query: { size: 5 } });
    expect(upload).toMatchObject({ fileId: file._id, size: 5, received: 0 });
    expect((await download(file._id)).toString()).toBe('old');
    const { body } = await chunk(upload._id, 0, Buffer.from('newer'));
    expect(body).toMatchObject({ _id: file._id, size: 5 });
    expect((await download(file._id)).toString()).toBe('newer');
    expect((await admin.ok('GET', `/item/${target}`)).updated).not.toBe(item.updated);
    expect(await onDisk()).toEqual(before);
    expect(await admin.ok('GET', `/item/${target}`)).toMatchObject({ size: 5 });
    expect(await admin.ok('PUT', `/file/${String(file._id)}/contents`, { query: { size: 0 } })).toMatchObject({
      _id: file._id,
      size: 0,
    });
    expect(await admin.ok('GET', `/item/${target}`)).toMatchObject({ size: 0 });
  });
});

describe('removal', () => {
  it('removes bytes, records and unfinished uploads with the item', async () => {
    const before = await onDisk();
    const target = await admin.create('/item', { folderId: folder, name: 'doomed' });
    const query = { parentType: 'item', parentId: target, name: 'f', size: 3 };
    await admin.ok('POST', '/file', { query, body: 'abc' });
    const upload = await admin.ok('POST', '/file', { query: { ...query, size: minimumChunk * 2 } });
    await chunk(upload._id, 0, Buffer.alloc(minimumChunk));
    expect(await onDisk()).toEqual({ uploads: before.uploads + 1, files: before.files + 1 });
    await admin.ok('DELETE', `/item/${target}`);
    expect(await onDisk()).toEqual(before);
    expect(await admin.fails('GET', '/file/offset', { query: { uploadId: String(upload._id) } })).toMatchObject({ status: 400 });
  });

  it('removes attached files with the item, through the contract of hosts', async () => {
    const target = await admin.create('/item', { folderId: folder, name: 'attached' });
    const before = await onDisk();
    const { files } = server.host.host;
    const attached = { name: 'thumb', mimeType: 'image/jpeg', size: 3, parent: { type: 'attached' as const, itemId: target } };
    const record = await files.create(attached, Readable.from([Buffer.from('abc')]));
    expect(record).toMatchObject({ itemId: null, attachedToType: 'item', size: 3 });
    expect(await admin.ok('GET', `/item/${target}/files`)).toEqual([]);
    expect(await admin.ok('GET', `/item/${target}`)).toMatchObject({ size: 0 });
    const broken = async function* () {
      yield Buffer.from('a');
      throw new Error('broken on purpose');
    };
    await expect(files.create(attached, Readable.from(broken()))).rejects.toThrow('broken on purpose');
    await expect(files.create(attached, Readable.from([Buffer.from('ab')]))).rejects.toThrow('should have 3 bytes');
    expect(await onDisk()).toEqual({ ...before, files: before.files + 1 });
    await admin.ok('DELETE', `/item/${target}`);
    expect(await onDisk()).toEqual(before);
  });

  it('keeps bytes that a copy shares until the last of them is removed', async () => {
    const before = await onDisk();
    const query = { parentType: 'folder', parentId: folder, name: 'shared', size: 3 };
    const file = await admin.ok('POST', '/file', { query, body: 'abc' });
    const copy = await admin.ok('POST', `/item/${String(file.itemId)}/copy`);
    expect(copy).toMatchObject({ name: 'shared (1)', copyOfItem: file.itemId, size: 3 });
    const [copied] = await admin.ok('GET', `/item/${String(copy._id)}/files`);
    expect(await onDisk()).toEqual({ ...before, files: before.files + 1 });
    await admin.ok('DELETE', `/item/${String(file.itemId)}`);
    expect((await download((copied as { _id: string })._id)).toString()).toBe('abc');
    await admin.ok('DELETE', `/file/${(copied as { _id: string })._id}`).then((body) => expect(body).toBe(null));
    expect(await onDisk()).toEqual(before);
    expect(await admin.ok('GET', `/item/${String(copy._id)}`)).toMatchObject({ size: 0 });
  });

  it('discards abandoned uploads', async () => {
    const { discardStaleUploads } = await import('../../../src/reference-host/uploads/upload-removal.js');
    const before = await onDisk();
    const upload = await start('stale', minimumChunk * 2);
    await chunk(upload._id, 0, Buffer.alloc(minimumChunk));
    await discardStaleUploads(server.host.context, new Date(Date.now() - 60_000));
    expect((await onDisk()).uploads).toBe(before.uploads + 1);
    await discardStaleUploads(server.host.context, new Date(Date.now() + 60_000));
    expect((await onDisk()).uploads).toBe(0);
  });
});

describe('sizes', () => {
  it('are those of the files, up to the root', async () => {
    const collection = await admin.create('/collection', { name: 'Sizes' });
    const outer = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'outer' });
    const inner = await admin.create('/folder', { parentId: outer, name: 'inner' });
    const sizes = async () =>
      Promise.all(
        [`/collection/${collection}`, `/folder/${outer}`, `/folder/${inner}`].map(
          async (path) => (await admin.ok('GET', path)).size,
        ),
      );
    const put = (parentId: string, body: string) =>
      admin.ok('POST', '/file', { query: { parentType: 'folder', parentId, name: 'f', size: body.length }, body });
    await put(outer, '12345');
    const file = await put(inner, '123');
    expect(await sizes()).toEqual([8, 5, 3]);
    await admin.ok('PUT', `/item/${String(file.itemId)}`, { query: { folderId: outer } });
    expect(await sizes()).toEqual([8, 8, 0]);
    await admin.ok('POST', `/folder/${outer}/copy`, { query: { parentType: 'folder', parentId: inner } });
    expect(await sizes()).toEqual([16, 8, 0]);
    await admin.ok('DELETE', `/folder/${inner}`);
    expect((await admin.ok('GET', `/collection/${collection}`)).size).toBe(8);
  });
});

describe('events', () => {
  it('report files and the reference of an upload', async () => {
    const { events } = server.host.context;
    const emitted: [string, unknown][] = [];
    const offs = [
      events.on('file.saved', ({ file, created }) => void emitted.push(['file.saved', [file.name, created]])),
      events.on('upload.finished', ({ reference, caller }: HostEventPayloads['upload.finished']) => {
        emitted.push(['upload.finished', [reference, caller?.id]]);
        throw new Error('A listener that fails must not fail the upload.');
      }),
      events.on('files.removed', ({ files }) => void emitted.push(['files.removed', files.map(({ name }) => name)])),
      events.on('items.removed', ({ items }) => void emitted.push(['items.removed', items.map(({ name }) => name)])),
    ];
    const reference = '{"identifier":"LargeImageAnnotationUpload","itemId":"x"}';
    const query = { parentType: 'folder', parentId: folder, name: 'heard', size: 1, reference };
    const file = await admin.ok('POST', '/file', { query, body: 'x' });
    await admin.ok('PUT', `/file/${String(file._id)}`, { query: { name: 'New.tar.GZ' } }).then((body) => {
      expect(body).toMatchObject({ name: 'New.tar.GZ', exts: ['tar', 'gz'], updated: expect.any(String) });
    });
    await admin.ok('DELETE', `/item/${String(file.itemId)}`);
    for (const off of offs) off();
    expect(emitted).toEqual([
      ['file.saved', ['heard', true]],
      ['upload.finished', [reference, admin.id]],
      ['file.saved', ['New.tar.GZ', false]],
      ['files.removed', ['New.tar.GZ']],
      ['items.removed', ['heard']],
    ]);
  });
});

describe('unfinished uploads', () => {
  it('are listed and discarded by administrators', async () => {
    const upload = await start('partial', 10);
    expect(await user.fails('GET', '/system/uploads')).toMatchObject({ status: 403, message: 'Administrator access required.' });
    const query = { uploadId: String(upload._id) };
    expect(await admin.ok('GET', '/system/uploads', { query })).toMatchObject([{ _id: upload._id, name: 'partial' }]);
    expect(await admin.ok('DELETE', '/system/uploads', { query })).toMatchObject([{ _id: upload._id }]);
    expect(await admin.ok('GET', '/system/uploads', { query })).toEqual([]);
    expect(await admin.fails('DELETE', '/system/uploads', { query: { minimumAge: '1e21' } })).toMatchObject({ status: 400 });
  });
});
