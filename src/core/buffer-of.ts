/** The same bytes as a `Buffer`, without a copy. */
export function bufferOf(bytes: ArrayBufferView): Buffer<ArrayBufferLike> {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
