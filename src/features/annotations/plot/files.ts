import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { BadValueError, BusyError } from '../../../errors.js';
import type { HostFiles } from '../../../host.js';
import type { FileRecord } from '../../../core/host/host-records.js';
import { threadProgram } from '../../../core/concurrency/thread-program.js';
import type { CsvColumns, CsvTask } from './csv-thread.js';

/** Rows of one file that are read. */
const maxRows = 250_000;
const maxColumns = 1000;
/** Cells of the columns that one request reads of a file. */
const maxCells = 2_000_000;
/** Longest file that is read, in bytes. */
const maxBytes = 64 * 1024 * 1024;
/** Longest time to read a file, in milliseconds. */
const timeoutMs = 30_000;
/** Idle time after which the thread is let go. */
const idleTimeout = 10_000;
/** Requests that may wait for the thread. */
const maxQueue = 16;
/** Memory of the thread, in MiB: the cells, some times over. */
const maxThreadMemoryMiB = 512;

const program = threadProgram(import.meta.url, { source: './csv-thread.ts', built: 'csv-thread' });

/** Whether a file holds comma-separated values. */
export function isDataFile({ name, mimeType, size }: FileRecord): boolean {
  return size <= maxBytes && (/\.csv$/i.test(name) || mimeType === 'text/csv');
}

/** Errors of a thread that took too long or too much. */
function isThreadEnd(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'AbortError' || name === 'TimeoutError' || code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** What is wanted of a file. */
export interface DataFileRequest {
  /** Keys of the columns that are wanted, beside those that say what a row is about. `null`: all. */
  keys: readonly string[] | null;
  /** Only the first rows. */
  limit?: number | undefined;
  signal: AbortSignal;
}

/** Reads files of comma-separated values in a thread: what they cost is not to be seen from their length. */
export class DataFiles {
  #pool: Piscina<CsvTask, CsvColumns> | null = null;

  constructor(private readonly files: Pick<HostFiles, 'read'>) {}

  /**
   * The columns of a file whose first line names them. A column is of numbers when all its cells that are not empty are. A file that
   * cannot be read so has no rows.
   *
   * @throws BadValueError where more cells are wanted than may be read; BusyError where too many wait; the signal's reason.
   */
  async read(file: FileRecord, { keys, limit = maxRows, signal }: DataFileRequest): Promise<CsvColumns> {
    const pool = this.#started();
    if (pool.queueSize >= maxQueue) {
      throw new BusyError(`Too many files of data are being waited for (${maxQueue}). Try again later.`, 10);
    }
    const { port1: ours, port2: theirs } = new MessageChannel();
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const sending = this.#send(file, ours, until);
    try {
      const task = { port: theirs, keys, maxRows: Math.min(limit, maxRows), maxColumns, maxCells };
      const reading = pool.run(task, { signal: until, transferList: [theirs] });
      // Sending ends well only after the thread has read everything.
      const found = await Promise.race([reading, sending.then(() => reading)]);
      if (!found.isTooLarge) return found;
    } catch (cause) {
      signal.throwIfAborted();
      if (!isThreadEnd(cause)) throw cause;
      throw new BadValueError(`${file.name} cannot be read within ${timeoutMs / 1000} s and ${maxThreadMemoryMiB} MiB.`, {
        cause,
      });
    } finally {
      ours.close();
      sending.catch(() => undefined);
    }
    throw new BadValueError(`${file.name} holds more than ${maxCells} values in the columns asked for. Ask for fewer columns.`);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  /** Hands over the bytes, chunk by chunk as they are asked for. */
  async #send(file: FileRecord, port: MessagePort, signal: AbortSignal): Promise<void> {
    const bytes = await this.files.read(file.doc, { start: 0, end: file.size }, { signal });
    const chunks = bytes[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    try {
      await new Promise<void>((resolve, reject) => {
        port.on('close', resolve);
        port.on('message', () => {
          chunks.next().then(
            ({ done, value }) => port.postMessage(done === true ? null : new Uint8Array(value)),
            (error: unknown) => {
              reject(error instanceof Error ? error : new Error(String(error)));
              port.close();
            },
          );
        });
      });
    } finally {
      bytes.destroy();
    }
  }

  #started(): Piscina<CsvTask, CsvColumns> {
    this.#pool ??= new Piscina<CsvTask, CsvColumns>({
      ...program,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout,
      resourceLimits: { maxOldGenerationSizeMb: maxThreadMemoryMiB },
    });
    return this.#pool;
  }
}
