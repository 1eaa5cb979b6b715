import { BusyError } from '../../errors.js';

export interface WorkQueueOptions {
  /** Name of the work in messages, such as `pictures`. */
  name: string;
  /** Maximum number of tasks that run at the same time. */
  running: number;
  /**
   * Maximum number of waiting tasks. When one more arrives, the newest task of the caller with the most waiting tasks is refused.
   * Default: no limit.
   */
  waiting?: number;
}

export interface WaitOptions {
  /** If the signal is aborted while the task waits, the task leaves the queue and never starts. */
  signal?: AbortSignal | undefined;
  /** The owner of the task. Callers take turns, even if one of them has many more tasks than the others. */
  caller?: string | undefined;
  /** Whether the task may wait even if the queue is full, because the task continues work that has already started. */
  isNeverRefused?: boolean;
}

/** Runs a task when its turn has come. */
export type Enqueue = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

interface WaitingTask {
  begin: () => void;
  refuse: (error: BusyError) => void;
}

/** Weight of a new duration in the moving average. */
const smoothing = 0.1;
/** Maximum `Retry-After` in seconds. */
const maxRetrySeconds = 60;

/**
 * A queue that runs a limited number of tasks at the same time. Callers take turns, so that a caller with a thousand requests does
 * not delay the first request of another. The tasks of one caller run in order.
 */
export class WorkQueue {
  readonly options: Readonly<WorkQueueOptions>;
  /** Waiting tasks by caller, in the order of their turns: the first caller is next. */
  readonly #lineByCaller = new Map<string, Set<WaitingTask>>();
  #freeSlots: number;
  #totalWaiting = 0;
  /** Moving average of the duration of a task. */
  #averageMs = 0;

  constructor(options: WorkQueueOptions) {
    this.options = options;
    this.#freeSlots = Math.max(1, options.running);
  }

  /** Number of waiting tasks. */
  get waitingCount(): number {
    return this.#totalWaiting;
  }

  /** Number of running tasks. */
  get runningCount(): number {
    return Math.max(1, this.options.running) - this.#freeSlots;
  }

  /**
   * Runs a task when its turn has come.
   *
   * @throws BusyError if too many tasks wait. Also throws the signal's reason if the signal is aborted before the task starts.
   */
  async run<Result>(
    work: () => Promise<Result>,
    { signal, caller = '', isNeverRefused = false }: WaitOptions = {},
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else {
      if (!isNeverRefused && this.#totalWaiting >= (this.options.waiting ?? Infinity)) this.#makeCapacity(caller);
      await this.#wait(caller, signal);
    }
    const startMs = performance.now();
    try {
      return await work();
    } finally {
      const durationMs = performance.now() - startMs;
      this.#averageMs += (this.#averageMs === 0 ? 1 : smoothing) * (durationMs - this.#averageMs);
      this.#startNext();
    }
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#lineByCaller.get(caller) ?? new Set();
      this.#lineByCaller.set(caller, line);
      const removeAndReject = (reason: Error) => {
        signal?.removeEventListener('abort', abort);
        line.delete(task);
        if (line.size === 0 && this.#lineByCaller.get(caller) === line) this.#lineByCaller.delete(caller);
        this.#totalWaiting -= 1;
        reject(reason);
      };
      const abort = () => removeAndReject(signal!.reason as Error);
      const task: WaitingTask = {
        begin: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
        refuse: removeAndReject,
      };
      line.add(task);
      this.#totalWaiting += 1;
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Starts the first task of the next caller, and moves that caller to the end of the order. */
  #startNext(): void {
    for (const [caller, line] of this.#lineByCaller) {
      const [task] = line as Iterable<WaitingTask>;
      line.delete(task!);
      this.#lineByCaller.delete(caller);
      if (line.size > 0) this.#lineByCaller.set(caller, line);
      this.#totalWaiting -= 1;
      task!.begin();
      return;
    }
    this.#freeSlots += 1;
  }

  /**
   * Makes capacity for one more task by refusing the newest task in the longest line.
   *
   * @throws BusyError if the caller has the longest line.
   */
  #makeCapacity(caller: string): void {
    let longestLine = this.#lineByCaller.get(caller);
    const ownLength = (longestLine?.size ?? 0) + 1;
    for (const line of this.#lineByCaller.values())
      if (line.size > Math.max(ownLength, longestLine?.size ?? 0)) longestLine = line;
    if (longestLine === undefined || longestLine.size <= ownLength) throw this.#busyError();
    [...longestLine].at(-1)!.refuse(this.#busyError());
  }

  #busyError(): BusyError {
    const { name, running } = this.options;
    const retryAfterSeconds = (this.#averageMs * this.#totalWaiting) / (1000 * Math.max(1, running));
    return new BusyError(
      `Too many ${name} are waiting (${this.#totalWaiting}). Try again later.`,
      Math.min(maxRetrySeconds, Math.max(1, retryAfterSeconds)),
    );
  }
}

/** A queue for each name. A queue exists only while tasks with its name wait or run. */
export class NamedQueues {
  readonly #queues = new Map<string, WorkQueue>();

  /** @param options apply to each queue. */
  constructor(private readonly options: WorkQueueOptions) {}

  /** Number of tasks that wait under a name. */
  waitingCount(name: string): number {
    return this.#queues.get(name)?.waitingCount ?? 0;
  }

  /** Runs a task when its turn has come. @throws like `WorkQueue.run` */
  async run<Result>(name: string, work: () => Promise<Result>, options: WaitOptions = {}): Promise<Result> {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new WorkQueue(this.options);
      this.#queues.set(name, queue);
    }
    try {
      return await queue.run(work, options);
    } finally {
      if (queue.runningCount === 0 && this.#queues.get(name) === queue) this.#queues.delete(name);
    }
  }
}
