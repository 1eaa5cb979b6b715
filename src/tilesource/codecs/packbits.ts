/**
 * Decodes PackBits to `size` bytes. Runs may continue in the next row: TIFF forbids such runs and libtiff cuts them off, but some
 * writers write them.
 *
 * @throws Error if the bytes end too early.
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
