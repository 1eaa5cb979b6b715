import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { OpenReplies } from '../http/open-replies.js';
import { createServerWithTimeouts } from '../http/server-timeouts.js';
import { offerUpgrades, type UpgradeHandler } from '../http/upgrades.js';
import { UsageError } from './options.js';

/** How long requests can continue after the server was asked to stop. */
const defaultGraceMs = 5000;
const drainPollMs = 20;

/** A server that listens at a port. */
export interface ListeningServer {
  /** The address of the server, such as `http://127.0.0.1:8080`; empty until the server listens. */
  readonly url: string;
  serve(handler: RequestListener, upgrade?: UpgradeHandler): Promise<void>;
  /**
   * Waits for the end of running requests. Event streams are closed, and requests that take too long are answered with 503. Further
   * requests wait until the server can serve again.
   */
  pause(): Promise<void>;
  /** Accepts no more requests, waits for the end of running requests, and answers 503 to requests that take too long. */
  close(): Promise<void>;
}

/**
 * Starts to listen before anything slow is done, so that a port that is taken is noticed immediately. Answers 503 until `serve` is
 * called. With `delaysListening`, the server starts to listen only when `serve` is called. If several processes share the port, the other
 * processes get all requests until then.
 *
 * @throws UsageError
 */
export async function listen(
  host: string,
  port: number,
  { graceMs = defaultGraceMs, delaysListening = false }: { graceMs?: number; delaysListening?: boolean } = {},
): Promise<ListeningServer> {
  let handler: RequestListener = (_request, reply) => {
    reply.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '2' });
    reply.end('The server is starting. Try again in a moment.\n');
  };
  let upgrade: UpgradeHandler = () => false;
  const heldRequests: [IncomingMessage, ServerResponse][] = [];
  let isPaused = false;
  const server = createServerWithTimeouts((request, reply) => {
    if (isPaused) {
      heldRequests.push([request, reply]);
      return;
    }
    handler(request, reply);
  });
  const replies = new OpenReplies(server);
  offerUpgrades(server, (...upgradeArguments) => !isPaused && upgrade(...upgradeArguments));
  const listRunningReplies = (): ServerResponse[] => {
    const heldReplies = new Set(heldRequests.map(([, reply]) => reply));
    return [...replies.responses].filter((reply) => !heldReplies.has(reply));
  };
  let url = '';
  const startListening = async () => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => reject(toUsageError(error, host, port)));
      server.listen({ host, port }, resolve);
    });
    url = urlOf(server);
  };
  if (!delaysListening) await startListening();
  return {
    get url() {
      return url;
    },
    async serve(nextHandler, nextUpgrade = () => false) {
      handler = nextHandler;
      upgrade = nextUpgrade;
      isPaused = false;
      if (!server.listening) await startListening();
      for (const [request, reply] of heldRequests.splice(0)) if (!reply.destroyed) handler(request, reply);
    },
    async pause() {
      isPaused = true;
      await drain(listRunningReplies, graceMs);
      await replies.end(listRunningReplies());
    },
    close: () => replies.close(graceMs),
  };
}

/** Waits for a limited time until only event streams are running, which do not end on their own. */
async function drain(listRunningReplies: () => ServerResponse[], graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  const isStream = (reply: ServerResponse) => String(reply.getHeader('content-type')).startsWith('text/event-stream');
  while (listRunningReplies().some((reply) => !isStream(reply)) && Date.now() < deadline) await wait(drainPollMs);
}

/** The error for users, if the server cannot listen because of their options; otherwise the error itself. */
function toUsageError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    const otherPort = port < 65_535 ? port + 1 : 8080;
    return new UsageError(
      `Port ${port} on ${host} is in use by another program. Stop that, or choose another port with PORT: ${otherPort}, or 0 for any free one.`,
    );
  }
  if (error.code === 'EACCES')
    return new UsageError(
      `Port ${port} on ${host} needs more permissions than this user has. Choose a port of 1024 or higher, such as PORT=8080.`,
    );
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND' || error.code === 'EINVAL') {
    return new UsageError(
      `HOST is ${JSON.stringify(host)}, which is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all addresses.`,
    );
  }
  return error;
}

function urlOf(server: Server): string {
  // The address of a listening TCP server is always an object.
  const { address, family, port } = server.address() as AddressInfo;
  const isIpv6 = family === 'IPv6';
  const hostname = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : isIpv6 ? `[${address}]` : address;
  return `http://${hostname}:${port}`;
}
