import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createPatientServer } from '../http/patient-server.js';
import { UsageError } from './options.js';

/** How long requests may go on after the server has been asked to stop. */
const graceMs = 5000;
const drainPollMs = 20;

/** A server that listens already and answers 503 until it has something to serve. */
export interface Listening {
  /** `http://127.0.0.1:8080`. */
  url: string;
  serve(handler: RequestListener): void;
  /**
   * Lets the requests that run end (those that take too long, and event streams, are cut off); further ones wait until there is
   * something to serve again.
   */
  pause(): Promise<void>;
  /** Takes no more requests, lets those that run end, cuts off the ones that do not. */
  close(): Promise<void>;
}

/** Listens before anything slow is done, so that a port that is taken is known at once. @throws UsageError */
export async function listen(host: string, port: number): Promise<Listening> {
  let handler: RequestListener = (_request, reply) => {
    reply.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '2' });
    reply.end('The server is starting. Try again in a moment.\n');
  };
  const running = new Set<ServerResponse>();
  const waiting: [IncomingMessage, ServerResponse][] = [];
  let isPaused = false;
  const server = createPatientServer((request, reply) => {
    if (isPaused) {
      waiting.push([request, reply]);
      return;
    }
    run(request, reply);
  });
  const run = (request: IncomingMessage, reply: ServerResponse): void => {
    running.add(reply);
    reply.once('close', () => running.delete(reply));
    handler(request, reply);
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
    server.listen({ host, port }, resolve);
  });
  return {
    url: urlOf(server),
    serve(next) {
      handler = next;
      isPaused = false;
      for (const [request, reply] of waiting.splice(0)) if (!reply.destroyed) run(request, reply);
    },
    async pause() {
      isPaused = true;
      await drain(running);
    },
    close: () => close(server),
  };
}

/** Waits until nothing runs but event streams, which have no end of their own, and ends what is left. */
async function drain(running: ReadonlySet<ServerResponse>): Promise<void> {
  const deadline = Date.now() + graceMs;
  const isStream = (reply: ServerResponse) => String(reply.getHeader('content-type')).startsWith('text/event-stream');
  while ([...running].some((reply) => !isStream(reply)) && Date.now() < deadline) await wait(drainPollMs);
  const closed = [...running].map((reply) => new Promise<void>((resolve) => reply.once('close', resolve)));
  for (const reply of running) reply.destroy();
  await Promise.all(closed);
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    const other = port < 65_535 ? port + 1 : 8080;
    return new UsageError(
      `Port ${port} on ${host} is taken by another program. Stop that, or choose another port: PORT=${other} npm start (PORT=0 takes any free one).`,
    );
  }
  if (error.code === 'EACCES')
    return new UsageError(`Port ${port} on ${host} is not allowed to this user. Choose one from 1024 on, as PORT=8080.`);
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND' || error.code === 'EINVAL') {
    return new UsageError(
      `HOST is ${JSON.stringify(host)}, which is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all of them.`,
    );
  }
  return error;
}

function urlOf(server: Server): string {
  // A listening TCP server has an address of this kind.
  const { address, family, port } = server.address() as AddressInfo;
  const isIpv6 = family === 'IPv6';
  const name = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : isIpv6 ? `[${address}]` : address;
  return `http://${name}:${port}`;
}

async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}
