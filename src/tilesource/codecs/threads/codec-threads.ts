import { availableParallelism } from 'node:os';
import { findProgram } from '../../../core/concurrency/program.js';
import { ThreadLimitError, ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { TileSourceError } from '../../../errors.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { CodecFunctions } from './thread.js';
import { codecNames, type CodecTask, type DecodeResult, type FrameInfo } from './tasks.js';

/** Time limit of a task in milliseconds. An ordinary tile takes a hundredth of this time; only hostile files take longer. */
const timeoutMs = 30_000;
/** Maximum heap of a thread in MiB, without the bytes of pictures. Descriptions in XML may need much of this memory. */
const memoryMiB = 512;
/** Maximum number of threads. */
const maxThreads = Math.max(1, Math.min(4, availableParallelism()));

/**
 * Copies bytes that are part of a larger buffer to a separate buffer, because sending them to a thread would copy the whole buffer.
 */
function separateBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/**
 * Decodes formats that libvips cannot decode, in threads, because decoding takes up to tenths of a second and cannot be
 * interrupted. Threads are started when needed and ended when idle.
 */
export class CodecThreads {
  readonly #threads = new ThreadPool<CodecFunctions>({
    program: findProgram(import.meta.url, { source: './thread.ts', built: 'codec-thread' }),
    name: 'tiles',
    maxThreads,
    timeoutMs,
    memoryMiB,
  });
  /** Removes aborted tasks before they reach the pool. If the pool got the signals, it would end a thread for each canceled tile. */
  readonly #queue = new WorkQueue({ name: 'tiles', running: maxThreads });

  /**
   * Decodes bytes.
   *
   * @param what name of the bytes in messages, such as `a tile of the TIFF`.
   * @throws TileSourceError if the bytes are corrupt, or decoding needs more than 30 s or too much memory. Also throws the signal's
   * reason when it aborts.
   */
  async decode(task: CodecTask, what: string, signal?: AbortSignal): Promise<DecodeResult> {
    return this.call('decode', { ...task, bytes: separateBytes(task.bytes) }, `${what} (${codecNames[task.codec]})`, signal);
  }

  /** Calls one of the functions of the threads. @throws TileSourceError as {@link CodecThreads.decode} does. */
  async call<Name extends keyof CodecFunctions>(
    name: Name,
    input: Parameters<CodecFunctions[Name]>[0],
    what: string,
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<CodecFunctions[Name]>>> {
    const work = async (): Promise<Awaited<ReturnType<CodecFunctions[Name]>>> => {
      try {
        return await this.#threads.run(name, input, { inputName: what });
      } catch (cause) {
        if (cause instanceof ThreadLimitError) {
          throw new TileSourceError(`Decoding ${what} takes longer than ${timeoutMs / 1000} s, or more than ${memoryMiB} MiB.`, {
            cause,
          });
        }
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new TileSourceError(`Decoding ${what} failed: ${reason.replace(/\.$/, '')}.`, { cause });
      }
    };
    return this.#queue.run(work, { signal });
  }

  /** Decodes a picture. @throws TileSourceError as {@link CodecThreads.decode} does. */
  async decodePicture(
    task: Exclude<CodecTask, { codec: 'zstd' | 'packbits' }>,
    what: string,
    signal?: AbortSignal,
  ): Promise<{ info: FrameInfo; data: Uint8Array<ArrayBuffer> }> {
    const { info, data } = await this.decode(task, what, signal);
    if (info === null) throw new TileSourceError(`Decoding ${what} (${codecNames[task.codec]}) returned no picture.`);
    return { info, data };
  }
}

/** The threads of all tile sources of this process. */
export const codecThreads = new CodecThreads();
