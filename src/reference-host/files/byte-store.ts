import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { NotFoundError } from '../../index.js';

/** What became of one stretch of bytes written to an upload. */
export interface WrittenChunk {
  /** How many bytes of the upload are on disk now, from its beginning. */
  received: number;
  /** Why the stream ended early, if it did. */
  failure?: unknown;
  /** Whether the stream held more than the upload may; nothing of it was kept then. */
  tooMany: boolean;
}

/**
 * Bytes below one directory: finished files under keys, unfinished uploads beside them. Names of users never become paths;
 * keys and upload ids are hexadecimal text that the host made.
 */
export class ByteStore {
  readonly #files: string;
  readonly #uploads: string;

  constructor(readonly root: string) {
    this.#files = join(root, 'files');
    this.#uploads = join(root, 'uploads');
  }

  /** Makes the directories. */
  async prepare(): Promise<void> {
    await mkdir(this.#files, { recursive: true });
    await mkdir(this.#uploads, { recursive: true });
  }

  /** Where the bytes of a key lie. */
  pathOf(key: string): string {
    // The last digits, since the first ones of object ids are the time.
    return join(this.#files, key.slice(-2), checkHex(key));
  }

  /** Writes a stream at `offset` of an upload, flushed to disk; cuts off whatever lay behind `offset` before. */
  async write(
    uploadId: string,
    { offset, size, source, signal }: { offset: number; size: number; source: Readable; signal?: AbortSignal },
  ): Promise<WrittenChunk> {
    const cut = offset === 0 ? constants.O_TRUNC : 0;
    const handle = await open(this.#uploadPath(uploadId), constants.O_RDWR | constants.O_CREAT | cut, 0o600);
    try {
      if (offset > 0) await handle.truncate(offset);
      const result = await writeAll(handle, { offset, size, source, ...(signal && { signal }) });
      if (result.tooMany) await handle.truncate(offset);
      await handle.datasync();
      return result;
    } finally {
      await handle.close();
    }
  }

  /** Cuts an upload back to its first `length` bytes. */
  async truncate(uploadId: string, length: number): Promise<void> {
    const handle = await open(this.#uploadPath(uploadId), 'r+');
    try {
      await handle.truncate(length);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Makes the bytes of an upload that will have none. */
  async createEmpty(uploadId: string): Promise<void> {
    const handle = await open(this.#uploadPath(uploadId), 'w', 0o600);
    await handle.close();
  }

  /** Turns a complete upload into the bytes of a key. Done once more after a crash, it does nothing. */
  async commit(uploadId: string, key: string): Promise<void> {
    const target = this.pathOf(key);
    const source = this.#uploadPath(uploadId);
    try {
      await rename(source, target);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (!(await exists(target))) {
        // The first file of its directory.
        await mkdir(dirname(target), { recursive: true });
        await rename(source, target);
      }
    }
    const directory = await open(dirname(target), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  /** Forgets an upload. */
  async discard(uploadId: string): Promise<void> {
    await rm(this.#uploadPath(uploadId), { force: true });
  }

  /** Removes the bytes of a key. */
  async remove(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  /** Ids of uploads whose bytes have not changed since a date. */
  async idleUploads(since: Date): Promise<string[]> {
    const ids: string[] = [];
    for (const name of await readdir(this.#uploads)) {
      if (!/^[0-9a-f]+$/.test(name)) continue;
      const found = await stat(join(this.#uploads, name)).catch(() => null);
      if (found !== null && found.mtime < since) ids.push(name);
    }
    return ids;
  }

  #uploadPath(uploadId: string): string {
    return join(this.#uploads, checkHex(uploadId));
  }
}

/** Bytes of a file on disk from `start` up to, not including, `end`. @throws NotFoundError when there is no such file. */
export async function readBytes(path: string, { start, end }: { start: number; end: number }): Promise<Readable> {
  if (end <= start) return Readable.from([], { objectMode: false });
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (cause) {
    if (isMissing(cause)) throw new NotFoundError('The bytes of this file are no longer in their place.');
    throw cause;
  }
  return handle.createReadStream({ start, end: end - 1, highWaterMark: 256 * 1024 });
}

async function writeAll(
  handle: FileHandle,
  { offset, size, source, signal }: { offset: number; size: number; source: Readable; signal?: AbortSignal },
): Promise<WrittenChunk> {
  let position = offset;
  try {
    // Ending the loop early must leave the connection open: the client is still to be told why.
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      signal?.throwIfAborted();
      if (position + chunk.byteLength > size) return { received: offset, tooMany: true };
      let written = 0;
      while (written < chunk.byteLength) {
        const { bytesWritten } = await handle.write(chunk, written, chunk.byteLength - written, position);
        written += bytesWritten;
        position += bytesWritten;
      }
    }
  } catch (failure) {
    return { received: position, failure, tooMany: false };
  }
  return { received: position, tooMany: false };
}

function checkHex(text: string): string {
  if (!/^[0-9a-f]{24,64}$/.test(text)) throw new Error(`Not a key of this store: ${JSON.stringify(text)}`);
  return text;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
