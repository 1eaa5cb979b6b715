/** A PCX of three planes of 8 bits. @param samples row by row, and in each row plane by plane. */
export function writePcx({ width, height }: { width: number; height: number }, samples: Uint8Array): Buffer {
  const head = Buffer.alloc(128);
  head.set([10, 5, 1, 8]);
  head.writeUInt16LE(width - 1, 8);
  head.writeUInt16LE(height - 1, 10);
  head[65] = 3;
  head.writeUInt16LE(width, 66);
  // Bytes that look like a count are written after a count of one.
  const rows = [...samples].flatMap((value) => (value >= 0xc0 ? [0xc1, value] : [value]));
  return Buffer.concat([head, Buffer.from(rows)]);
}
