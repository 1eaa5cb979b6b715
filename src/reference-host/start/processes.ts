import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';

/** Data of a serving process, for the banner. */
export interface ServingProcessInfo {
  url: string;
  /** The lines of the banner about signing in. */
  loginLines: string[] | null;
}

/** Messages from a serving process to the one that watches it. */
type Report =
  | ({ kind: 'serving' } & ServingProcessInfo)
  | { kind: 'restart' }
  /** Asks for the metrics of all processes as a text. */
  | { kind: 'metrics'; id: number }
  /** The metrics of this process as JSON (`numbers`). */
  | { kind: 'numbers'; id: number; numbers: object | null };
/** Messages to a serving process. */
type Command =
  | { kind: 'stop' | 'restart' }
  | { kind: 'metrics'; id: number; text?: string; error?: string }
  /** Asks for the metrics of the process as JSON. */
  | { kind: 'numbers'; id: number };

/** Environment variable that is set in the one process that creates the administrator and the example, and registers files. */
const contentsVariable = 'EXPRESS_LARGE_IMAGE_FILLS';
/**
 * Delay in milliseconds before another process replaces one that has ended. It is doubled each time the process ends before it serves.
 */
const minReplacementDelayMs = 500;
const maxReplacementDelayMs = 30_000;
/** How long to wait for the numbers of a process, in milliseconds. After that, they are left out. */
const numbersTimeoutMs = 3000;

/** Options of {@link ServingProcesses}. */
export interface ServingProcessesOptions {
  /** Number of processes. */
  count: number;
  /** Added to the environment of each process. */
  env: Readonly<Record<string, string>>;
  /** Tells the operator about a process that has ended. */
  writeLine(text: string): void;
  /** Adds up the metrics of the processes, and returns the text for Prometheus. */
  aggregateMetrics(numbers: object[]): Promise<string>;
}

/**
 * Serving processes on one port, which this process watches. A serving process that ends unexpectedly is replaced. If one of them requests a
 * restart, all of them are restarted. They run the program of this process with the same arguments, and end when this process ends.
 */
export class ServingProcesses {
  readonly #stopController = new AbortController();
  /** Whether processes that end are replaced: from the time when the first one serves until {@link stop}. */
  #replacesEndedProcesses = false;
  /** The processes that serve. Only these are asked for their numbers, because the others cannot answer yet. */
  readonly #servingWorkers = new Set<Worker>();
  readonly #resolveById = new Map<number, (numbers: object | null) => void>();
  #lastId = 0;

  constructor(private readonly options: ServingProcessesOptions) {}

  /** Starts the first process. @returns `null` if it has ended before it served, after printing the reason on standard error */
  async start(): Promise<ServingProcessInfo | null> {
    cluster.on('message', (worker, message: Report) => void this.#handleReport(worker, message));
    const servingInfo = await this.#fork({ [contentsVariable]: '1' });
    this.#replacesEndedProcesses = servingInfo !== null;
    return servingInfo;
  }

  /**
   * Starts the other processes after the first, so that they find what the first process has created.
   *
   * @returns false if one of them has ended before it served
   */
  async startOthers(): Promise<boolean> {
    const servingInfos = await Promise.all(Array.from({ length: this.options.count - 1 }, () => this.#fork({})));
    return servingInfos.every((servingInfo) => servingInfo !== null);
  }

  /** Stops all processes, and waits until they have ended. */
  async stop(): Promise<void> {
    this.#replacesEndedProcesses = false;
    this.#stopController.abort();
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const exited = once(worker, 'exit');
        send(worker, { kind: 'stop' });
        await exited;
      }),
    );
  }

  /** Starts a process, and a replacement whenever it has ended. @returns `null` if it has ended before it served */
  async #fork(extraEnv: Readonly<Record<string, string>>, delayMs = minReplacementDelayMs): Promise<ServingProcessInfo | null> {
    const worker = cluster.fork({ ...this.options.env, ...extraEnv });
    let servingInfo: ServingProcessInfo | null = null;
    const servingOrExit = new Promise<ServingProcessInfo | null>((resolve) => {
      worker.on('message', (message: Report) => {
        if (message.kind !== 'serving') return;
        servingInfo = message;
        this.#servingWorkers.add(worker);
        resolve(servingInfo);
      });
      worker.once('exit', () => resolve(null));
    });
    worker.once('exit', (code, signal) => {
      this.#servingWorkers.delete(worker);
      if (!this.#replacesEndedProcesses) return;
      this.options.writeLine(`Process ${worker.process.pid} has ended (${signal ?? code}); another takes its place.`);
      const nextDelayMs = servingInfo === null ? Math.min(delayMs * 2, maxReplacementDelayMs) : minReplacementDelayMs;
      void wait(delayMs, undefined, { signal: this.#stopController.signal }).then(
        () => this.#fork(extraEnv, nextDelayMs),
        () => undefined,
      );
    });
    return servingOrExit;
  }

  async #handleReport(sender: Worker, message: Report): Promise<void> {
    if (message.kind === 'restart') {
      for (const worker of Object.values(cluster.workers ?? {})) if (worker !== undefined) send(worker, { kind: 'restart' });
    } else if (message.kind === 'metrics') {
      const { id } = message;
      try {
        const numbers = await Promise.all([...this.#servingWorkers].map((worker) => this.#requestNumbers(worker)));
        send(sender, { kind: 'metrics', id, text: await this.options.aggregateMetrics(numbers.filter((each) => each !== null)) });
      } catch (error) {
        send(sender, { kind: 'metrics', id, error: error instanceof Error ? error.message : String(error) });
      }
    } else if (message.kind === 'numbers') {
      this.#resolveById.get(message.id)?.(message.numbers);
      this.#resolveById.delete(message.id);
    }
  }

  /** The metrics of a process as JSON; `null` if it does not answer. */
  async #requestNumbers(worker: Worker): Promise<object | null> {
    const id = ++this.#lastId;
    const answer = new Promise<object | null>((resolve) => this.#resolveById.set(id, resolve));
    send(worker, { kind: 'numbers', id });
    const numbers = await Promise.race([answer, wait(numbersTimeoutMs, null, { ref: false })]);
    this.#resolveById.delete(id);
    return numbers;
  }
}

function send(worker: Worker, command: Command): void {
  // A process that has ended needs no messages.
  if (worker.isConnected()) worker.send(command, () => undefined);
}

/** A serving process that is watched by another process, and its connection to that process. */
export class WatchedProcess {
  readonly #pendingRequests = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  #lastId = 0;
  #readNumbers: () => Promise<object | null> = async () => null;

  /** The connection to the watching process; `null` in a process that is not watched. */
  static connect(handlers: { stop(): void; restart(): void }): WatchedProcess | null {
    return cluster.isWorker ? new WatchedProcess(handlers) : null;
  }

  private constructor(handlers: { stop(): void; restart(): void }) {
    process.on('message', (command: Command) => {
      if (command.kind === 'numbers') void this.#sendNumbers(command.id);
      else if (command.kind === 'metrics') this.#receiveMetrics(command);
      else handlers[command.kind]();
    });
  }

  /** Sets the function that reads the numbers of this process. */
  reportNumbersFrom(readNumbers: () => Promise<object>): void {
    this.#readNumbers = readNumbers;
  }

  async #sendNumbers(id: number): Promise<void> {
    const numbers = await this.#readNumbers().catch(() => null);
    this.#send({ kind: 'numbers', id, numbers });
  }

  /** Whether this is the process that creates the administrator and the contents. */
  get addsContents(): boolean {
    return process.env[contentsVariable] !== undefined;
  }

  reportServing(servingInfo: ServingProcessInfo): void {
    this.#send({ kind: 'serving', ...servingInfo });
  }

  /** Restarts all processes. */
  restartAll(): void {
    this.#send({ kind: 'restart' });
  }

  /** The metrics of all processes, as a text for Prometheus. */
  collectMetrics(): Promise<string> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pendingRequests.set(id, { resolve, reject });
      this.#send({ kind: 'metrics', id });
    });
  }

  #send(report: Report): void {
    process.send?.(report);
  }

  #receiveMetrics({ id, text, error }: { id: number; text?: string; error?: string }): void {
    const pendingRequest = this.#pendingRequests.get(id);
    this.#pendingRequests.delete(id);
    if (text === undefined) pendingRequest?.reject(new Error(error ?? 'The process sent no metrics.'));
    else pendingRequest?.resolve(text);
  }
}
