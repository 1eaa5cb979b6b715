/**
 * Undoes PackBits into so many bytes. Runs may go on from one row to the next, which TIFF forbids and writers do, and which libtiff cuts off.
 *
 * @throws Error where the bytes end too early.
 */
export function unpackBits(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(size);
  let to = 0;
  for (let at = 0; to < size;) {
    const control = bytes[at++];
    if (control === undefined) throw new Error(`it ends after ${to} of ${size} bytes`);
    if (control === 128) continue;
    const length = Math.min(size - to, control < 128 ? control + 1 : 257 - control);
    if (control < 128) {
      if (at + length > bytes.length) throw new Error(`it ends after ${to} of ${size} bytes`);
      out.set(bytes.subarray(at, at + length), to);
      at += length;
    } else {
      out.fill(bytes[at++] ?? 0, to, to + length);
    }
    to += length;
  }
  return out;
}
