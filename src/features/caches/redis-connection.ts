import type { Redis, RedisOptions } from 'ioredis';

/** The address of a Redis and its credentials. */
interface RedisAddress {
  /** `host`, `host:port`, or a `redis:` or `rediss:` address. */
  url: string;
  username?: string | null;
  password?: string | null;
}

/** Options of a {@link RedisConnection}. */
export interface RedisConnectionOptions extends RedisAddress {
  logger?: { warn(fields: object, event: string): void; info(fields: object, event: string): void };
  /**
   * How long one command can take, in milliseconds. Default 500, because making a tile is faster than waiting for an overloaded
   * Redis.
   */
  commandTimeoutMs?: number;
}

const connectTimeoutMs = 2000;
const firstRetryMs = 100;
const maxRetryMs = 2000;
/** After a command without a response, no commands are sent for this long, so that a Redis that hangs delays few requests. */
const pauseMs = 1000;
const defaultCommandTimeoutMs = 500;

type Listener = () => void;

/**
 * One connection for commands and one for messages. Commands fail immediately while Redis is down, and both connections reconnect
 * automatically. ioredis is loaded when the first connection is made.
 */
export class RedisConnection {
  readonly #commands: Redis;
  readonly #messages: Redis;
  readonly #options: RedisConnectionOptions;
  readonly #listeners = new Set<Listener>();
  #pausedUntil = 0;
  #failures = 0;
  #lastError: Error | null = null;
  #isClosed = false;

  private constructor(commands: Redis, messages: Redis, options: RedisConnectionOptions) {
    this.#commands = commands;
    this.#messages = messages;
    this.#options = options;
    for (const client of [commands, messages]) {
      // Without a listener ioredis writes to the console.
      client.on('error', (error: Error) => this.#recordFailure(error));
    }
    commands.on('ready', () => {
      if (this.#lastError !== null) options.logger?.info({ failures: this.#failures }, 'Cache:Redis:Back');
      this.#lastError = null;
      this.#pausedUntil = 0;
      this.#announceReady();
    });
    messages.on('ready', () => this.#announceReady());
  }

  /**
   * Starts to connect. Resolves when the first attempt has succeeded or failed; a failure is not an error.
   *
   * @throws TypeError if the address is invalid.
   */
  static async open(options: RedisConnectionOptions): Promise<RedisConnection> {
    const { Redis } = await import('ioredis');
    const commonOptions: RedisOptions = {
      ...parseRedisAddress(options),
      lazyConnect: true,
      connectTimeout: connectTimeoutMs,
      // Commands do not wait for a connection, because without Redis the tile is simply made.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (attempt) => Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(attempt - 1, 10)),
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    };
    const commandTimeout = options.commandTimeoutMs ?? defaultCommandTimeoutMs;
    const commands = new Redis({ ...commonOptions, commandTimeout });
    // ioredis renews subscriptions on every connection.
    const messages = new Redis({ ...commonOptions, enableOfflineQueue: true, maxRetriesPerRequest: null });
    const connection = new RedisConnection(commands, messages, options);
    await Promise.all([commands, messages].map((client) => client.connect().catch(() => undefined)));
    return connection;
  }

  /** The connection for messages; commands other than subscriptions are not allowed on it. */
  get messages(): Redis {
    return this.#messages;
  }

  /** Whether commands are likely to succeed now. */
  get isReady(): boolean {
    return !this.#isClosed && this.#commands.status === 'ready' && Date.now() >= this.#pausedUntil;
  }

  /** Number of failed commands and connections. */
  get failures(): number {
    return this.#failures;
  }

  /** Why Redis is not available; `null` while it is. */
  get error(): Error | null {
    if (this.isReady) return null;
    return this.#lastError ?? new Error('Redis is not connected.');
  }

  /** Runs a command and counts it if it fails. @throws the error of the command, or immediately an error while Redis is down. */
  async run<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    if (!this.isReady) throw this.error ?? new Error('Redis is not connected.');
    try {
      return await command(this.#commands);
    } catch (error) {
      this.#recordFailure(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  /** Calls `listener` whenever a connection has become usable, until the returned function is called. */
  onReady(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    for (const client of [this.#commands, this.#messages]) client.disconnect();
  }

  #announceReady(): void {
    for (const listener of this.#listeners) listener();
  }

  #recordFailure(error: Error): void {
    this.#failures += 1;
    if (error.message === 'Command timed out') this.#pausedUntil = Date.now() + pauseMs;
    // An error reply such as OOM is a response, so the connection works.
    const isReply = error.name === 'ReplyError';
    if (this.#lastError === null && !this.#isClosed) this.#options.logger?.warn({ err: error }, 'Cache:Redis:Failed');
    if (!isReply || this.#lastError === null) this.#lastError = error;
  }
}

/** Parses an address into connection options. @throws TypeError that shows the address without its password. */
function parseRedisAddress({ url, username, password }: RedisAddress): RedisOptions {
  const hasScheme = /^rediss?:\/\//i.test(url);
  let parsedUrl: URL;
  try {
    parsedUrl = new URL(hasScheme ? url : `redis://${url}`);
  } catch (cause) {
    throw new TypeError(`Not a Redis address: ${url.replace(/\/\/[^@/]*@/, '//…@')}`, { cause });
  }
  const user = username ?? decodeURIComponent(parsedUrl.username);
  const secret = password ?? decodeURIComponent(parsedUrl.password);
  const database = Number(parsedUrl.pathname.slice(1) || 0);
  if (!Number.isSafeInteger(database) || database < 0)
    throw new TypeError(`Not a Redis database: ${parsedUrl.pathname.slice(1)}`);
  return {
    host: parsedUrl.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: Number(parsedUrl.port || 6379),
    db: database,
    ...(user !== '' && { username: user }),
    ...(secret !== '' && { password: secret }),
    ...(/^rediss:/i.test(url) && { tls: {} }),
  };
}
