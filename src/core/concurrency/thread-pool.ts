import type { MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { BadValueError, BusyError } from '../../errors.js';
import type { Program } from './program.js';
import type { ThreadCall, ThreadFunctions } from './thread-functions.js';

/** Idle time after which a thread is ended, in milliseconds. A thread takes some 20 MB. */
const idleTimeoutMs = 10_000;
/** Memory in MiB for new objects of a thread. With the default of 48, large exports take 100 MB more and are not faster. */
const maxYoungGenerationSizeMb = 16;

export interface ThreadPoolOptions {
  program: Program;
  /** Name of the work in messages, such as `configurations`. */
  name: string;
  maxThreads?: number;
  /** Maximum time for one call in milliseconds, including waiting. */
  timeoutMs: number;
  /** Memory of a thread in MiB. Default: Node's default. */
  memoryMiB?: number;
  /** Maximum number of waiting calls. */
  maxWaiting?: number;
}

export interface ThreadCallOptions {
  /** Subject of messages about the input, such as `The text`. */
  inputName: string;
  /** Aborting this signal ends the thread. */
  signal?: AbortSignal | undefined;
  /** Objects that are transferred instead of being copied. */
  transfer?: readonly (MessagePort | ArrayBuffer)[];
}

/** A call needs more time or memory than allowed. */
export class ThreadLimitError extends BadValueError {
  constructor(
    message: string,
    readonly limit: 'time' | 'memory',
    options: { cause: unknown },
  ) {
    super(message, options);
  }
}

/**
 * Threads that call the functions of a program, for work whose cost cannot be predicted from the length of its input. Threads are
 * started when needed, and ended when idle or when a call takes too much time or memory. Every worker thread of the package belongs
 * to a pool of this class.
 *
 * @typeParam Functions the functions of the program by name; arguments and results are copied.
 */
export class ThreadPool<Functions extends ThreadFunctions> {
  #pool: Piscina<ThreadCall> | null = null;

  constructor(private readonly options: ThreadPoolOptions) {}

  /**
   * Calls a function in a thread.
   *
   * @throws ThreadLimitError if the call takes too much time or memory, and BusyError if too many calls wait. Also throws the
   * function's own errors, and the signal's reason when the signal aborts.
   */
  async run<Name extends keyof Functions & string>(
    name: Name,
    input: Parameters<Functions[Name]>[0],
    { inputName, signal, transfer = [] }: ThreadCallOptions,
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    const { timeoutMs, memoryMiB, maxWaiting = 16 } = this.options;
    signal?.throwIfAborted();
    const pool = this.#ensurePool();
    if (pool.queueSize >= maxWaiting) {
      throw new BusyError(`Too many ${this.options.name} are waiting (${maxWaiting}). Try again later.`, 5);
    }
    const timeLimit = AbortSignal.timeout(timeoutMs);
    const endSignal = signal === undefined ? timeLimit : AbortSignal.any([signal, timeLimit]);
    try {
      const call = { name, input };
      return (await pool.run(call, { signal: endSignal, transferList: [...transfer] })) as Awaited<ReturnType<Functions[Name]>>;
    } catch (cause) {
      signal?.throwIfAborted();
      const { name: errorName, code } = cause as { name?: unknown; code?: unknown };
      if (errorName !== 'AbortError' && errorName !== 'TimeoutError' && code !== 'ERR_WORKER_OUT_OF_MEMORY') throw cause;
      const memory = memoryMiB === undefined ? '' : ` and ${memoryMiB} MiB`;
      const exceededLimit = code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'time';
      throw new ThreadLimitError(`${inputName} cannot be processed within ${timeoutMs / 1000} s${memory}.`, exceededLimit, {
        cause,
      });
    }
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
    this.#pool = null;
  }

  #ensurePool(): Piscina<ThreadCall> {
    if (this.#pool === null) {
      const { program, maxThreads = 1, memoryMiB } = this.options;
      const resourceLimits = memoryMiB === undefined ? {} : { maxOldGenerationSizeMb: memoryMiB, maxYoungGenerationSizeMb };
      this.#pool = new Piscina<ThreadCall>({ ...program, minThreads: 0, maxThreads, idleTimeout: idleTimeoutMs, resourceLimits });
      // A thread that fails outside a call must not end the process. Calls that wait for this thread end with the time limit.
      this.#pool.on('error', () => {});
    }
    return this.#pool;
  }
}
