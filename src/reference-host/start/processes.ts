import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';

/** Facts about a serving process, for the banner. */
export interface ServingAt {
  url: string;
  /** The lines of the banner about signing in. */
  login: string[] | null;
}

/** From a process that serves to the one that watches over it. */
type Report =
  | ({ kind: 'serving' } & ServingAt)
  | { kind: 'restart' }
  /** Asks for the numbers of all processes. */
  | { kind: 'metrics'; id: number };
/** To a process that serves. */
type Order = { kind: 'stop' | 'restart' } | { kind: 'metrics'; id: number; text?: string; error?: string };

/** In the environment of the one process that makes administrator and example, and registers files. */
const fillingVariable = 'EXPRESS_LARGE_IMAGE_FILLS';
/** How long a process that ended is left before another takes its place, in milliseconds: doubled while it does not come to serve. */
const shortestDelayMs = 500;
const longestDelayMs = 30_000;

/** Options of {@link ServingProcesses}. */
export interface ServingProcessesOptions {
  count: number;
  /** Added to the environment of each process. */
  env: Readonly<Record<string, string>>;
  report(text: string): void;
  /** The numbers of all processes for Prometheus. */
  metrics(): Promise<string>;
}

/**
 * Processes that serve on one port, which this one watches over: one that ends without being told to is replaced, one that asks for a restart
 * restarts all. They run the program of this process with the same words, and end with it.
 */
export class ServingProcesses {
  readonly #delays = new AbortController();
  /** Whether the first has come to serve: from then on what ends is replaced. */
  #isServing = false;

  constructor(private readonly options: ServingProcessesOptions) {}

  /** Starts the first. `null` when it has ended before it served, having said why on standard error. */
  async start(): Promise<ServingAt | null> {
    cluster.on('message', (worker, message: Report) => void this.#hear(worker, message));
    const first = await this.#fork({ [fillingVariable]: '1' });
    this.#isServing = first !== null;
    return first;
  }

  /** Starts the others, when the first serves: they find what it has made. @returns whether all have come to serve at once */
  async startOthers(): Promise<boolean> {
    const others = await Promise.all(Array.from({ length: this.options.count - 1 }, () => this.#fork({})));
    return others.every((serving) => serving !== null);
  }

  /** Has all of them stop, and waits for their ends. */
  async stop(): Promise<void> {
    this.#isServing = false;
    this.#delays.abort();
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const ended = once(worker, 'exit');
        send(worker, { kind: 'stop' });
        await ended;
      }),
    );
  }

  /** Starts one, and another in its place when it has ended. @returns `null` when it has ended before it served */
  async #fork(own: Readonly<Record<string, string>>, delayMs = shortestDelayMs): Promise<ServingAt | null> {
    const worker = cluster.fork({ ...this.options.env, ...own });
    let serving: ServingAt | null = null;
    const settled = new Promise<ServingAt | null>((resolve) => {
      worker.on('message', (message: Report) => {
        if (message.kind !== 'serving') return;
        serving = message;
        resolve(serving);
      });
      worker.once('exit', () => resolve(null));
    });
    worker.once('exit', (code, signal) => {
      if (!this.#isServing) return;
      this.options.report(`Process ${worker.process.pid} has ended (${signal ?? code}); another takes its place.`);
      const next = serving === null ? Math.min(delayMs * 2, longestDelayMs) : shortestDelayMs;
      void wait(delayMs, undefined, { signal: this.#delays.signal }).then(
        () => this.#fork(own, next),
        () => undefined,
      );
    });
    return settled;
  }

  async #hear(from: Worker, message: Report): Promise<void> {
    if (message.kind === 'restart') {
      for (const worker of Object.values(cluster.workers ?? {})) if (worker !== undefined) send(worker, { kind: 'restart' });
    } else if (message.kind === 'metrics') {
      const { id } = message;
      try {
        send(from, { kind: 'metrics', id, text: await this.options.metrics() });
      } catch (error) {
        send(from, { kind: 'metrics', id, error: error instanceof Error ? error.message : String(error) });
      }
    }
  }
}

function send(worker: Worker, order: Order): void {
  // One that has ended needs no orders.
  if (worker.isConnected()) worker.send(order, () => undefined);
}

/** One of several serving processes: its connection to the process that watches them. */
export class OneOfSeveral {
  readonly #asked = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  /** `null` in a process that nobody watches over. */
  static here(orders: { stop(): void; restart(): void }): OneOfSeveral | null {
    return cluster.isWorker ? new OneOfSeveral(orders) : null;
  }

  private constructor(orders: { stop(): void; restart(): void }) {
    process.on('message', (order: Order) => {
      if (order.kind === 'stop' || order.kind === 'restart') orders[order.kind]();
      else if (order.kind === 'metrics') this.#answer(order);
    });
  }

  /** Whether it is this process that makes administrator and example. */
  get fills(): boolean {
    return process.env[fillingVariable] !== undefined;
  }

  serving(at: ServingAt): void {
    this.#say({ kind: 'serving', ...at });
  }

  /** Has all processes restart. */
  restartAll(): void {
    this.#say({ kind: 'restart' });
  }

  /** The numbers of all processes. */
  metrics(): Promise<string> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#say({ kind: 'metrics', id });
    });
  }

  #say(report: Report): void {
    process.send?.(report);
  }

  #answer({ id, text, error }: { id: number; text?: string; error?: string }): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (text === undefined) asked?.reject(new Error(error ?? 'No numbers came.'));
    else asked?.resolve(text);
  }
}
