import type { Server, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { errorBody } from '../../larger-host.js';

/** Time in milliseconds that a client has to receive its last response. */
const lastSendMs = 1000;
const stoppingMessage =
  'The server is stopping or restarting, and this request took too long to finish before that. It may have done part of its work: check the result before you try again.';

/** The responses that have not been sent completely. */
export class OpenReplies {
  readonly #openReplies = new Set<ServerResponse>();

  /** The open responses, in the order of their requests. */
  get responses(): ReadonlySet<ServerResponse> {
    return this.#openReplies;
  }

  constructor(private readonly server: Server) {
    server.prependListener('request', (_request, reply) => {
      this.#openReplies.add(reply);
      reply.once('close', () => this.#openReplies.delete(reply));
    });
  }

  /** Accepts no more connections, waits up to `graceMs` for requests to end, and ends those that are still running. */
  async close(graceMs: number): Promise<void> {
    const { server } = this;
    const endRemaining = async () => {
      await this.end(this.#openReplies);
      server.closeAllConnections();
    };
    const timer = setTimeout(() => void endRemaining(), graceMs);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    clearTimeout(timer);
  }

  /** Ends responses early. Clients that have received nothing yet get the status 503 with the reason. */
  async end(replies: Iterable<ServerResponse>): Promise<void> {
    const endingReplies = [...replies].filter((reply) => !reply.closed);
    const allClosed = Promise.all(endingReplies.map(waitUntilClosed));
    for (const reply of endingReplies) {
      if (reply.headersSent) reply.destroy();
      else answerUnavailable(reply);
    }
    await Promise.race([allClosed, wait(lastSendMs, undefined, { ref: false })]);
    for (const reply of endingReplies) reply.destroy();
  }
}

/** Waits until a response was sent or dropped, and its connection is closed. */
async function waitUntilClosed(reply: ServerResponse): Promise<void> {
  const { socket } = reply;
  const openStreams = [reply, socket].filter((each) => each !== null && !each.closed);
  // The event `close` also comes after errors, for which `finished` would reject.
  await Promise.all(openStreams.map((each) => new Promise((resolve) => each!.once('close', resolve))));
}

function answerUnavailable(reply: ServerResponse): void {
  for (const name of reply.getHeaderNames()) if (/^(content-|etag$|set-cookie$)/.test(name)) reply.removeHeader(name);
  reply.writeHead(503, {
    'Content-Type': 'application/json',
    'Large-Image-Error': 'unavailable',
    'Cache-Control': 'no-cache',
    'Retry-After': 2,
    Connection: 'close',
  });
  reply.end(JSON.stringify(errorBody({ code: 'unavailable', message: stoppingMessage, details: {} })));
}
