import { createWriteStream } from 'node:fs';
import { symlink, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BusyError, TileSourceError } from '../errors.js';
import type { ByteReader, SourceInput } from './tile-source.js';

/** Maximum number of bytes that are copied to this machine for one image, for a library that only reads paths. */
export const maxCopiedBytes = 4 * 2 ** 30;
/** Maximum total size of these copies in one process, in bytes. */
const maxTotalCopiedBytes = 16 * 2 ** 30;
/** Bytes per read. Reads of this length are not cached, so a copy displaces nothing in the cache. */
const chunkBytes = 16 * 2 ** 20;
/** When a client should try again if {@link maxTotalCopiedBytes} is used up. */
const retryAfterSeconds = 30;

let copiedBytes = 0;

/** A file at a temporary path, for a library that reads paths. */
export interface LocalFile {
  /** Number of copied bytes; 0 for a link. */
  byteCount: number;
  /** Frees the capacity that the copy takes. The caller removes the file. */
  release(): void;
}

/**
 * Makes a file readable at a path. A file on this machine is linked, any other file is copied. On failure, nothing is left at the
 * path.
 *
 * @param path a path that does not exist yet.
 * @param maxBytes maximum number of bytes to copy: {@link maxCopiedBytes} minus the bytes of the image that are already copied.
 * @throws TileSourceError if the file is larger than `maxBytes`, and BusyError if copies of other images use up the capacity.
 */
export async function linkOrCopyFile(
  input: SourceInput,
  path: string,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<LocalFile> {
  if (input.path !== null) {
    await symlink(resolve(input.path), path);
    return { byteCount: 0, release: () => undefined };
  }
  const reader = await input.open();
  try {
    const byteCount = reader.size;
    if (byteCount > maxBytes) {
      throw new TileSourceError(
        `${input.name} is not on this machine, and can only be read by path: at most ${maxCopiedBytes / 2 ** 30} GiB of an image are copied. Convert it.`,
      );
    }
    if (copiedBytes + byteCount > maxTotalCopiedBytes) {
      throw new BusyError('Too many images that are not on this machine are open. Try again later.', retryAfterSeconds);
    }
    copiedBytes += byteCount;
    let isCounted = true;
    const release = () => {
      if (isCounted) copiedBytes -= byteCount;
      isCounted = false;
    };
    try {
      await pipeline(Readable.from(readChunks(reader, signal)), createWriteStream(path, { flags: 'wx', mode: 0o600 }), {
        ...(signal && { signal }),
      });
    } catch (error) {
      release();
      await unlink(path).catch(() => undefined);
      throw error;
    }
    return { byteCount, release };
  } finally {
    await reader.close();
  }
}

async function* readChunks(reader: ByteReader, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < reader.size; offset += chunkBytes) {
    yield await reader.read(offset, Math.min(chunkBytes, reader.size - offset), signal && { signal });
  }
}
