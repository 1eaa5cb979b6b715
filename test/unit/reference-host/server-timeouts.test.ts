import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createServerWithTimeouts, type ServerTimeouts } from '../../../src/reference-host/http/server-timeouts.js';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const short: ServerTimeouts = { keepAliveMs: 300, headersMs: 300, requestMs: 10_000, stallMs: 300, checkMs: 25, lingerMs: 300 };
/** Timeouts for requests that are answered: on a busy machine, both ends may be slower than the short timeouts. */
const patient: ServerTimeouts = { ...short, headersMs: 60_000, requestMs: 60_000, stallMs: 60_000 };
const patientButStall: ServerTimeouts = { ...patient, stallMs: 300 };
const longMs = 900;

async function start(listener: (request: IncomingMessage, response: ServerResponse) => void, patience = short): Promise<number> {
  const server = createServerWithTimeouts(listener, patience);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  undo.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A connection, and everything that it has received. */
async function open(port: number): Promise<{ socket: Socket; received: () => string; closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  undo.push(async () => socket.destroy());
  return { socket, received: () => received, closed };
}

const head = (length: number, connection = 'close') =>
  `POST / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nContent-Length: ${length}\r\n\r\n`;

/** Answers with the length of the body. */
function countBody(request: IncomingMessage, response: ServerResponse): void {
  let length = 0;
  request.on('data', (bytes: Buffer) => (length += bytes.length)).on('end', () => response.end(`got ${length}`));
  request.on('error', () => undefined);
}

describe('a server with timeouts', () => {
  it.each([
    ['GET / HTTP/1.1\r\nHost: a\r\nX-A: ' + 'a'.repeat(70_000) + '\r\n\r\n', 431, '65536 bytes'],
    [`GET /?style=${'a'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431, '65536 bytes'],
    ['GET / HTTP/1.1\r\nno header\r\n\r\n', 400, 'not a valid HTTP'],
    ['\0\0\0\0', 400, 'not a valid HTTP'],
  ])('says what is wrong with an invalid request (%#)', async (sent, status, reason) => {
    const { socket, received, closed } = await open(await start(countBody, patient));
    socket.write(sent);
    await closed;
    const [head = '', body = ''] = received().split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(JSON.parse(body)).toMatchObject({ message: expect.stringContaining(reason) as string, type: 'rest' });
  });

  it('says that a request did not come in time', async () => {
    const { socket, received, closed } = await open(await start(countBody, { ...short, stallMs: 10_000 }));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n');
    await closed;
    expect(received()).toContain('HTTP/1.1 408 ');
    expect(received()).toContain('did not arrive in time');
  });

  it('accepts an address as long as a style of 256 bands', async () => {
    const { socket, received, closed } = await open(
      await start((request, response) => void response.end(`got ${request.url!.length}`), patient),
    );
    socket.write(`GET /${'a'.repeat(60_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    await closed;
    expect(received()).toContain('got 60001');
  });

  it('accepts a slow body for longer than it waits for one that has stopped', async () => {
    const { socket, received, closed } = await open(await start(countBody, { ...patient, requestMs: 60_000, stallMs: 3000 }));
    socket.write(head(18));
    for (let sent = 0; sent < 18; sent += 1) {
      await wait(200);
      socket.write('x');
    }
    await closed;
    expect(received()).toContain('got 18');
  });

  it('allows long pauses before and within a response', async () => {
    const port = await start((request, response) => {
      request.resume();
      response.write('first ');
      setTimeout(() => response.end('last'), longMs);
    }, patientButStall);
    const { socket, received, closed } = await open(port);
    socket.write(head(0));
    await closed;
    expect(received()).toContain('last');
  });

  it('waits for itself when it is the server that does not read', async () => {
    const length = 16 * 1024 * 1024; // more than the buffers of both ends hold
    const port = await start((request, response) => void setTimeout(() => countBody(request, response), longMs), patientButStall);
    const { socket, received, closed } = await open(port);
    socket.write(head(length));
    socket.write(Buffer.alloc(length));
    await closed;
    expect(received()).toContain(`got ${length}`);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['nothing', () => undefined],
    ['part of a head', (socket) => void socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-')],
    ['a head and part of a body', (socket) => void socket.write(`${head(9)}abc`)],
    ['a head and no body', (socket) => void socket.write(head(9))],
  ])('ends a connection that sends %s and stops', async (_what, send) => {
    const { socket, closed } = await open(await start(countBody));
    send(socket);
    await closed;
  });

  it('ends a connection whose heads or bodies arrive a byte at a time for too long', async () => {
    const port = await start(countBody, { ...short, requestMs: longMs });
    const trickle = async (begin: string) => {
      const { socket, received, closed } = await open(port);
      socket.write(begin);
      const timer = setInterval(() => socket.write('x'), 20);
      await closed;
      clearInterval(timer);
      return received();
    };
    const answers = await Promise.all([trickle('GET / HTTP/1.1\r\nX-A: '), trickle(head(1_000_000))]);
    expect(answers).toEqual([expect.stringContaining('408'), expect.stringContaining('408')]);
  });

  it('ends a connection that does not read its response', async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const port = await start((request, response) => {
      request.resume();
      response.once('close', end).end(Buffer.alloc(64 * 1024 * 1024));
    }, patientButStall);
    const { socket, closed } = await open(port);
    socket.pause();
    socket.write(head(0));
    await ended;
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024);
  });

  it('answers a client that reads only after sending everything, even if the connection then closes', async () => {
    const port = await start((_request, response) => void response.writeHead(413).end('too long'), {
      ...patient,
      lingerMs: 60_000,
    });
    const { socket, received, closed } = await open(port);
    socket.pause();
    // More bytes than fit into the buffers of both ends.
    const bytes = Buffer.alloc(32 * 1024 * 1024);
    socket.write(head(bytes.length));
    await new Promise((resolve) => void socket.write(bytes, resolve));
    socket.resume();
    await closed;
    expect(received()).toMatch(/^HTTP\/1.1 413 [^]*too long/);
  });

  it('does not read forever after its response', async () => {
    const port = await start((_request, response) => void response.writeHead(413).end('too long'), { ...patient, lingerMs: 300 });
    const { socket, received, closed } = await open(port);
    socket.write(head(1_000_000));
    const timer = setInterval(() => socket.write('x'), 20);
    await closed;
    clearInterval(timer);
    expect(received()).toContain('too long');
  });

  it('closes an idle connection', async () => {
    const { socket, received, closed } = await open(await start(countBody, patient));
    socket.write(head(0, 'keep-alive'));
    await closed;
    expect(received()).toContain('got 0');
  });

  it.each([
    [90, 90],
    [1500, 100],
  ])('with %i requests sent together, starts %i', async (sent, started) => {
    let count = 0;
    const port = await start((_request, response) => {
      count += 1;
      setTimeout(() => response.end('done'), 50);
    }, patient);
    const { socket, received, closed } = await open(port);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(sent));
    await closed;
    expect(count).toBe(started);
    expect(received().split('done').length - 1).toBe(sent === started ? sent : 0);
  });
});
