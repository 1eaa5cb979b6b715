import { setTimeout as pause } from 'node:timers/promises';
import type { KillableServer } from './killable-server.js';

/** Thrown if it is unknown whether a request was carried out, because there was no response, or the response does not say so. */
export class Unanswered extends Error {}

export interface Reply {
  status: number;
  // The body of the route; the caller knows its members.
  json: Record<string, unknown> & { _id: string };
  bytes: Buffer;
}

type Query = Readonly<Record<string, string | number | boolean>>;

/** Sends requests to a server that may be killed at any moment, with one token. */
export class Caller {
  /** Number of requests without a response. */
  unansweredCount = 0;

  constructor(
    private readonly server: KillableServer,
    public token = '',
  ) {}

  /**
   * Returns the response of the server, whatever its status.
   *
   * @throws Unanswered if there is no response, or if it is an error because of the database or a queue.
   */
  async send(method: string, path: string, query: Query = {}, body?: Uint8Array | string): Promise<Reply> {
    const url = new URL(`${await this.server.address()}/api/v1${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const headers: Record<string, string> = this.token === '' ? {} : { 'Girder-Token': this.token };
    let reply: Reply;
    try {
      const response = await fetch(url, {
        method,
        headers,
        signal: AbortSignal.timeout(60_000),
        ...(body !== undefined && { body }),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      const isJson = response.headers.get('content-type')?.includes('json') === true && bytes.length > 0;
      reply = {
        status: response.status,
        bytes,
        json: isJson ? (JSON.parse(bytes.toString()) as Reply['json']) : (null as never),
      };
    } catch (cause) {
      this.unansweredCount += 1;
      await pause(20);
      throw new Unanswered(`${method} ${path}`, { cause });
    }
    if (reply.status !== 503) return reply;
    this.unansweredCount += 1;
    await pause(300);
    throw new Unanswered(`${method} ${path}: 503`);
  }

  /** Sends a request that must succeed. @throws Error for any other response. */
  async request(method: string, path: string, query: Query = {}, body?: Uint8Array | string): Promise<Reply['json']> {
    const { status, json, bytes } = await this.send(method, path, query, body);
    if (status < 300) return json;
    throw new Error(`${method} ${path} answered ${status}: ${bytes.toString('utf8', 0, 300)}`);
  }

  /** Repeats a GET request until it is answered. */
  async get(path: string, query: Query = {}): Promise<Reply> {
    for (;;) {
      try {
        return await this.send('GET', path, query);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
      }
    }
  }

  /** {@link Caller.get} for a list. */
  async list<T = { _id: string; name: string }>(path: string, query: Query = {}): Promise<T[]> {
    const { status, json, bytes } = await this.get(path, { limit: 0, ...query });
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${bytes.toString('utf8', 0, 300)}`);
    return json as unknown as T[];
  }
}
