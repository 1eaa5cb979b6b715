import { availableParallelism } from 'node:os';
import { programOf } from '../../core/concurrency/program.js';
import { ThreadLimitError, ThreadPool } from '../../core/concurrency/thread-pool.js';
import { TileSourceError } from '../../errors.js';
import { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { CodecFunctions } from './thread.js';
import { codecNames, type CodecTask, type Decoded, type FrameInfo } from './tasks.js';

/** What takes longer than this is taken for hostile; a hundred times what ordinary tiles need. In milliseconds. */
const timeoutMs = 30_000;
/** What a thread may take for what it reads, beside the bytes of pictures; descriptions in XML may stand for much. In MiB. */
const memoryMiB = 512;
/** Decoders that run side by side, at most. */
const maxThreads = Math.max(1, Math.min(4, availableParallelism()));

/** A view of a larger buffer would be copied with all of it. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/**
 * Decodes what libvips cannot, in threads that are started when needed and let go when idle: decoding takes up to tenths of a second
 * and cannot be interrupted.
 */
export class CodecThreads {
  readonly #threads = new ThreadPool<CodecFunctions>({
    program: programOf(import.meta.url, { source: './thread.ts', built: 'codec-thread' }),
    name: 'tiles',
    maxThreads,
    timeoutMs,
    memoryMiB,
  });
  /** In front of the pool: a signal given to the pool itself would end a thread that is at work, for each tile nobody waits for. */
  readonly #waiting = new WorkQueue({ name: 'tiles', running: maxThreads });

  /**
   * Decodes bytes.
   *
   * @param what names them in messages: `a tile of the TIFF`.
   * @throws TileSourceError where they are corrupt or take longer than 30 s; the signal's reason.
   */
  async decode(task: CodecTask, what: string, signal?: AbortSignal): Promise<Decoded> {
    return this.call('decode', { ...task, bytes: ownBytes(task.bytes) }, `${what} (${codecNames[task.codec]})`, signal);
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
        return await this.#threads.run(name, input, { what });
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
    return this.#waiting.run(work, { signal });
  }

  /** Decodes a picture. @throws TileSourceError as {@link CodecThreads.decode} does. */
  async picture(
    task: Exclude<CodecTask, { codec: 'zstd' | 'packbits' }>,
    what: string,
    signal?: AbortSignal,
  ): Promise<{ info: FrameInfo; data: Uint8Array<ArrayBuffer> }> {
    const { info, data } = await this.decode(task, what, signal);
    if (info === null) throw new TileSourceError(`Decoding ${what} (${codecNames[task.codec]}) gave no picture.`);
    return { info, data };
  }
}

/** The threads of all tile sources of this process. */
export const codecThreads = new CodecThreads();
