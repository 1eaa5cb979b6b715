import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BadParameterError, LargeImageError } from '../../../errors.js';
import { bodyChunks } from '../replies.js';

/** Saves a body as a new file. @throws BadParameterError, LargeImageError `too-large`. Also throws errors of the disk. */
export async function saveBody(body: Readable, path: string, maxBytes: number, signal: AbortSignal): Promise<void> {
  let byteCount = 0;
  const limitedChunks = async function* () {
    for await (const chunk of bodyChunks(body)) {
      byteCount += chunk.length;
      if (byteCount > maxBytes) throw new LargeImageError('too-large', `The table has more than ${maxBytes} bytes.`);
      yield chunk;
    }
  };
  try {
    await pipeline(limitedChunks, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof LargeImageError) throw cause;
    const { syscall } = cause as { syscall?: unknown };
    // `outageErrorOf` chooses the response to errors of the disk.
    if (syscall === 'write' || syscall === 'open') throw cause;
    throw new BadParameterError('The request body is incomplete.', { cause });
  }
  if (byteCount === 0) throw new BadParameterError('The request has no body.');
}
