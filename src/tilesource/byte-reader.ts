import { close, fstat, open, read } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { FailedReadError, TileSourceError } from '../errors.js';
import type { ByteReader, ReadOptions, SourceInput } from './tile-source.js';

/** File handles take about twice the processor time of file descriptors for opening and closing, which matters for thousands of files. */
const [openDescriptor, statDescriptor, closeDescriptor] = [promisify(open), promisify(fstat), promisify(close)];

class FileByteReader implements ByteReader {
  readonly size: number;
  readonly #descriptor: number;
  #isClosed = false;
  readonly #name: string;
  /** Number of running reads. The file is closed only after they have ended. */
  #runningReads = 0;
  readonly #closeWaiters: (() => void)[] = [];

  constructor(descriptor: number, size: number, name: string) {
    this.#descriptor = descriptor;
    this.size = size;
    this.#name = name;
  }

  async read(offset: number, length: number, options: ReadOptions = {}): Promise<Uint8Array> {
    options.signal?.throwIfAborted();
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
      throw new TileSourceError(`Cannot read ${length} bytes at ${offset} of ${this.#name}: not a range of a file.`);
    }
    const byteCount = Math.min(length, Math.max(0, this.size - offset));
    if (byteCount === 0) return new Uint8Array(0);
    const { into } = options;
    const isLargeEnough = into !== undefined && into.length >= byteCount;
    const buffer = isLargeEnough ? Buffer.from(into.buffer, into.byteOffset, byteCount) : Buffer.allocUnsafeSlow(byteCount);
    const filled = await this.#fill(buffer, offset);
    // This is not a Buffer, because callers of a Uint8Array rely on `slice()` to copy, and `slice()` of a Buffer does not.
    return new Uint8Array(buffer.buffer, buffer.byteOffset, filled);
  }

  /** Reads until the buffer is full or the file ends. @returns the number of bytes read. */
  async #fill(buffer: Buffer, offset: number): Promise<number> {
    this.#runningReads += 1;
    try {
      let filled = 0;
      // One read may deliver less than requested (after a signal, or from a network file system). Zero means that the file was
      // truncated after it was opened.
      while (filled < buffer.length) {
        const count = await this.#readInto(buffer, filled, offset + filled);
        if (count === 0) break;
        filled += count;
      }
      return filled;
    } finally {
      this.#runningReads -= 1;
      if (this.#runningReads === 0) for (const resume of this.#closeWaiters.splice(0)) resume();
    }
  }

  #readInto(buffer: Buffer, start: number, position: number): Promise<number> {
    // The descriptor may already belong to another file.
    if (this.#isClosed) throw new FailedReadError(`The file ${this.#name} has been closed.`);
    return new Promise((resolve, reject) => {
      read(this.#descriptor, buffer, start, buffer.length - start, position, (error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    // If the file were closed during a read, its descriptor might already belong to another file.
    if (this.#runningReads > 0) await new Promise<void>((resolve) => void this.#closeWaiters.push(resolve));
    if (this.#isClosed) return;
    this.#isClosed = true;
    await closeDescriptor(this.#descriptor);
  }
}

/** The name of a file in messages. Files that describe a Zarr have the same names in every Zarr, so their folder is named too. */
export function shownName(path: string): string {
  const name = basename(path);
  return /^(zarr\.json|\.z(attrs|group|array|metadata))$/.test(name) ? `${basename(dirname(path))}/${name}` : name;
}

/**
 * Opens a regular file on this machine for random access.
 *
 * @throws TileSourceError if the path cannot be opened or is not a regular file.
 */
export async function openFileReader(path: string): Promise<ByteReader> {
  const name = shownName(path);
  let descriptor: number;
  try {
    descriptor = await openDescriptor(path, 'r');
  } catch (cause) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '');
    throw new FailedReadError(isMissing ? `The file ${name} is missing.` : `The file ${name} cannot be opened.`, { cause });
  }
  try {
    const stats = await statDescriptor(descriptor);
    if (!stats.isFile()) throw new TileSourceError(`${name} is not a regular file.`);
    return new FileByteReader(descriptor, stats.size, name);
  } catch (error) {
    await closeDescriptor(descriptor);
    throw error;
  }
}

/** The input for a tile source, for a file at `path` on this machine. The name defaults to the last part of the path. */
export function fileInput(path: string, options: { name?: string; mimeType?: string } = {}): SourceInput {
  return {
    name: options.name ?? basename(path),
    ...(options.mimeType === undefined ? {} : { mimeType: options.mimeType }),
    path,
    open: () => openFileReader(path),
  };
}
