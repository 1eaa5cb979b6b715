import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { FetchedPack, PackRecord } from './records.js';

const deflate = promisify<Buffer, { level: number }, Buffer>(deflateRaw);
const inflate = promisify<Buffer, { chunkSize: number }, Buffer>(inflateRaw);

/** Shorter texts are stored as they are. */
const smallestCompressed = 256;
/** Measured: see docs/annotation-store.md. */
const level = 1;

/** Compresses the text of a pack, on the thread pool. */
export async function compress(text: Buffer): Promise<Pick<PackRecord, 'codec' | 'text'>> {
  if (text.length < smallestCompressed) return { codec: 'none', text };
  return { codec: 'deflate', text: await deflate(text, { level }) };
}

/** The text of a pack. @param bytes its length, as the lengths of its elements say. */
export async function decompress(pack: Pick<FetchedPack, 'codec' | 'text'>, bytes: number): Promise<Buffer> {
  if (pack.codec === 'none') return pack.text;
  // One piece of the right size, so that nothing is put together afterwards.
  return inflate(pack.text, { chunkSize: Math.max(64, bytes + 1) });
}
