/** Length in bytes of the header of a frame: the number of segments, and the start of each (PS3.5 G.5). */
const headerBytes = 64;

/** Encodes a frame in RLE: one segment for each byte of a sample, the most significant first. */
export function encodeRle(native: Uint8Array, { columns, sampleBytes }: { columns: number; sampleBytes: number }): Uint8Array {
  const pixelCount = native.length / sampleBytes;
  const segments: Uint8Array[] = [];
  const plane = new Uint8Array(pixelCount);
  for (let byte = sampleBytes - 1; byte >= 0; byte--) {
    for (let pixel = 0, index = byte; pixel < pixelCount; pixel++, index += sampleBytes) plane[pixel] = native[index]!;
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
  const packed = Buffer.allocUnsafe(plane.length + Math.ceil(columns / 128) * (plane.length / columns) + 1);
  let packedLength = 0;
  for (let rowStart = 0; rowStart < plane.length; rowStart += columns) {
    const rowEnd = rowStart + columns;
    for (let position = rowStart; position < rowEnd;) {
      let runEnd = position + 1;
      while (runEnd < rowEnd && runEnd - position < 128 && plane[runEnd] === plane[position]) runEnd += 1;
      if (runEnd - position > 2) {
        packed[packedLength++] = 257 - (runEnd - position);
        packed[packedLength++] = plane[position]!;
        position = runEnd;
        continue;
      }
      let literalEnd = position;
      // Only a run of at least three is worth ending a literal sequence.
      while (
        literalEnd < rowEnd &&
        literalEnd - position < 128 &&
        !(literalEnd + 2 < rowEnd && plane[literalEnd] === plane[literalEnd + 1] && plane[literalEnd] === plane[literalEnd + 2])
      )
        literalEnd += 1;
      packed[packedLength++] = literalEnd - position - 1;
      packedLength += copyBytes(plane, position, literalEnd, packed, packedLength);
      position = literalEnd;
    }
  }
  if (packedLength % 2 === 1) packed[packedLength++] = 0;
  return Uint8Array.prototype.slice.call(packed, 0, packedLength);
}

function copyBytes(source: Uint8Array, start: number, end: number, target: Uint8Array, targetStart: number): number {
  target.set(source.subarray(start, end), targetStart);
  return end - start;
}
