/**
 * SIGTERM while a server is busy: requests finish, stalled ones are cut off, streams are closed, and jobs are returned to the
 * queue.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { until } from '../../support/run/until.js';

const mebibyte = 2 ** 20;
let directory: string;
let database: Awaited<ReturnType<typeof startTestDatabase>>;
const servers: ServerProcess[] = [];

async function start(): Promise<{ server: ServerProcess; url: string }> {
  const server = startServer(['--bare'], { MONGODB_URI: database.uri, DATA_DIR: join(directory, 'data') });
  servers.push(server);
  return { server, url: await server.url() };
}

/** The conversion processes of a server, if the system reports them. */
async function conversionsOf(pid: number): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter(Boolean).map(Number);
  const below = await Promise.all(children.map(conversionsOf));
  const conversions = await Promise.all(
    children.map(async (child) => (await readFile(`/proc/${child}/cmdline`, 'utf8')).includes('conversion-process')),
  );
  return [...children.filter((_, i) => conversions[i]), ...below.flat()];
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'stopping-'));
  database = await startTestDatabase();
});
afterAll(async () => {
  for (const server of servers) {
    server.kill('SIGKILL');
    await server.ended;
  }
  await database?.stop();
  if (directory !== undefined) await rm(directory, { recursive: true, force: true, maxRetries: 20 });
});

it('a busy server that is stopped finishes requests, closes streams, and returns jobs to the queue', async () => {
  const first = await start();
  const query = { login: 'admin', email: 'a@example.org', firstName: 'A', lastName: 'B', password: 'a-good-one' };
  const user = await new Client(first.url, null, null).ok('POST', '/user', { query });
  const token = (user.authToken as { token: string }).token;
  const admin = new Client(first.url, token, String(user._id));
  const send = (method: string, path: string, headers: Record<string, string | number> = {}): ClientRequest =>
    request(`${first.url}/api/v1${path}`, { method, agent: false, headers: { 'Girder-Token': token, ...headers } });
  const answerOf = async (sent: ClientRequest) => (await once(sent, 'response'))[0] as IncomingMessage;
  const [folder] = (await admin.ok('GET', '/folder', { query: { parentType: 'user', parentId: admin.id! } })) as {
    _id: string;
  }[];

  // More bytes than fit into sockets and pipes, so that a client that does not read blocks the response.
  const bytes = randomBytes(64 * mebibyte);
  const upload = (name: string, size: number) => ({ query: { parentType: 'folder', parentId: folder!._id, name, size } });
  const file = String((await admin.ok('POST', '/file', { ...upload('large.bin', bytes.length), body: bytes }))._id);
  const samples = { raw: { width: 4000, height: 4000, channels: 3 as const } };
  const picture = await sharp(randomBytes(4000 * 4000 * 3), samples)
    .png({ compressionLevel: 1 })
    .toBuffer();
  const { itemId } = await admin.ok('POST', '/file', { ...upload('noise.png', picture.length), body: picture });
  const conversion = { force: true, localJob: true, compression: 'zstd', level: 22 };
  const { _id: job } = await admin.ok('POST', `/item/${String(itemId)}/tiles`, { query: conversion });
  await until('the job runs', async () => (await admin.ok('GET', `/job/${String(job)}`)).status === 2);
  const converting = await until('a process converts', async () => {
    const conversions = await conversionsOf(first.server.process.pid!);
    return (conversions.length > 0 || process.platform !== 'linux') && conversions;
  });

  const downloads = [send('GET', `/file/${file}/download`).end(), send('GET', `/file/${file}/download`).end()];
  const [read, unread] = await Promise.all(downloads.map(answerOf));
  for (const answer of [read!, unread!]) answer.on('error', () => undefined).pause();
  const stream = await answerOf(send('GET', '/notification/stream').end());
  stream.on('error', () => undefined).resume();
  const streamEnded = once(stream, 'close');

  const chunk = bytes.subarray(0, 8 * mebibyte);
  const uploads = await Promise.all(
    ['ends', 'stands still'].map(async (name) => {
      const id = String((await admin.ok('POST', '/file', upload(name, chunk.length)))._id);
      const sent = send('POST', `/file/chunk?uploadId=${id}&offset=0`, {
        'Content-Length': chunk.length,
        Expect: '100-continue',
      });
      sent.on('error', () => undefined).flushHeaders();
      // The server has received the request.
      await once(sent, 'continue');
      sent.write(chunk.subarray(0, 4 * mebibyte));
      return { id, sent };
    }),
  );

  // The signal is sent to all of its processes, as systemd and terminals do; first to those that convert.
  for (const child of converting) process.kill(child, 'SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 300));
  first.server.kill('SIGTERM');
  await streamEnded;
  const answered = answerOf(uploads[0]!.sent);
  uploads[0]!.sent.end(chunk.subarray(4 * mebibyte));
  const parts: Buffer[] = [];
  for await (const part of read!) parts.push(part as Buffer);
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  expect((await answered).statusCode).toBe(200);
  expect(await first.server.ended).toBe(0);
  expect(first.server.output()).not.toContain('Some work did not finish in time');
  unread!.destroy();
  await expect(fetch(first.url)).rejects.toThrow();

  const second = await start();
  const again = new Client(second.url, token, admin.id);
  const { log } = await again.ok('GET', `/job/${String(job)}`);
  expect(log).toContain('The server was stopped; the job is restarted.\n');
  await again.ok('PUT', `/job/${String(job)}/cancel`);
  const [finished] = (await again.ok('GET', '/item', { query: { folderId: folder!._id, name: 'ends' } })) as { _id: string }[];
  expect((await again.send('GET', `/item/${finished!._id}/download`)).bytes.equals(chunk)).toBe(true);
  // The received part of the other upload is stored, and the client continues from there.
  const uploadId = uploads[1]!.id;
  const offset = Number((await again.ok('GET', '/file/offset', { query: { uploadId } })).offset);
  const rest = await again.ok('POST', '/file/chunk', { query: { uploadId, offset }, body: chunk.subarray(offset) });
  expect((await again.send('GET', `/file/${String(rest._id)}/download`)).bytes.equals(chunk)).toBe(true);
});
