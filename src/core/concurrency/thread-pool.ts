import { Piscina } from 'piscina';
import { BadValueError, BusyError } from '../../errors.js';
import type { ThreadCall, ThreadFunctions } from './thread-functions.js';
import type { ThreadProgram } from './thread-program.js';

/** Idle time after which a thread is let go. */
const idleTimeout = 10_000;

/** What a pool is like. */
export interface ThreadPoolOptions {
  program: ThreadProgram;
  /** What is waited for, as a refusal names it: `configurations`. */
  name: string;
  maxThreads?: number;
  /** Longest time for one call, in milliseconds, waiting included. */
  timeoutMs: number;
  /** Memory of a thread, in MiB. */
  memoryMiB: number;
  /** Calls that may wait. */
  waiting?: number;
}

/**
 * Threads that call the functions of a program: for work of which the cost is not to be seen from the length of what is sent. They are started
 * when needed and let go when idle; one that takes too long or too much is ended.
 *
 * @typeParam Functions the functions of the program by their names; what they take and give is copied.
 */
export class ThreadPool<Functions extends ThreadFunctions> {
  #pool: Piscina<ThreadCall> | null = null;

  constructor(private readonly options: ThreadPoolOptions) {}

  /**
   * Calls a function in a thread.
   *
   * @param what names the input in messages: `The text`.
   * @throws BadValueError where it takes too long or too much memory; BusyError where too many wait; the signal's reason; what the function throws.
   */
  async run<Name extends keyof Functions & string>(
    name: Name,
    input: Parameters<Functions[Name]>[0],
    { what, signal }: { what: string; signal?: AbortSignal | undefined },
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    const { timeoutMs, memoryMiB, waiting = 16 } = this.options;
    signal?.throwIfAborted();
    const pool = this.#started();
    if (pool.queueSize >= waiting) {
      throw new BusyError(`Too many ${this.options.name} are being waited for (${waiting}). Try again later.`, 5);
    }
    const limit = AbortSignal.timeout(timeoutMs);
    const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    try {
      return (await pool.run({ name, input }, { signal: until })) as Awaited<ReturnType<Functions[Name]>>;
    } catch (cause) {
      signal?.throwIfAborted();
      const { name: kind, code } = cause as { name?: unknown; code?: unknown };
      if (kind !== 'AbortError' && kind !== 'TimeoutError' && code !== 'ERR_WORKER_OUT_OF_MEMORY') throw cause;
      throw new BadValueError(`${what} cannot be worked on within ${timeoutMs / 1000} s and ${memoryMiB} MiB.`, { cause });
    }
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
    this.#pool = null;
  }

  #started(): Piscina<ThreadCall> {
    if (this.#pool === null) {
      const { program, maxThreads = 1, memoryMiB } = this.options;
      const resourceLimits = { maxOldGenerationSizeMb: memoryMiB };
      this.#pool = new Piscina<ThreadCall>({ ...program, minThreads: 0, maxThreads, idleTimeout, resourceLimits });
      // A thread that fails outside of any call must not end the process; whoever waits hears of it when the time is over.
      this.#pool.on('error', () => {});
    }
    return this.#pool;
  }
}
