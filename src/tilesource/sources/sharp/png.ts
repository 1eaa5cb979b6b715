import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';

/**
 * Maximum number of bytes of compressed texts. A byte may inflate to a thousand bytes, and libvips inflates all texts each time
 * that it opens the file.
 */
const maxCompressedTextBytes = 2 ** 20;
/** Maximum number of texts, because libvips creates an object for each text. */
const maxTexts = 10_000;

const textTypes: ReadonlySet<string> = new Set(['tEXt', 'zTXt', 'iTXt']);

/** Number of bytes that are read at a time when searching chunks. */
const windowBytes = 2 ** 16;

/** Number of bytes at the start of an `iTXt` chunk that show whether its text is compressed: keyword, a zero and the flag. */
const textHeadBytes = 81;

/**
 * Refuses a PNG with too many texts, or with texts that would take minutes to inflate. The texts are not used, but libvips has no
 * option to ignore them.
 *
 * @throws TileSourceError
 */
export async function checkPng(reader: ByteReader, signal: AbortSignal | undefined): Promise<void> {
  let [textCount, compressedBytes] = [0, 0];
  for await (const { type, start, length } of readChunks(reader, signal)) {
    if (textTypes.has(type)) textCount += 1;
    if (textCount > maxTexts) throw new TileSourceError(`The PNG contains more than ${maxTexts} texts.`);
    if (type === 'zTXt' || (type === 'iTXt' && (await isCompressed(reader, start, length)))) compressedBytes += length;
    if (compressedBytes > maxCompressedTextBytes) {
      throw new TileSourceError(`The PNG contains more than ${maxCompressedTextBytes} bytes of compressed text.`);
    }
  }
}

interface Chunk {
  type: string;
  /** Position of the chunk's data in the file. */
  start: number;
  length: number;
}

async function* readChunks(reader: ByteReader, signal: AbortSignal | undefined): AsyncGenerator<Chunk> {
  const signatureBytes = 8;
  const headerBytes = 8;
  const checksumBytes = 4;
  let window: Uint8Array = new Uint8Array(0);
  let windowStart = 0;
  for (let offset = signatureBytes; offset + headerBytes <= reader.size;) {
    if (offset + headerBytes > windowStart + window.length) {
      window = await reader.read(offset, Math.min(windowBytes, reader.size - offset), signal && { signal });
      windowStart = offset;
      if (window.length < headerBytes) return;
      if (isSliceOver()) await nextSlice(signal);
    }
    const view = new DataView(window.buffer, window.byteOffset + offset - windowStart, headerBytes);
    const length = view.getUint32(0);
    const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
    yield { type, start: offset + headerBytes, length };
    offset += headerBytes + length + checksumBytes;
  }
}

async function isCompressed(reader: ByteReader, start: number, length: number): Promise<boolean> {
  const textHead = await reader.read(start, Math.max(0, Math.min(textHeadBytes, length, reader.size - start)));
  const zero = textHead.indexOf(0);
  return zero >= 0 && textHead[zero + 1] === 1;
}
