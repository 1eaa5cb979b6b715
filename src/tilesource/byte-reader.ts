import { close, fstat, open, read } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { FailedReadError, TileSourceError } from '../errors.js';
import type { ByteReader, ReadOptions, SourceInput } from './tile-source.js';

/** Opening and closing a descriptor takes half the processor time of a file handle, which matters for thousands of files. */
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
    const readCount = await this.#fill(buffer, offset);
    // The result is not a Buffer, because callers rely on `slice()` to copy, and `slice()` of a Buffer does not copy.
    return new Uint8Array(buffer.buffer, buffer.byteOffset, readCount);
  }

  /** Reads until the buffer is full or the file ends. @returns the number of bytes read. */
  async #fill(buffer: Buffer, offset: number): Promise<number> {
    this.#runningReads += 1;
    try {
      let readCount = 0;
      // One read may deliver less than requested (after a signal, or from a network file system). Zero means that the file was
      // truncated after it was opened.
      while (readCount < buffer.length) {
        const count = await this.#readInto(buffer, readCount, offset + readCount);
        if (count === 0) break;
        readCount += count;
      }
      return readCount;
    } finally {
      this.#runningReads -= 1;
      if (this.#runningReads === 0) for (const resume of this.#closeWaiters.splice(0)) resume();
    }
  }

  #readInto(buffer: Buffer, start: number, position: number): Promise<number> {
    // After closing, the number of the descriptor may already belong to another file.
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

/** The name of a file in messages. It includes the folder for files that have the same name in every Zarr. */
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

/** Makes the input for a tile source from a file on this machine. By default, its name is the last part of the path. */
export function fileInput(path: string, options: { name?: string; mimeType?: string } = {}): SourceInput {
  return {
    name: options.name ?? basename(path),
    ...(options.mimeType === undefined ? {} : { mimeType: options.mimeType }),
    path,
    open: () => openFileReader(path),
  };
}
