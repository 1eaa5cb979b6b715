import { promisify } from 'node:util';
import { constants, createDeflateRaw, inflateRaw, type DeflateRaw, type ZlibOptions } from 'node:zlib';
import type { FetchedPack, PackRecord } from '../records.js';

const inflate = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);

/** Texts with fewer bytes than this are not compressed. */
const minCompressedBytes = 256;
/** Compression level. docs/annotation-store.md explains the choice. */
const deflateLevel = 1;
/**
 * Maximum bytes of text to decompress in one call. Each call has as much overhead as 20 KB of text, but several calls can run in the
 * thread pool at the same time.
 */
const textBytesPerCall = 1024 * 1024;

/** Compressed text is produced in pieces of this many bytes. Most packs need one piece. */
const pieceBytes = 64 * 1024;
/** Maximum number of idle streams to keep, equal to the number of threads in the thread pool. */
const maxIdleStreams = 4;
/** Idle streams are kept, because creating a stream takes a quarter as long as compressing a pack. */
const idleStreams: DeflateRaw[] = [];

/** Creates a stream that outputs each written text completely, and whose output never refers to an earlier text. */
function createStream(): DeflateRaw {
  return createDeflateRaw({ level: deflateLevel, flush: constants.Z_FULL_FLUSH, chunkSize: pieceBytes });
}

async function deflate(text: Buffer): Promise<Buffer> {
  const stream = idleStreams.pop() ?? createStream();
  const pieces: Buffer[] = [];
  const addPiece = (piece: Buffer) => pieces.push(piece);
  stream.on('data', addPiece);
  try {
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject);
      stream.write(text, (error) => {
        stream.off('error', reject);
        if (error) reject(error);
        else resolve();
      });
    });
  } catch (error) {
    stream.destroy();
    throw error;
  }
  stream.off('data', addPiece);
  if (idleStreams.length < maxIdleStreams) idleStreams.push(stream);
  else stream.close();
  // The bytes are copied, because pieces are parts of larger buffers.
  return Buffer.concat(pieces);
}

/**
 * Compresses the text of a pack on the thread pool. The output is flushed but not ended, so that the outputs of several packs can be
 * joined and decompressed together.
 */
export async function compress(text: Buffer): Promise<Pick<PackRecord, 'codec' | 'text'>> {
  if (text.length < minCompressedBytes) return { codec: 'none', text };
  return { codec: 'deflate', text: await deflate(text) };
}

/** The compressed text of a pack, and its uncompressed length. */
export interface CompressedText {
  pack: Pick<FetchedPack, 'codec' | 'text'>;
  textBytes: number;
}

/** Decompresses the texts of packs. */
export async function decompressTexts(packs: readonly CompressedText[]): Promise<Buffer[]> {
  const texts: Buffer[] = Array.from({ length: packs.length });
  const decompressions: Promise<void>[] = [];
  let start = 0;
  while (start < packs.length) {
    let end = start;
    let bytes = 0;
    while (end < packs.length && (end === start || bytes + packs[end]!.textBytes <= textBytesPerCall)) {
      bytes += packs[end]!.textBytes;
      end += 1;
    }
    decompressions.push(decompressTogether(packs.slice(start, end), texts, start));
    start = end;
  }
  await Promise.all(decompressions);
  return texts;
}

async function decompressTogether(packs: readonly CompressedText[], texts: Buffer[], firstIndex: number): Promise<void> {
  const deflatedIndices: number[] = [];
  let bytes = 0;
  for (const [i, { pack, textBytes }] of packs.entries()) {
    if (pack.codec === 'none') texts[firstIndex + i] = pack.text;
    else {
      deflatedIndices.push(i);
      bytes += textBytes;
    }
  }
  if (deflatedIndices.length === 0) return;
  const joinedTexts = Buffer.concat(deflatedIndices.map((i) => packs[i]!.pack.text));
  // With this chunk size the output fits into one buffer, so that zlib does not have to join several buffers.
  const text = await inflate(joinedTexts, { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: Math.max(64, bytes + 1) });
  if (text.length !== bytes) throw new Error(`The texts of packs have ${text.length} bytes, not ${bytes}`);
  let offset = 0;
  for (const i of deflatedIndices) {
    const { textBytes } = packs[i]!;
    texts[firstIndex + i] = text.subarray(offset, offset + textBytes);
    offset += textBytes;
  }
}
