import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../contract.js';

/** Most bytes of compressed text: each may become a thousand, and libvips inflates them whenever it opens the file. */
const maxCompressedText = 2 ** 20;

/** Bytes that are read at once while looking for the beginnings of chunks. */
const windowLength = 2 ** 16;

/** Longest beginning of an `iTXt` chunk that says whether its text is compressed: a keyword, a zero and the flag. */
const textHeadLength = 81;

/**
 * Refuses a PNG whose texts would take minutes to inflate. Nobody asks for them, but libvips cannot be told to leave them out.
 *
 * @throws TileSourceError
 */
export async function checkPng(reader: ByteReader, signal: AbortSignal | undefined): Promise<void> {
  let compressed = 0;
  for await (const { type, start, length } of chunksOf(reader, signal)) {
    if (type === 'zTXt' || (type === 'iTXt' && (await isCompressed(reader, start, length)))) compressed += length;
    if (compressed > maxCompressedText) {
      throw new TileSourceError(`The PNG holds more than ${maxCompressedText} bytes of compressed text.`);
    }
  }
}

interface Chunk {
  type: string;
  /** Where its data begin in the file. */
  start: number;
  length: number;
}

async function* chunksOf(reader: ByteReader, signal: AbortSignal | undefined): AsyncGenerator<Chunk> {
  const signature = 8;
  const head = 8;
  const checksum = 4;
  let window: Uint8Array = new Uint8Array(0);
  let windowStart = 0;
  for (let offset = signature; offset + head <= reader.size;) {
    if (offset + head > windowStart + window.length) {
      window = await reader.read(offset, Math.min(windowLength, reader.size - offset), signal && { signal });
      windowStart = offset;
      if (window.length < head) return;
    }
    const view = new DataView(window.buffer, window.byteOffset + offset - windowStart, head);
    const length = view.getUint32(0);
    const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
    yield { type, start: offset + head, length };
    offset += head + length + checksum;
  }
}

async function isCompressed(reader: ByteReader, start: number, length: number): Promise<boolean> {
  const begin = await reader.read(start, Math.max(0, Math.min(textHeadLength, length, reader.size - start)));
  const zero = begin.indexOf(0);
  return zero >= 0 && begin[zero + 1] === 1;
}
