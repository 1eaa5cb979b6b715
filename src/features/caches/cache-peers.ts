import { randomUUID } from 'node:crypto';
import type { CacheReport } from './tile-cache.js';
import type { RedisConnection } from './redis-connection.js';

/** The requests that other processes can make to this process. */
export interface PeerRequestHandlers {
  /** Empties the caches of this process. */
  clear(): Promise<void>;
  /** Reports on the caches that belong to this process alone, by name. */
  report(): Promise<Record<string, CacheReport>>;
  /** Closes a file and drops everything cached from the file. */
  forgetFile(fileId: string): void;
}

/** How long other processes may take to answer, in milliseconds, so that a process that hangs does not delay everything. */
const responseTimeoutMs = 1000;

interface PeerRequest {
  from: string;
  kind: 'clear' | 'report' | 'file';
  /** Identifies the request in its responses. */
  id: string;
  fileId?: string;
  /** The number of clearings, including the one that this request announces. */
  generation?: number;
}

interface PeerResponse {
  id: string;
  report: Record<string, CacheReport>;
}

/**
 * Connects the caches of processes that share a Redis and a namespace. Redis counts how often caches were cleared. If the number has
 * changed while a process was disconnected, the process clears its own caches when it is connected again.
 */
export class CachePeers {
  readonly #connection: RedisConnection;
  readonly #handlers: PeerRequestHandlers;
  readonly #id = randomUUID();
  readonly #allChannel: string;
  readonly #responseChannelPrefix: string;
  readonly #clearCountKey: string;
  readonly #onResponseById = new Map<string, (response: PeerResponse) => void>();
  readonly #stopListening: () => void;
  /** The last known number of clearings. */
  #clearCount: number | null = null;
  /** Whether the other processes must clear their caches as soon as Redis is back. */
  #mustClearOthers = false;

  constructor({
    connection,
    namespace,
    handlers,
  }: {
    connection: RedisConnection;
    namespace: string;
    handlers: PeerRequestHandlers;
  }) {
    this.#connection = connection;
    this.#handlers = handlers;
    this.#allChannel = `{${namespace}}:peers`;
    this.#responseChannelPrefix = `{${namespace}}:peer:`;
    this.#clearCountKey = `{${namespace}}:clears`;
    connection.messages.on('message', (channel: string, message: string) => {
      this.#receive(channel, message).catch(() => {});
    });
    // Waits for the connection if there is none yet.
    connection.messages.subscribe(this.#allChannel, this.#responseChannelPrefix + this.#id).catch(() => {});
    this.#stopListening = connection.onReady(() => void this.#catchUp());
    void this.#catchUp();
  }

  /** Clears the caches of the other processes and waits for the processes that answer in time. The caller clears the caches of this process. */
  async clear(): Promise<void> {
    this.#mustClearOthers = true;
    try {
      this.#clearCount = await this.#connection.run((redis) => redis.incr(this.#clearCountKey));
      this.#mustClearOthers = false;
      await this.#request({ kind: 'clear', generation: this.#clearCount });
    } catch {
      // The connection counts the failure. The other processes are asked again when the connection is back.
    }
  }

  /** Reports of the other processes that can be reached. */
  async fetchReports(): Promise<Record<string, CacheReport>[]> {
    try {
      return (await this.#request({ kind: 'report' })).map(({ report }) => report);
    } catch {
      return [];
    }
  }

  /** Tells the other processes that a file was changed or removed. */
  forgetFile(fileId: string): void {
    this.#publish({ kind: 'file', fileId }, randomUUID()).catch(() => {});
  }

  close(): void {
    this.#stopListening();
    this.#onResponseById.clear();
  }

  async #catchUp(): Promise<void> {
    try {
      if (this.#mustClearOthers) return await this.clear();
      const clearCount = Number((await this.#connection.run((redis) => redis.get(this.#clearCountKey))) ?? 0);
      const isBehind = this.#clearCount !== null && this.#clearCount !== clearCount;
      this.#clearCount = clearCount;
      if (isBehind) await this.#handlers.clear();
    } catch {
      // Redis is down again. The connection announces when it is back.
    }
  }

  async #receive(channel: string, message: string): Promise<void> {
    if (channel === this.#responseChannelPrefix + this.#id) {
      const response = JSON.parse(message) as PeerResponse;
      this.#onResponseById.get(response.id)?.(response);
      return;
    }
    if (channel !== this.#allChannel) return;
    const request = JSON.parse(message) as PeerRequest;
    if (request.from === this.#id) return;
    if (request.kind === 'file') {
      if (typeof request.fileId === 'string') this.#handlers.forgetFile(request.fileId);
      return;
    }
    if (request.kind === 'clear') {
      this.#clearCount = request.generation ?? this.#clearCount;
      await this.#handlers.clear();
    }
    const response: PeerResponse = { id: request.id, report: await this.#handlers.report() };
    await this.#connection.run((redis) => redis.publish(this.#responseChannelPrefix + request.from, JSON.stringify(response)));
  }

  #publish(request: Omit<PeerRequest, 'from' | 'id'>, id: string): Promise<number> {
    const message: PeerRequest = { ...request, from: this.#id, id };
    return this.#connection.run((redis) => redis.publish(this.#allChannel, JSON.stringify(message)));
  }

  /** Asks the other processes. @returns the responses that arrive in time. */
  async #request(request: Omit<PeerRequest, 'from' | 'id'>): Promise<PeerResponse[]> {
    const id = randomUUID();
    const responses: PeerResponse[] = [];
    let expectedCount = Infinity;
    let finish = (): void => {};
    const completion = new Promise<void>((resolve) => (finish = resolve));
    const timer = setTimeout(finish, responseTimeoutMs);
    this.#onResponseById.set(id, (response) => {
      responses.push(response);
      if (responses.length >= expectedCount) finish();
    });
    try {
      // The message reaches every process with an active subscription, including this one.
      const receiverCount = await this.#publish(request, id);
      expectedCount = receiverCount - (this.#connection.messages.status === 'ready' ? 1 : 0);
      if (responses.length >= expectedCount) finish();
      await completion;
      return responses;
    } finally {
      clearTimeout(timer);
      this.#onResponseById.delete(id);
    }
  }
}
