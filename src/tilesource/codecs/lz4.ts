/**
 * Decodes LZ4 in the form of Zarr: the decoded size in four bytes, then one block. A library in WebAssembly is not used, because
 * a corrupt block would damage the library's memory, and thereby the next images.
 *
 * @throws Error if the block is corrupt.
 */
export function decodeLz4(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length < sizeBytes) throw new Error('the size is missing');
  const out = new Uint8Array(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
  let at = sizeBytes;
  let to = 0;
  /** Reads a length. It begins in half of a token's bits, and may continue in further bytes. */
  const readLength = (tokenLength: number): number => {
    let length = tokenLength;
    for (let nextByte = tokenLength === maxTokenLength ? 255 : 0; nextByte === 255; length += nextByte) {
      if (at >= bytes.length) throw new Error('a length is cut off');
      nextByte = bytes[at++]!;
    }
    return length;
  };
  while (at < bytes.length) {
    const token = bytes[at++]!;
    const literalCount = readLength(token >> 4);
    if (literalCount > bytes.length - at || literalCount > out.length - to) throw new Error('there are more bytes than declared');
    out.set(bytes.subarray(at, at + literalCount), to);
    at += literalCount;
    to += literalCount;
    // The last sequence has no match.
    if (at === bytes.length) break;
    if (bytes.length - at < 2) throw new Error('a match is cut off');
    const offset = bytes[at]! | (bytes[at + 1]! << 8);
    at += 2;
    const length = readLength(token & maxTokenLength) + minMatchBytes;
    if (offset === 0 || offset > to || length > out.length - to) throw new Error('a match is outside the samples');
    copyMatch(out, to, { offset, length });
    to += length;
  }
  if (to !== out.length) throw new Error(`there are ${to} bytes where ${out.length} are declared`);
  return out;
}

const sizeBytes = 4;
/** Largest length in half a token. This value means that the length continues in the next byte. */
const maxTokenLength = 15;
const minMatchBytes = 4;

/** Copies a match from earlier bytes, which may overlap the copy. */
function copyMatch(out: Uint8Array, to: number, { offset, length }: { offset: number; length: number }): void {
  for (let copiedBytes = 0; copiedBytes < length;) {
    // The number of bytes that can be copied at once doubles with each step.
    const stepBytes = Math.min(length - copiedBytes, offset + copiedBytes);
    out.copyWithin(to + copiedBytes, to - offset, to - offset + stepBytes);
    copiedBytes += stepBytes;
  }
}
