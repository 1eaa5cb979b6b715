import { promisify } from 'node:util';
import { constants, createDeflateRaw, inflateRaw, type DeflateRaw, type ZlibOptions } from 'node:zlib';
import type { FetchedPack, PackRecord } from '../records.js';

const inflate = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);

/** Shorter texts are not compressed. */
const smallestCompressed = 256;
/** Measured: see docs/annotation-store.md. */
const level = 1;
/**
 * Size of the texts that one call decompresses, in bytes. The overhead of a call is that of 20 KB of text, but several calls can
 * use the thread pool at the same time.
 */
const textPerCall = 1024 * 1024;

/** Compressed text is produced in pieces of this many bytes; most packs need one. */
const pieceBytes = 64 * 1024;
/** Number of idle streams to keep; the thread pool has as many threads. */
const maxIdle = 4;
/** Idle streams. Creating one takes a quarter of the time that compressing a pack does. */
const idle: DeflateRaw[] = [];

/** A stream that outputs every text completely, and whose later output does not refer to earlier text. */
function newStream(): DeflateRaw {
  return createDeflateRaw({ level, flush: constants.Z_FULL_FLUSH, chunkSize: pieceBytes });
}

async function deflate(text: Buffer): Promise<Buffer> {
  const stream = idle.pop() ?? newStream();
  const pieces: Buffer[] = [];
  const take = (piece: Buffer) => pieces.push(piece);
  stream.on('data', take);
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
  stream.off('data', take);
  if (idle.length < maxIdle) idle.push(stream);
  else stream.close();
  // The bytes are copied, because pieces are parts of larger buffers.
  return Buffer.concat(pieces);
}

/**
 * Compresses the text of a pack on the thread pool. The stream is flushed but not ended, so that streams can be joined and
 * decompressed together: none refers to the data before it.
 */
export async function compress(text: Buffer): Promise<Pick<PackRecord, 'codec' | 'text'>> {
  if (text.length < smallestCompressed) return { codec: 'none', text };
  return { codec: 'deflate', text: await deflate(text) };
}

/** A compressed text and its uncompressed length. */
export interface Compressed {
  pack: Pick<FetchedPack, 'codec' | 'text'>;
  textBytes: number;
}

/** Decompresses the texts of packs. */
export async function decompress(packs: readonly Compressed[]): Promise<Buffer[]> {
  const texts: Buffer[] = Array.from({ length: packs.length });
  const calls: Promise<void>[] = [];
  let start = 0;
  while (start < packs.length) {
    let end = start;
    let bytes = 0;
    while (end < packs.length && (end === start || bytes + packs[end]!.textBytes <= textPerCall)) {
      bytes += packs[end]!.textBytes;
      end += 1;
    }
    calls.push(decompressTogether(packs.slice(start, end), texts, start));
    start = end;
  }
  await Promise.all(calls);
  return texts;
}

async function decompressTogether(packs: readonly Compressed[], texts: Buffer[], first: number): Promise<void> {
  const deflated: number[] = [];
  let bytes = 0;
  for (const [i, { pack, textBytes }] of packs.entries()) {
    if (pack.codec === 'none') texts[first + i] = pack.text;
    else {
      deflated.push(i);
      bytes += textBytes;
    }
  }
  if (deflated.length === 0) return;
  const joined = Buffer.concat(deflated.map((i) => packs[i]!.pack.text));
  // The buffer has the right size, so that pieces need not be joined afterwards.
  const text = await inflate(joined, { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: Math.max(64, bytes + 1) });
  if (text.length !== bytes) throw new Error(`The texts of packs have ${text.length} bytes, not ${bytes}`);
  let at = 0;
  for (const i of deflated) {
    const { textBytes } = packs[i]!;
    texts[first + i] = text.subarray(at, at + textBytes);
    at += textBytes;
  }
}
