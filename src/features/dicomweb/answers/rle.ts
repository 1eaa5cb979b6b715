/** Length in bytes of the header of a frame: the number of segments, and the start of each (PS3.5 G.5). */
const headerBytes = 64;

/** Encodes a frame in RLE: one segment for each byte of a sample, the most significant first. */
export function encodeRle(native: Uint8Array, { columns, sampleBytes }: { columns: number; sampleBytes: number }): Uint8Array {
  const pixelCount = native.length / sampleBytes;
  const segments: Uint8Array[] = [];
  const plane = new Uint8Array(pixelCount);
  for (let byte = sampleBytes - 1; byte >= 0; byte--) {
    for (let pixel = 0, from = byte; pixel < pixelCount; pixel++, from += sampleBytes) plane[pixel] = native[from]!;
    segments.push(packRows(plane, columns));
  }
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(segments.length, 0);
  let offset = headerBytes;
  for (const [index, segment] of segments.entries()) {
    header.writeUInt32LE(offset, 4 + index * 4);
    offset += segment.length;
  }
  return Buffer.concat([header, ...segments]);
}

/** Packs rows with PackBits, one at a time, because a run must not continue in the next row. The result has an even length. */
function packRows(plane: Uint8Array, columns: number): Uint8Array {
  const out = Buffer.allocUnsafe(plane.length + Math.ceil(columns / 128) * (plane.length / columns) + 1);
  let to = 0;
  for (let rowStart = 0; rowStart < plane.length; rowStart += columns) {
    const rowEnd = rowStart + columns;
    for (let at = rowStart; at < rowEnd;) {
      let runEnd = at + 1;
      while (runEnd < rowEnd && runEnd - at < 128 && plane[runEnd] === plane[at]) runEnd += 1;
      if (runEnd - at > 2) {
        out[to++] = 257 - (runEnd - at);
        out[to++] = plane[at]!;
        at = runEnd;
        continue;
      }
      let literalEnd = at;
      // Only a run of at least three is worth ending a literal sequence.
      while (
        literalEnd < rowEnd &&
        literalEnd - at < 128 &&
        !(literalEnd + 2 < rowEnd && plane[literalEnd] === plane[literalEnd + 1] && plane[literalEnd] === plane[literalEnd + 2])
      )
        literalEnd += 1;
      out[to++] = literalEnd - at - 1;
      to += copyBytes(plane, at, literalEnd, out, to);
      at = literalEnd;
    }
  }
  if (to % 2 === 1) out[to++] = 0;
  return Uint8Array.prototype.slice.call(out, 0, to);
}

function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  to.set(from.subarray(start, end), at);
  return end - start;
}
