import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { threadProgram } from '../../core/thread-program.js';
import { TileSourceError } from '../../errors.js';
import { WorkQueue } from '../../core/work-queue.js';
import { codecNames, type CodecTask, type Decoded, type FrameInfo } from './tasks.js';

/** What takes longer than this is taken for hostile; a hundred times what ordinary tiles need. */
const decodeTimeout = 30_000;
/** Idle time after which a thread, some 20 MB, is let go. */
const idleTimeout = 10_000;
/** Decoders that run side by side, at most. */
const maxThreads = 4;

const program = threadProgram(import.meta.url, { source: './thread.ts', built: 'codec-thread' });

/**
 * Decodes what libvips cannot, in threads that are started when needed and let go when idle: decoding takes up to tenths of a second
 * and cannot be interrupted.
 */
export class CodecThreads {
  readonly #threads = Math.max(1, Math.min(maxThreads, availableParallelism()));
  /** In front of the pool: a signal given to the pool itself would end a thread that is at work, for each tile nobody waits for. */
  readonly #waiting = new WorkQueue({ name: 'tiles', running: this.#threads });
  #pool: Piscina<CodecTask, Decoded> | null = null;

  /**
   * Decodes bytes.
   *
   * @param what names them in messages: `a tile of the TIFF`.
   * @throws TileSourceError where they are corrupt or take longer than 30 s; the signal's reason.
   */
  async decode(task: CodecTask, what: string, signal?: AbortSignal): Promise<Decoded> {
    const work = async (): Promise<Decoded> => {
      try {
        // A view of a larger buffer would be copied with all of it.
        const bytes = task.bytes.byteLength === task.bytes.buffer.byteLength ? task.bytes : task.bytes.slice();
        return await this.#started().run({ ...task, bytes }, { signal: AbortSignal.timeout(decodeTimeout) });
      } catch (cause) {
        const name = codecNames[task.codec];
        if (cause instanceof Error && cause.name === 'AbortError') {
          throw new TileSourceError(`Decoding ${what} (${name}) takes longer than ${decodeTimeout / 1000} s.`, { cause });
        }
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new TileSourceError(`Decoding ${what} (${name}) failed: ${reason}.`, { cause });
      }
    };
    return this.#waiting.run(work, { signal });
  }

  /** Decodes a picture. @throws TileSourceError as {@link CodecThreads.decode} does. */
  async picture(
    task: Exclude<CodecTask, { codec: 'zstd' }>,
    what: string,
    signal?: AbortSignal,
  ): Promise<{ info: FrameInfo; data: Uint8Array<ArrayBuffer> }> {
    const { info, data } = await this.decode(task, what, signal);
    if (info === null) throw new TileSourceError(`Decoding ${what} (${codecNames[task.codec]}) gave no picture.`);
    return { info, data };
  }

  #started(): Piscina<CodecTask, Decoded> {
    this.#pool ??= new Piscina({ ...program, minThreads: 0, maxThreads: this.#threads, idleTimeout });
    return this.#pool;
  }
}

/** The threads of all tile sources of this process. */
export const codecThreads = new CodecThreads();
