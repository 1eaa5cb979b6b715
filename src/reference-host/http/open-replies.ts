import type { Server, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/** How long a client has to take its last answer, in milliseconds. */
const lastMs = 1000;
const message =
  'The server stops or restarts, and this request took too long to end before that. It may have done a part of its work: look at that before asking again.';

/** The answers that a server has not sent whole. */
export class OpenReplies {
  readonly #open = new Set<ServerResponse>();

  /** In the order of their requests. */
  get open(): ReadonlySet<ServerResponse> {
    return this.#open;
  }

  constructor(private readonly server: Server) {
    server.prependListener('request', (_request, reply) => {
      this.#open.add(reply);
      reply.once('close', () => this.#open.delete(reply));
    });
  }

  /** Takes no more connections, lets requests end for `graceMs`, and ends those that have not. */
  async close(graceMs: number): Promise<void> {
    const { server } = this;
    const cut = async () => {
      await this.end(this.#open);
      server.closeAllConnections();
    };
    const timer = setTimeout(() => void cut(), graceMs);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    clearTimeout(timer);
  }

  /** Ends answers: with 503 where none has begun, since a client that hears nothing knows nothing. */
  async end(replies: Iterable<ServerResponse>): Promise<void> {
    const ending = [...replies].filter((reply) => !reply.closed);
    const ended = Promise.all(ending.map(whenClosed));
    for (const reply of ending) {
      if (reply.headersSent) reply.destroy();
      else refuse(reply);
    }
    await Promise.race([ended, wait(lastMs, undefined, { ref: false })]);
    for (const reply of ending) reply.destroy();
  }
}

/** Resolves when an answer is sent, or dropped, and its connection closed. */
async function whenClosed(reply: ServerResponse): Promise<void> {
  const { socket } = reply;
  const closing = [reply, socket].filter((each) => each !== null && !each.closed);
  // Connections also end with errors.
  await Promise.all(closing.map((each) => new Promise((resolve) => each!.once('close', resolve))));
}

function refuse(reply: ServerResponse): void {
  for (const name of reply.getHeaderNames()) if (/^(content-|etag$|set-cookie$)/.test(name)) reply.removeHeader(name);
  reply.writeHead(503, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache',
    'Retry-After': 2,
    Connection: 'close',
  });
  reply.end(JSON.stringify({ message, type: 'rest' }));
}
