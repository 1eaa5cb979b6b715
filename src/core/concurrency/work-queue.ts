import { BusyError } from '../../errors.js';

/** What a queue is like. */
export interface WorkQueueOptions {
  /** What is waited for, as a refusal names it: `pictures`. */
  name: string;
  /** Pieces of work at the same time. */
  running: number;
  /** Most that wait. When one more comes, whoever wants most is refused what he asked for last. Default: any number. */
  waiting?: number;
}

/** Who waits. */
export interface WaitOptions {
  /** Aborted while it waits, the work leaves the queue and never begins. */
  signal?: AbortSignal | undefined;
  /** Whose work it is: callers take turns, however much each of them wants. */
  caller?: string | undefined;
  /** Waits also where the queue is full: what has been begun is to go on. */
  patient?: boolean;
}

/** A way to do a piece of work when it may be done. */
export type Enqueue = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

interface Entry {
  begin: () => void;
  refuse: (error: BusyError) => void;
}

/** How fast the usual duration of work follows the last one. */
const smoothing = 0.1;
/** Clients are told to come back after at most so many seconds. */
const longestPause = 60;

/**
 * A queue in front of work of which only so much may go on at the same time. Callers take turns, so that one who asks for a thousand
 * things does not keep another from his first; what one caller asks for is done in order.
 */
export class WorkQueue {
  readonly options: Readonly<WorkQueueOptions>;
  /** Who waits, by caller; the first caller is next. */
  readonly #lines = new Map<string, Set<Entry>>();
  #free: number;
  #waiting = 0;
  #defaultMs = 0;

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
      this.#defaultMs += (this.#defaultMs === 0 ? 1 : smoothing) * (ms - this.#defaultMs);
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

  /** Lets the first of the next caller begin, who is last of all callers then. */
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

  /** Refuses the last of the longest line. @throws BusyError when that would be the one who comes. */
  #makeCapacity(caller: string): void {
    let longest = this.#lines.get(caller);
    const own = (longest?.size ?? 0) + 1;
    for (const line of this.#lines.values()) if (line.size > Math.max(own, longest?.size ?? 0)) longest = line;
    if (longest === undefined || longest.size <= own) throw this.#busy();
    [...longest].at(-1)!.refuse(this.#busy());
  }

  #busy(): BusyError {
    const { name, running } = this.options;
    const seconds = (this.#defaultMs * this.#waiting) / (1000 * Math.max(1, running));
    return new BusyError(
      `Too many ${name} are being waited for (${this.#waiting}). Try again later.`,
      Math.min(longestPause, Math.max(1, seconds)),
    );
  }
}
