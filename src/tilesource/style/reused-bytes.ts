/** Maximum number of buffers of one length that are kept for the next pictures. They take at most 8 MiB. */
const maxKeptBuffers = 8;
/** Maximum length of a buffer that is kept. */
const maxBufferBytes = 2 ** 20;
/** Maximum number of different lengths of buffers that are kept. */
const maxKeptLengths = 4;

const freeByLength = new Map<number, Uint8Array<ArrayBuffer>[]>();
const lentBuffers = new WeakSet<ArrayBuffer>();

/**
 * Lends bytes with arbitrary content for a colored picture. If every tile got new memory, allocating, clearing and collecting that
 * memory would take a third of the time of coloring the tile.
 */
export function borrowBytes(length: number): Uint8Array<ArrayBuffer> {
  const buffer = freeByLength.get(length)?.pop();
  const bytes = buffer ?? new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  lentBuffers.add(bytes.buffer);
  return bytes;
}

/**
 * Returns the bytes of a picture that is no longer used. Bytes that were not borrowed here, and parts of borrowed bytes, are
 * ignored.
 */
export function returnBytes({ buffer, byteLength }: Uint8Array): void {
  if (
    !(buffer instanceof ArrayBuffer) ||
    byteLength !== buffer.byteLength ||
    !lentBuffers.delete(buffer) ||
    byteLength > maxBufferBytes
  )
    return;
  const freeBytes = freeByLength.get(byteLength) ?? [];
  if (freeBytes.length < maxKeptBuffers) freeBytes.push(new Uint8Array(buffer));
  freeByLength.delete(byteLength);
  freeByLength.set(byteLength, freeBytes);
  // The length that was not used for the longest time is dropped.
  if (freeByLength.size > maxKeptLengths) for (const oldest of freeByLength.keys()) return void freeByLength.delete(oldest);
}
