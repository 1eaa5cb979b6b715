import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, open, readFile, readdir, rename, rm, stat, type FileHandle, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { LargeImageError } from '../../index.js';
import { NotFoundError, shownName } from '../../larger-host.js';

const keyPattern = /^[0-9a-f]{24,64}$/;

/** A range of bytes to write. */
export interface BytesToWrite {
  offset: number;
  /** Final number of bytes of the upload. */
  uploadSize: number;
  source: Readable;
  signal?: AbortSignal | undefined;
  /** Called before each write. Throws if writing is no longer permitted. */
  checkPermission?: (() => void) | undefined;
}

/** Result of writing a range of bytes to an upload. */
export interface WriteResult {
  /** Number of bytes of the upload that are on disk. */
  received: number;
  /** The reason why the stream ended early, if it did. */
  failure?: unknown;
  /** Whether the stream had more bytes than the upload still needed. In this case, no bytes of the stream were kept. */
  isTooLong: boolean;
}

/** Thrown if an upload has fewer bytes on disk than it should. Nothing was written, because further bytes would leave a gap of zeros. */
export class MissingBytesError extends Error {
  override name = 'MissingBytesError';
}

/**
 * Bytes in one directory: finished files under keys, and unfinished uploads. User-provided names never become paths; keys and
 * upload ids are hexadecimal texts made by the host.
 */
export class ByteStore {
  readonly #filesFolder: string;
  readonly #uploadsFolder: string;
  /** The file with the id of the database that this directory belongs to. */
  readonly #ownerPath: string;

  constructor(readonly root: string) {
    this.#filesFolder = join(root, 'files');
    this.#uploadsFolder = join(root, 'uploads');
    this.#ownerPath = join(root, 'store-id');
  }

  /** @throws LargeImageError `unavailable` if files cannot be read or written. */
  async requireWritable(): Promise<void> {
    try {
      await access(this.#filesFolder, constants.R_OK | constants.W_OK);
    } catch (cause) {
      throw new LargeImageError('unavailable', 'The data folder cannot be read or written.', { cause });
    }
  }

  /** Creates the directories. If they contain no files yet, they are assigned to the database with this id. */
  async initialize(databaseId: string): Promise<void> {
    await mkdir(this.#filesFolder, { recursive: true });
    await mkdir(this.#uploadsFolder, { recursive: true });
    if ((await readFileLength(this.#ownerPath)) !== null) return;
    if ((await readdir(this.#filesFolder)).length > 0 || (await readdir(this.#uploadsFolder)).length > 0) return;
    const candidatePath = `${this.#ownerPath}.${randomUUID()}`;
    await writeFile(candidatePath, `${databaseId}\n${randomUUID()}\n`, { flush: true });
    try {
      // Unlike a rename, this fails if another process has created the file first, so that all processes read the same id.
      await link(candidatePath, this.#ownerPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      await rm(candidatePath, { force: true });
    }
    await syncDirectory(this.root);
  }

  /** The path of the bytes of a key. */
  pathOf(key: string): string {
    // The folder is named after the last digits, because object ids start with the time and would almost all be in the same folder.
    return join(this.#filesFolder, key.slice(-2), checkKey(key));
  }

  /**
   * Writes a stream at `offset` of an upload, and flushes it to disk. Existing bytes after `offset` are removed. If the disk fails
   * or is full, the upload keeps its bytes up to `offset`.
   *
   * @throws MissingBytesError if the upload ends before `offset`; otherwise the error of the disk.
   */
  async write(uploadId: string, { offset, uploadSize, source, signal, checkPermission }: BytesToWrite): Promise<WriteResult> {
    const path = this.#uploadPath(uploadId);
    const handle = await open(path, offset === 0 ? constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC : 'r+', 0o600).catch(
      throwMissingBytes,
    );
    try {
      await shorten(handle, offset);
      const result = await writeStream(handle, { offset, uploadSize, source, signal, checkPermission });
      if (result.isTooLong) await shorten(handle, offset);
      await handle.datasync();
      // A complete upload is renamed immediately, so only the name of an incomplete one must survive a power failure.
      if (offset === 0 && result.received < uploadSize) await syncDirectory(this.#uploadsFolder);
      return result;
    } catch (error) {
      await shorten(handle, offset).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
  }

  /** Shortens an upload to its first `length` bytes. @throws MissingBytesError if it has fewer. */
  async truncate(uploadId: string, length: number): Promise<void> {
    const handle = await open(this.#uploadPath(uploadId), 'r+');
    try {
      await shorten(handle, length);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Creates the file of an upload without bytes. */
  async createEmpty(uploadId: string): Promise<void> {
    const handle = await open(this.#uploadPath(uploadId), 'w', 0o600);
    await handle.close();
  }

  /** Number of bytes of an upload that are on disk; `null` if it has no file. */
  async lengthOf(uploadId: string): Promise<number | null> {
    return readFileLength(this.#uploadPath(uploadId));
  }

  /** Whether the bytes of a key are stored. */
  async has(key: string): Promise<boolean> {
    return (await readFileLength(this.pathOf(key))) !== null;
  }

  /**
   * Turns a complete upload into the bytes of a key, and flushes bytes and name to disk. If the bytes of the key are already
   * stored, as when the call is repeated after a crash, only the upload is removed.
   *
   * @throws MissingBytesError if the upload does not have exactly `size` bytes
   */
  async commit(uploadId: string, { key, size }: { key: string; size: number }): Promise<void> {
    const target = this.pathOf(key);
    const source = this.#uploadPath(uploadId);
    if (await this.has(key)) await rm(source, { force: true });
    else {
      await this.#requireComplete(source, size);
      if ((await mkdir(dirname(target), { recursive: true })) !== undefined) await syncDirectory(this.#filesFolder);
      await rename(source, target).catch(throwMissingBytes);
    }
    await syncDirectory(dirname(target));
  }

  async #requireComplete(path: string, size: number): Promise<void> {
    const handle = await open(path, 'r').catch(throwMissingBytes);
    try {
      const actualSize = (await handle.stat()).size;
      if (actualSize !== size)
        throw new MissingBytesError(`The upload should have ${size} bytes on disk, and has ${actualSize}.`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Removes an upload. */
  async discard(uploadId: string): Promise<void> {
    await rm(this.#uploadPath(uploadId), { force: true });
  }

  /** Removes the bytes of a key. */
  async remove(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  /** All finished files and unfinished uploads. Files whose names are not keys are left out. */
  async *list(): AsyncGenerator<{ key: string; remove: () => Promise<void> }> {
    for (const key of await listKeys(this.#uploadsFolder)) yield { key, remove: () => this.discard(key) };
    for (const directory of await readdir(this.#filesFolder)) {
      for (const key of await listKeys(join(this.#filesFolder, directory))) yield { key, remove: () => this.remove(key) };
    }
  }

  /**
   * Whether the folder belongs to the database with this id. Another database, such as one in memory or a new one, has no records of the files
   * here.
   */
  async belongsTo(databaseId: string): Promise<boolean> {
    return (await this.#readIds()).ownerId === databaseId;
  }

  /** The id of this directory; `null` if it has none. Copies of the directory have the same id. */
  async readDirectoryId(): Promise<string | null> {
    return (await this.#readIds()).directoryId || null;
  }

  async #readIds(): Promise<{ ownerId: string; directoryId: string }> {
    const [ownerId = '', directoryId = ''] = (await readFile(this.#ownerPath, 'utf8').catch(() => '')).split('\n');
    return { ownerId, directoryId };
  }

  #uploadPath(uploadId: string): string {
    return join(this.#uploadsFolder, checkKey(uploadId));
  }
}

/** Bytes of a file on disk from `start` to `end`, not including `end`. @throws NotFoundError if there is no such file. */
export async function readBytes(path: string, { start, end }: { start: number; end: number }): Promise<Readable> {
  if (end <= start) return Readable.from([], { objectMode: false });
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (cause) {
    if (isMissingFile(cause)) throw new NotFoundError(`The file ${shownName(path)} is missing.`);
    throw cause;
  }
  return handle.createReadStream({ start, end: end - 1, highWaterMark: 256 * 1024 });
}

/** Shortens a file, and never lengthens it. @throws MissingBytesError if it is already shorter. */
async function shorten(handle: FileHandle, length: number): Promise<void> {
  if ((await handle.stat()).size < length) throw new MissingBytesError(`The upload does not have ${length} bytes on disk.`);
  await handle.truncate(length);
}

async function writeStream(
  handle: FileHandle,
  { offset, uploadSize, source, signal, checkPermission }: BytesToWrite,
): Promise<WriteResult> {
  let position = offset;
  // Ending early must not close the connection, because the client still has to receive the reason.
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  try {
    for (;;) {
      let nextChunk: IteratorResult<Uint8Array>;
      try {
        nextChunk = await chunks.next();
        signal?.throwIfAborted();
      } catch (failure) {
        return { received: position, failure, isTooLong: false };
      }
      if (nextChunk.done) return { received: position, isTooLong: false };
      if (position + nextChunk.value.byteLength > uploadSize) return { received: offset, isTooLong: true };
      checkPermission?.();
      position = await writeBytes(handle, nextChunk.value, position);
    }
  } finally {
    await chunks.return?.();
  }
}

/** Writes all of `bytes` at a position. @returns the position after them. */
async function writeBytes(handle: FileHandle, bytes: Uint8Array, position: number): Promise<number> {
  let writtenLength = 0;
  while (writtenLength < bytes.byteLength) {
    writtenLength += (await handle.write(bytes, writtenLength, bytes.byteLength - writtenLength, position + writtenLength))
      .bytesWritten;
  }
  return position + writtenLength;
}

function checkKey(text: string): string {
  if (!keyPattern.test(text)) throw new Error(`Not a key of this store: ${JSON.stringify(text)}`);
  return text;
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function listKeys(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && keyPattern.test(entry.name)).map(({ name }) => name);
}

/** Throws a {@link MissingBytesError} for an error about a missing file, and any other error unchanged. */
function throwMissingBytes(cause: unknown): never {
  if (isMissingFile(cause)) throw new MissingBytesError('The upload has no bytes on disk.', { cause });
  throw cause;
}

async function readFileLength(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}

/** Flushes the names in a directory to disk, if the system supports it, so that they survive a power failure. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
