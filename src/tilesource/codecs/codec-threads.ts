import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { threadProgram } from '../../core/concurrency/thread-program.js';
import { TileSourceError } from '../../errors.js';
import { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { CziFacts } from '../sources/czi/facts.js';
import type { DicomFacts } from '../sources/dicom/facts.js';
import type { ResampleTask } from '../render/resample.js';
import type { ZarrChunk } from './zarr-chunk.js';
import { codecNames, type CodecTask, type Decoded, type FrameInfo } from './tasks.js';

/** What takes longer than this is taken for hostile; a hundred times what ordinary tiles need. */
const decodeTimeout = 30_000;
/** Idle time after which a thread, some 20 MB, is let go. */
const idleTimeout = 10_000;
/** Decoders that run side by side, at most. */
const maxThreads = 4;

const program = threadProgram(import.meta.url, { source: './thread.ts', built: 'codec-thread' });

/** The functions of the program by their names. */
interface ThreadFunctions {
  decode: { input: CodecTask; output: Decoded };
  cziFacts: { input: Uint8Array; output: CziFacts };
  zarrChunk: { input: ZarrChunk; output: Uint8Array<ArrayBuffer> };
  omeDescription: { input: string; output: { json: string } | { refused: string } };
  resample: { input: ResampleTask; output: Uint8Array<ArrayBuffer> };
  dicomFacts: { input: Uint8Array; output: DicomFacts | null };
}

/** A view of a larger buffer would be copied with all of it. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/**
 * Decodes what libvips cannot, in threads that are started when needed and let go when idle: decoding takes up to tenths of a second
 * and cannot be interrupted.
 */
export class CodecThreads {
  readonly #threads = Math.max(1, Math.min(maxThreads, availableParallelism()));
  /** In front of the pool: a signal given to the pool itself would end a thread that is at work, for each tile nobody waits for. */
  readonly #waiting = new WorkQueue({ name: 'tiles', running: this.#threads });
  #pool: Piscina | null = null;

  /**
   * Decodes bytes.
   *
   * @param what names them in messages: `a tile of the TIFF`.
   * @throws TileSourceError where they are corrupt or take longer than 30 s; the signal's reason.
   */
  async decode(task: CodecTask, what: string, signal?: AbortSignal): Promise<Decoded> {
    return this.call('decode', { ...task, bytes: ownBytes(task.bytes) }, `${what} (${codecNames[task.codec]})`, signal);
  }

  /** Runs one of the functions of the program. @throws TileSourceError as {@link CodecThreads.decode} does. */
  async call<Name extends keyof ThreadFunctions>(
    name: Name,
    input: ThreadFunctions[Name]['input'],
    what: string,
    signal?: AbortSignal,
  ): Promise<ThreadFunctions[Name]['output']> {
    const work = async (): Promise<ThreadFunctions[Name]['output']> => {
      try {
        const timeout = AbortSignal.timeout(decodeTimeout);
        return (await this.#started().run(input, { name, signal: timeout })) as ThreadFunctions[Name]['output'];
      } catch (cause) {
        if (cause instanceof Error && cause.name === 'AbortError') {
          throw new TileSourceError(`Decoding ${what} takes longer than ${decodeTimeout / 1000} s.`, { cause });
        }
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new TileSourceError(`Decoding ${what} failed: ${reason.replace(/\.$/, '')}.`, { cause });
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

  #started(): Piscina {
    if (this.#pool === null) {
      this.#pool = new Piscina({ ...program, name: 'decode', minThreads: 0, maxThreads: this.#threads, idleTimeout });
      // A thread that fails outside of any task must not end the process; whoever waits for one hears of it when the time is over.
      this.#pool.on('error', () => {});
    }
    return this.#pool;
  }
}

/** The threads of all tile sources of this process. */
export const codecThreads = new CodecThreads();
