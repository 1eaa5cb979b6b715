import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createContentDisposition } from '../../../src/reference-host/files/downloads.js';
import type { FileDocument } from '../../../src/reference-host/files/file.model.js';
import { listFolderEntries, replyWithZip, type ZipEntry } from '../../../src/reference-host/files/zip.js';
import { loadPrincipal } from '../../../src/reference-host/access/access.js';
import type { FolderDocument } from '../../../src/reference-host/tree/folder.model.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

let server: TestHost;
let admin: Client;
let folder: string;
let file: string;
let item: string;

const upload = async (parentId: string, name: string, body: string | Uint8Array, mimeType = 'text/plain') =>
  admin.ok('POST', '/file', { query: { parentType: 'folder', parentId, name, size: body.length, mimeType }, body });

/** A function that tells whether this process holds the bytes of a file open. */
const makeOpenCheck = (file: Record<string, unknown>) => async () => {
  const path = server.host.context.store.pathOf(String(file._id));
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(links)).includes(path);
};

beforeAll(async () => {
  server = await startHost();
  admin = await server.register('admin');
  const collection = await admin.create('/collection', { name: 'Coll', public: true });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
  const uploaded = await upload(folder, 'x.TXT', '0123');
  [file, item] = [String(uploaded._id), String(uploaded.itemId)];
});
afterAll(() => server.close());

describe('GET file/:id/download', () => {
  const get = (headers: Record<string, string> = {}, query = {}) =>
    admin.send('GET', `/file/${file}/download`, { headers, query });

  it('sends the whole file', async () => {
    const { status, headers, bytes } = await get();
    expect([status, bytes.toString()]).toEqual([200, '0123']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'content-type': 'text/plain;charset=utf-8',
      'content-length': '4',
      'content-disposition': 'attachment; filename="x.TXT"',
    });
  });

  it.each([
    ['bytes=1-2', 206, '12', 'bytes 1-2/4'],
    ['bytes=1-', 206, '123', 'bytes 1-3/4'],
    ['bytes=-2', 206, '23', 'bytes 2-3/4'],
    ['bytes=-9', 206, '0123', 'bytes 0-3/4'],
    ['bytes=0-99', 206, '0123', 'bytes 0-3/4'],
    ['bytes=0-0,2-3', 206, '0', 'bytes 0-0/4'],
    ['bytes=100-', 416, null, 'bytes */4'],
    ['bytes=4-', 416, null, 'bytes */4'],
    ['bytes=-0', 416, null, 'bytes */4'],
    ['bytes=2-1', 200, '0123', null],
    ['bytes=a-b', 200, '0123', null],
    ['items=1-2', 200, '0123', null],
    ['bytes=9-,1-2', 206, '12', 'bytes 1-2/4'],
  ])('answers the range %s with %d', async (range, status, text, contentRange) => {
    const answer = await get({ Range: range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([status, contentRange]);
    if (text !== null) expect(answer.bytes.toString()).toBe(text);
  });

  it('takes offset and endByte, which a Range header overrides', async () => {
    const part = await get({}, { offset: 1, endByte: 3 });
    expect([part.status, part.bytes.toString(), part.headers.get('content-range')]).toEqual([206, '12', 'bytes 1-2/4']);
    expect((await get({ Range: 'bytes=0-0' }, { offset: 1 })).bytes.toString()).toBe('0');
    expect((await get({}, { offset: 9 })).status).toBe(416);
    expect((await get({}, { endByte: 99 })).status).toBe(200);
  });

  it.each([
    { offset: 3, endByte: 1 },
    { offset: 2, endByte: 2 },
    { offset: 0, endByte: 0 },
    { offset: 4, endByte: 9 },
  ])('answers 416 when offset and endByte hold no byte: %o', async (query) => {
    const answer = await get({}, query);
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */4']);
  });

  it('answers HEAD like GET, without the bytes', async () => {
    const answer = await admin.send('HEAD', `/file/${file}/download`);
    expect([answer.status, answer.bytes.length, answer.headers.get('content-length')]).toEqual([200, 0, '4']);
  });

  it('is shown in the browser on request, where it may run nothing', async () => {
    const { headers } = await get({}, { contentDisposition: 'inline' });
    expect(headers.get('content-disposition')).toMatch(/^inline;/);
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect((await get({}, { contentDisposition: 'x' })).body).toMatchObject({
      message: 'Invalid value for contentDisposition: "x". Allowed values: inline, attachment.',
    });
  });

  it('accepts the token from the cookie, and any name after the path', async () => {
    const secret = await admin.create('/collection', { name: 'Secret' });
    const hidden = await admin.create('/folder', { parentType: 'collection', parentId: secret, name: 'hidden' });
    const { _id } = await upload(hidden, 'ü.bin', 'abc', 'not a type\r\nX: y');
    const path = `/file/${String(_id)}/download/any%2Fname`;
    expect((await server.anonymous.send('GET', path)).status).toBe(401);
    const answer = await server.anonymous.send('GET', path, { headers: { Cookie: `girderToken=${admin.token}` } });
    expect([answer.status, answer.bytes.toString()]).toEqual([200, 'abc']);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="?.bin"; filename*=UTF-8''%C3%BC.bin`);
  });

  it('reports missing bytes', async () => {
    const file = await upload(folder, 'gone', 'abc');
    await rm(server.host.context.store.pathOf(String(file._id)));
    expect(await admin.fails('GET', `/file/${String(file._id)}/download`)).toMatchObject({ status: 404, type: 'rest' });
  });

  it('closes the file when the client disconnects halfway', async () => {
    const file = await upload(folder, 'big', Buffer.alloc(32 * 1024 * 1024), 'application/octet-stream');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /api/v1/file/${String(file._id)}/download HTTP/1.1\r\nHost: x\r\nGirder-Token: ${admin.token}\r\n\r\n`);
    const isOpen = makeOpenCheck(file);
    await until('the file is open', isOpen);
    socket.destroy();
    await until('the file is closed', async () => !(await isOpen()));
  });
});

describe('archives', () => {
  const unzip = async (bytes: Buffer): Promise<Record<string, string>> => {
    const directory = await mkdtemp(join(tmpdir(), 'zip-'));
    try {
      await writeFile(join(directory, 'a.zip'), bytes);
      const script =
        'import sys,zipfile,json\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint(json.dumps({n:z.read(n).decode() for n in z.namelist()}))';
      return JSON.parse(execFileSync('python3', ['-c', script, join(directory, 'a.zip')]).toString()) as Record<string, string>;
    } finally {
      await rm(directory, { recursive: true });
    }
  };

  it('contain a single file of an item only on request; otherwise it is sent as it is', async () => {
    const single = await admin.send('GET', `/item/${item}/download`);
    expect([single.headers.get('content-type'), single.bytes.toString()]).toEqual(['text/plain;charset=utf-8', '0123']);
    const zip = await admin.send('GET', `/item/${item}/download`, { query: { format: 'zip' } });
    expect(zip.headers.get('content-type')).toBe('application/zip');
    expect(zip.headers.get('content-disposition')).toBe('attachment; filename="x.TXT.zip"');
    expect(await unzip(zip.bytes)).toEqual({ 'x.TXT/x.TXT': '0123' });
  });

  it('contain the readable part of a folder, and no path out of the target folder', async () => {
    const outer = await admin.create('/folder', { parentId: folder, name: 'out/er' });
    const inner = await admin.create('/folder', { parentId: outer, name: '..' });
    const secret = await admin.create('/folder', { parentId: outer, name: 'secret', public: false });
    await upload(outer, 'a.txt', 'a');
    await upload(inner, '../../b', 'b');
    await upload(secret, 'c', 'c');
    const withMeta = await admin.create('/item', { folderId: outer, name: 'm', metadata: '{"k":1}' });
    await admin.ok('POST', '/file', { query: { parentType: 'item', parentId: withMeta, name: 'same', size: 1 }, body: '1' });
    await admin.ok('POST', '/file', { query: { parentType: 'item', parentId: withMeta, name: 'same', size: 1 }, body: '2' });
    const zip = await server.anonymous.send('GET', `/folder/${outer}/download`);
    expect(await unzip(zip.bytes)).toEqual({
      'out_er/a.txt': 'a',
      'out_er/m/same': '1',
      'out_er/m/same (1)': '2',
      'out_er/m/girder-item-metadata.json': '{"k":1}',
      'out_er/__/.._.._b': 'b',
    });
    const filtered = await admin.send('GET', `/folder/${outer}/download`, { query: { mimeFilter: '["text/plain"]' } });
    expect(Object.keys(await unzip(filtered.bytes)).sort()).toEqual(['out_er/__/.._.._b', 'out_er/a.txt', 'out_er/secret/c']);
    const several = await admin.send('POST', '/resource/download', {
      form: { resources: JSON.stringify({ item: [item], folder: [secret] }) },
    });
    expect(await unzip(several.bytes)).toEqual({ 'x.TXT/x.TXT': '0123', 'secret/c': 'c' });
  });

  it('leave out documents that are removed while they are sent, and include long metadata', async () => {
    const { models } = server.host.context;
    const inside = await admin.create('/folder', { parentId: folder, name: 'Inside' });
    const longNote = 'n'.repeat(100_000);
    const noted = await admin.create('/item', { folderId: inside, name: 'noted' });
    await admin.ok('PUT', `/item/${noted}/metadata`, { json: { note: longNote } });
    const files = await Promise.all([1, 100_000, 2].map((size) => upload(inside, `of ${size}`, Buffer.alloc(size, 65))));
    const listed = await Promise.all(files.map(({ _id }) => models.file.findById(_id).lean<FileDocument>()));
    for (const { itemId } of files.slice(0, 2)) await admin.ok('DELETE', `/item/${String(itemId)}`);
    const principal = await loadPrincipal(server.host.context, null);
    async function* entries(): AsyncGenerator<ZipEntry> {
      for (const content of listed) yield { path: content!.name, date: new Date(), content: content! };
      yield* listFolderEntries(server.host.context, (await models.folder.findById(inside).lean<FolderDocument>())!, principal);
    }
    const reply = replyWithZip(server.host.context, null, 'a', entries());
    if (reply.content.kind !== 'stream') throw new Error('An archive is a stream.');
    const contents = await unzip(await buffer(reply.content.body));
    expect(Object.keys(contents).filter((name) => name.includes('of '))).toEqual(['of 2', 'Inside/of 2']);
    expect(contents['Inside/noted/girder-item-metadata.json']).toBe(JSON.stringify({ note: longNote }));
  });
});

describe('an archive whose reader disconnects', () => {
  it('closes the file that was being opened for it', async () => {
    const file = await upload(folder, 'late', Buffer.alloc(1024 * 1024), 'application/octet-stream');
    const content = await server.host.context.models.file.findById(file._id).lean<FileDocument>();
    const end = { archive: () => {}, reached: false };
    async function* entries(): AsyncGenerator<ZipEntry> {
      // Ends the archive just after the system was asked to open the file.
      process.nextTick(() => end.archive());
      try {
        yield { path: 'late', date: new Date(), content: content! };
      } finally {
        end.reached = true;
      }
    }
    const reply = replyWithZip(server.host.context, null, 'a', entries());
    if (reply.content.kind !== 'stream') throw new Error('An archive is a stream.');
    const { body } = reply.content;
    end.archive = () => body.destroy();
    body.resume();
    await until('nothing waits for the archive', () => end.reached);
    await until('the file is closed', async () => !(await makeOpenCheck(file)()));
  });

  it('closes the file it was reading', async () => {
    const file = await upload(folder, 'large', Buffer.alloc(32 * 1024 * 1024), 'application/octet-stream');
    const isOpen = makeOpenCheck(file);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const address = `/api/v1/item/${String(file.itemId)}/download?format=zip&token=${admin.token}`;
    socket.write(`GET ${address} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until('the file is open', isOpen);
    socket.destroy();
    await until('the file is closed', async () => !(await isOpen()));
  });
});

describe('contentDisposition', () => {
  it.each([
    ['a.txt', 'attachment; filename="a.txt"'],
    ['a"b\\c', 'attachment; filename="a\\"b\\\\c"'],
    ['a\r\nb', 'attachment; filename="a__b"; filename*=UTF-8\'\'a%0D%0Ab'],
    ['é', 'attachment; filename="?"; filename*=UTF-8\'\'%C3%A9'],
    ["日'(1)", "attachment; filename=\"?'(1)\"; filename*=UTF-8''%E6%97%A5%27%281%29"],
    ['\ud800', 'attachment; filename="?"; filename*=UTF-8\'\'%EF%BF%BD'],
  ])('writes %j', (name, header) => {
    expect(createContentDisposition(name, 'attachment')).toBe(header);
  });
});
