/**
 * Number of buffers that are kept for the next pictures, for each length, and the longest length. Together they take 8 MiB for each
 * length.
 */
const maxKept = 8;
const longestKept = 2 ** 20;
const keptLengths = 4;

const free = new Map<number, Uint8Array<ArrayBuffer>[]>();
const lent = new WeakSet<ArrayBuffer>();

/**
 * Bytes of any content for a colored picture. If every tile had new memory, finding, clearing and collecting it would take a third
 * of the time of coloring it.
 */
export function borrowBytes(length: number): Uint8Array<ArrayBuffer> {
  const buffer = free.get(length)?.pop();
  const bytes = buffer ?? new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  lent.add(bytes.buffer);
  return bytes;
}

/**
 * Returns the bytes of a picture that is no longer used. Bytes that were not borrowed here, and parts of borrowed bytes, are
 * ignored.
 */
export function returnBytes({ buffer, byteLength }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || byteLength !== buffer.byteLength || !lent.delete(buffer) || byteLength > longestKept)
    return;
  const freeBytes = free.get(byteLength) ?? [];
  if (freeBytes.length < maxKept) freeBytes.push(new Uint8Array(buffer));
  free.delete(byteLength);
  free.set(byteLength, freeBytes);
  // The length that was not used for the longest time is dropped.
  if (free.size > keptLengths) for (const oldest of free.keys()) return void free.delete(oldest);
}
