import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { BadValueError } from '../../../errors.js';
import type { HostFiles } from '../../../host.js';
import type { FileRecord } from '../../../core/host/records.js';
import { findProgram } from '../../../core/concurrency/program.js';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import type { CsvColumns, CsvFunctions } from './csv-thread.js';

/** Maximum number of rows that are read from a file. */
const maxRows = 250_000;
const maxColumns = 1000;
/** Maximum number of cells that a request may read from a file. */
const maxCells = 2_000_000;
/** Maximum size of a file that is read, in bytes. */
const maxBytes = 64 * 1024 * 1024;
/** Maximum time to read a file, in milliseconds. */
const timeoutMs = 30_000;
/** Memory of the thread in MiB, several times the size of the cells. */
const memoryMiB = 512;

/** Whether a file contains comma-separated values and is short enough to be read. */
export function isDataFile({ name, mimeType, size }: FileRecord): boolean {
  return size <= maxBytes && (/\.csv$/i.test(name) || mimeType === 'text/csv');
}

/** The requested columns and rows of a file. */
export interface DataFileRequest {
  /** Keys of the requested columns. Columns that identify the subject of a row are always read. `null` requests all columns. */
  keys: readonly string[] | null;
  /** Maximum number of rows to read. */
  limit?: number | undefined;
  signal: AbortSignal;
}

/** Reads CSV files in a thread with a time limit, because even a short file can take long to parse. */
export class DataFiles {
  readonly #threads = new ThreadPool<CsvFunctions>({
    program: findProgram(import.meta.url, { source: './csv-thread.ts', built: 'csv-thread' }),
    name: 'data files',
    timeoutMs,
    memoryMiB,
  });

  constructor(private readonly files: Pick<HostFiles, 'read'>) {}

  /**
   * Reads the columns of a file whose first line names the columns. A column is numeric if all its non-empty cells are numbers. A file in
   * another format has no rows.
   *
   * @throws BadValueError if the request needs more cells than the limit, BusyError if too many requests wait.
   */
  async read(file: FileRecord, { keys, limit = maxRows, signal }: DataFileRequest): Promise<CsvColumns> {
    const { port1: ownPort, port2: threadPort } = new MessageChannel();
    const sendController = new AbortController();
    const sending = this.#send(file, ownPort, AbortSignal.any([signal, sendController.signal]));
    try {
      const task = { port: threadPort, keys, maxRows: Math.min(limit, maxRows), maxColumns, maxCells };
      const reading = this.#threads.run('read', task, { inputName: file.name, signal, transfer: [threadPort] });
      // The race fails as soon as sending fails. Sending resolves only after the thread has read everything.
      const csvColumns = await Promise.race([reading, sending.then(() => reading)]);
      if (!csvColumns.isTooLarge) return csvColumns;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      sendController.abort();
      ownPort.close();
      sending.catch(() => undefined);
    }
    throw new BadValueError(
      `${file.name} contains more than ${maxCells} values in the requested columns. Request fewer columns.`,
    );
  }

  /** Stops the thread. */
  close(): Promise<void> {
    return this.#threads.close();
  }

  /** Sends the bytes of a file chunk by chunk, as the thread requests them. */
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
}
