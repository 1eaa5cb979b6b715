import { BusyError } from '../../errors.js';

export interface WorkQueueOptions {
  /** The work as a refusal names it: `pictures`. */
  name: string;
  /** How many pieces of work may go on at the same time. */
  running: number;
  /** How many may wait. When one more comes, the newest request of the caller with the most requests is refused. Default: any number. */
  waiting?: number;
}

export interface WaitOptions {
  /** When it is aborted while the work waits, the work leaves the queue and never begins. */
  signal?: AbortSignal | undefined;
  /** Whose work it is. Callers take turns, however much each of them wants. */
  caller?: string | undefined;
  /** Whether the work waits even if the queue is full, because it continues something that has begun. */
  patient?: boolean;
}

/** Does a piece of work when its turn has come. */
export type Enqueue = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

interface Entry {
  begin: () => void;
  refuse: (error: BusyError) => void;
}

/** Weight of the last duration in the moving average of durations. */
const smoothing = 0.1;
/** Maximum `Retry-After` in seconds. */
const longestPause = 60;

/**
 * A queue for work of which only a limited number of pieces may go on at the same time. Callers take turns, so that one who asks for a thousand
 * things does not delay the first request of another. The work of one caller is done in order.
 */
export class WorkQueue {
  readonly options: Readonly<WorkQueueOptions>;
  /** Waiting work by caller, in the order of turns: the first caller is next. */
  readonly #lines = new Map<string, Set<Entry>>();
  #free: number;
  #waiting = 0;
  /** Moving average of how long a piece of work takes. */
  #averageMs = 0;

  constructor(options: WorkQueueOptions) {
    this.options = options;
    this.#free = Math.max(1, options.running);
  }

  /** How many pieces of work wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many pieces of work are going on. */
  get running(): number {
    return Math.max(1, this.options.running) - this.#free;
  }

  /**
   * Does a piece of work when its turn has come.
   *
   * @throws BusyError when too many wait already; the reason of the signal when it is aborted before the work begins.
   */
  async run<Result>(work: () => Promise<Result>, { signal, caller = '', patient = false }: WaitOptions = {}): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else {
      if (!patient && this.#waiting >= (this.options.waiting ?? Infinity)) this.#makeCapacity(caller);
      await this.#wait(caller, signal);
    }
    const start = performance.now();
    try {
      return await work();
    } finally {
      const ms = performance.now() - start;
      this.#averageMs += (this.#averageMs === 0 ? 1 : smoothing) * (ms - this.#averageMs);
      this.#next();
    }
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(caller) ?? new Set();
      this.#lines.set(caller, line);
      const leave = (reason: Error) => {
        signal?.removeEventListener('abort', abort);
        line.delete(entry);
        if (line.size === 0 && this.#lines.get(caller) === line) this.#lines.delete(caller);
        this.#waiting -= 1;
        reject(reason);
      };
      const abort = () => leave(signal!.reason as Error);
      const entry: Entry = {
        begin: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
        refuse: leave,
      };
      line.add(entry);
      this.#waiting += 1;
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Starts the first piece of work of the next caller, and moves that caller to the end of the order. */
  #next(): void {
    for (const [caller, line] of this.#lines) {
      const [entry] = line as Iterable<Entry>;
      line.delete(entry!);
      this.#lines.delete(caller);
      if (line.size > 0) this.#lines.set(caller, line);
      this.#waiting -= 1;
      entry!.begin();
      return;
    }
    this.#free += 1;
  }

  /** Makes capacity for one more by refusing the newest in the longest line. @throws BusyError when that line is the caller's own. */
  #makeCapacity(caller: string): void {
    let longest = this.#lines.get(caller);
    const own = (longest?.size ?? 0) + 1;
    for (const line of this.#lines.values()) if (line.size > Math.max(own, longest?.size ?? 0)) longest = line;
    if (longest === undefined || longest.size <= own) throw this.#busy();
    [...longest].at(-1)!.refuse(this.#busy());
  }

  #busy(): BusyError {
    const { name, running } = this.options;
    const seconds = (this.#averageMs * this.#waiting) / (1000 * Math.max(1, running));
    return new BusyError(
      `Too many ${name} are being waited for (${this.#waiting}). Try again later.`,
      Math.min(longestPause, Math.max(1, seconds)),
    );
  }
}

/** Queues by name. Each exists only while work of its name waits or goes on. */
export class NamedQueues {
  readonly #queues = new Map<string, WorkQueue>();

  /** @param options of each of them. */
  constructor(private readonly options: WorkQueueOptions) {}

  /** How many pieces of work wait under a name. */
  waiting(name: string): number {
    return this.#queues.get(name)?.waiting ?? 0;
  }

  /** Does a piece of work when its turn has come. @throws as `WorkQueue.run` */
  async run<Result>(name: string, work: () => Promise<Result>, options: WaitOptions = {}): Promise<Result> {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new WorkQueue(this.options);
      this.#queues.set(name, queue);
    }
    try {
      return await queue.run(work, options);
    } finally {
      if (queue.running === 0 && this.#queues.get(name) === queue) this.#queues.delete(name);
    }
  }
}
