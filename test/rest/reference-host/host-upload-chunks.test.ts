/**
 * Chunks that arrive at the same time, twice, out of order, at a wrong offset, too long, or incomplete: the file is correct, or
 * there is none.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm, stat, truncate } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { MissingBytesError } from '../../../src/reference-host/files/byte-store.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const chunkSize = 64 * 1024;
const chunkCount = 4;
let server: TestHost;
let admin: Client;
let folder: string;
let body: Buffer;
let uploadId: string;

beforeAll(async () => {
  server = await startHost({ settings: { 'core.upload_minimum_chunk_size': chunkSize } });
  admin = await server.register('admin');
  const collection = await admin.create('/collection', { name: 'Coll' });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
});
afterAll(() => server?.close());
beforeEach(async () => {
  body = randomBytes(chunkSize * chunkCount);
  const query = { parentType: 'folder', parentId: folder, name: 'f.bin', size: body.length };
  uploadId = String((await admin.ok('POST', '/file', { query }))._id);
});

const chunkAt = (index: number) => body.subarray(index * chunkSize, (index + 1) * chunkSize);
const send = (offset: number, bytes: Uint8Array) =>
  admin.send('POST', '/file/chunk', { query: { uploadId, offset }, body: bytes });
const sendChunk = (index: number) => send(index * chunkSize, chunkAt(index));
const receivedCount = async () => Number((await admin.ok('GET', '/file/offset', { query: { uploadId } })).offset);
const onDisk = () => join(server.host.context.store.root, 'uploads', uploadId);

/** Sends the missing bytes, and checks the file. */
async function complete(): Promise<void> {
  const { status, body: file } = await send(await receivedCount(), body.subarray(await receivedCount()));
  expect(status).toBe(200);
  expect((await admin.send('GET', `/file/${String(file._id)}/download`)).bytes.equals(body)).toBe(true);
}

it('an upload accepts each chunk once when all are sent at once, some of them twice, and then continues', async () => {
  const sending = Array.from({ length: chunkCount }, (_, index) => sendChunk(index));
  const statuses = (await Promise.all([...sending, sendChunk(0), sendChunk(1)])).map(({ status }) => status);
  expect(statuses.every((status) => status === 200 || status === 400)).toBe(true);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(chunkCount);
  if ((await admin.send('GET', '/file/offset', { query: { uploadId } })).status === 200) await complete();
  const items = await admin.ok('GET', '/item', { query: { folderId: folder, name: 'f.bin' } });
  expect(items).toHaveLength(1);
  const [file] = await admin.ok('GET', `/item/${(items[0] as { _id: string })._id}/files`);
  expect((await admin.send('GET', `/file/${(file as { _id: string })._id}/download`)).bytes.equals(body)).toBe(true);
});

it.each([
  ['twice', () => sendChunk(0), chunkSize],
  ['out of order', () => sendChunk(2), chunkSize],
  ['one byte too early', () => send(chunkSize - 1, chunkAt(1)), chunkSize],
  ['one byte too late', () => send(chunkSize + 1, chunkAt(1)), chunkSize],
  ['past the end', () => send(body.length, chunkAt(1)), chunkSize],
  ['too long', () => send(chunkSize, randomBytes(body.length)), chunkSize],
  ['empty', () => send(chunkSize, Buffer.alloc(0)), chunkSize],
])('an upload refuses a chunk that comes %s, and keeps what it has', async (_what, sending, length) => {
  expect((await sendChunk(0)).status).toBe(200);
  const refused = await sending();
  expect([refused.status, await receivedCount()]).toEqual([400, length]);
  await complete();
});

it('an upload keeps the received part of an interrupted chunk, and nothing of one that is too long', async () => {
  await sendChunk(0);
  const { hostname, port } = new URL(server.url);
  const head = (length: number, query: string) =>
    `POST /api/v1/file/chunk?uploadId=${uploadId}&${query} HTTP/1.1\r\nHost: x\r\nGirder-Token: ${admin.token}\r\nContent-Length: ${length}\r\n\r\n`;
  const broken = connect(Number(port), hostname);
  broken.write(head(chunkSize * 2, `offset=${chunkSize}`));
  broken.write(body.subarray(chunkSize, chunkSize + 1000));
  await until('they have arrived', async () => (await stat(onDisk())).size === chunkSize + 1000);
  broken.destroy();
  await until('they are recorded', async () => (await receivedCount()) === chunkSize + 1000);

  const tooLong = Readable.toWeb(Readable.from([body.subarray(chunkSize + 1000), Buffer.from('more')]));
  const address = `${server.url}/api/v1/file/chunk?uploadId=${uploadId}&offset=${chunkSize + 1000}`;
  const init = { method: 'POST', headers: { 'Girder-Token': admin.token! }, body: tooLong, duplex: 'half' };
  expect((await fetch(address, init as unknown as RequestInit)).status).toBe(400);
  expect([await receivedCount(), (await stat(onDisk())).size]).toEqual([chunkSize + 1000, chunkSize + 1000]);
  await complete();
});

it('an upload has received no more than is on disk, and never writes after a gap', async () => {
  await sendChunk(0);
  const { store } = server.host.context;
  await truncate(onDisk(), 10);
  expect(await receivedCount()).toBe(10);
  expect((await sendChunk(1)).status).toBe(400);
  const source = Readable.from([chunkAt(1)]);
  await expect(store.write(uploadId, { offset: chunkSize, uploadSize: body.length, source })).rejects.toThrow(MissingBytesError);
  await expect(store.commit(uploadId, { key: uploadId, size: body.length })).rejects.toThrow(MissingBytesError);
  expect((await stat(onDisk())).size).toBe(10);

  await rm(onDisk());
  expect(await receivedCount()).toBe(0);
  expect((await admin.send('POST', '/file/completion', { query: { uploadId } })).status).toBe(400);
  await complete();
});

it('an upload is canceled while a chunk arrives', async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /api/v1/file/chunk?uploadId=${uploadId}&offset=0 HTTP/1.1\r\nHost: x\r\nGirder-Token: ${admin.token}\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.subarray(0, 1000));
  await until('they have arrived', async () => (await stat(onDisk())).size === 1000);
  await admin.ok('DELETE', `/file/upload/${uploadId}`);
  const answered = once(socket, 'data');
  socket.write(body.subarray(1000));
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 400 /);
  socket.destroy();
  expect(await server.host.context.store.lengthOf(uploadId)).toBe(null);
  expect(await server.host.context.models.claim.countDocuments()).toBe(0);
});
