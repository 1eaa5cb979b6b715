import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';

/**
 * Maximum number of bytes of compressed texts. A byte may inflate to a thousand, and libvips inflates them each time that it opens
 * the file.
 */
const maxCompressedText = 2 ** 20;
/** Maximum number of texts, because the library makes an object of each, all at once. */
const maxTexts = 10_000;

const textTypes: ReadonlySet<string> = new Set(['tEXt', 'zTXt', 'iTXt']);

/** Number of bytes that are read at a time when searching chunks. */
const windowLength = 2 ** 16;

/** Number of bytes at the start of an `iTXt` chunk that show whether its text is compressed: keyword, a zero and the flag. */
const textHeadLength = 81;

/**
 * Refuses a PNG with too many texts, or with texts that would take minutes to inflate. They are not used, but libvips has no option
 * to ignore them.
 *
 * @throws TileSourceError
 */
export async function checkPng(reader: ByteReader, signal: AbortSignal | undefined): Promise<void> {
  let [texts, compressed] = [0, 0];
  for await (const { type, start, length } of chunksOf(reader, signal)) {
    if (textTypes.has(type)) texts += 1;
    if (texts > maxTexts) throw new TileSourceError(`The PNG holds more than ${maxTexts} texts.`);
    if (type === 'zTXt' || (type === 'iTXt' && (await isCompressed(reader, start, length)))) compressed += length;
    if (compressed > maxCompressedText) {
      throw new TileSourceError(`The PNG holds more than ${maxCompressedText} bytes of compressed text.`);
    }
  }
}

interface Chunk {
  type: string;
  /** Position of its data in the file. */
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
      if (isSliceOver()) await nextSlice(signal);
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
