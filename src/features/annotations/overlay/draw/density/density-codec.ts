import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DensityCells } from './density-cells.js';

/**
 * A coverage is stored as one byte, on a logarithmic scale from 2 ** -16 to 2 ** 5. Smaller coverages are dropped. With 12 steps for each
 * doubling, the error of a coverage is at most 3%. For sums of many coverages it is much smaller.
 */
const stepsPerDoubling = 12;
const lowestPower = -16;
const coverageByByte = Float64Array.from({ length: 256 }, (_, byte) =>
  byte === 0 ? 0 : 2 ** ((byte - 1) / stepsPerDoubling + lowestPower),
);

function byteOf(coverage: number): number {
  return Math.max(0, Math.min(255, Math.round((Math.log2(coverage) - lowestPower) * stepsPerDoubling) + 1));
}

/** Smallest buffer that zlib accepts, in bytes. */
const minChunkBytes = 64;

/**
 * Maximum number of bytes of a cell. A cell that is alone in its class takes three bytes each for class, count and position, and one byte
 * for its coverage.
 */
const maxBytesPerCell = 10;

/**
 * Encodes the cells of a tile. For each class, this is the index of the class, the number of cells, the differences between their positions,
 * and their coverages. Each number takes as few bytes as possible, and the result is compressed.
 */
export function encodeDensity(cells: DensityCells): Buffer {
  const bytes = new Uint8Array(cells.size * maxBytesPerCell);
  let end = 0;
  const writeNumber = (value: number) => {
    for (; value > 127; value >>>= 7) bytes[end++] = (value & 127) | 128;
    bytes[end++] = value;
  };
  for (const { classIndex, positions, coverages } of cells.byClass()) {
    const coverageBytes = new Uint8Array(positions.length);
    let count = 0;
    for (let i = 0; i < positions.length; i += 1) if ((coverageBytes[i] = byteOf(coverages[i]!)) > 0) count += 1;
    writeNumber(classIndex);
    writeNumber(count);
    let previousPosition = 0;
    for (let i = 0; i < positions.length; i += 1) {
      if (coverageBytes[i] === 0) continue;
      writeNumber(positions[i]! - previousPosition);
      previousPosition = positions[i]!;
    }
    for (const byte of coverageBytes) if (byte > 0) bytes[end++] = byte;
  }
  // A small buffer is requested, because allocating the default buffer of 16 KiB takes longer than compressing.
  return deflateRawSync(bytes.subarray(0, end), { level: 1, chunkSize: Math.max(minChunkBytes, end) });
}

/**
 * Decodes a tile. Calls `visit` for each class. The first `count` entries of the arrays are the positions (row * 256 + column) and
 * coverages of its cells.
 */
export function decodeDensity(
  encoded: Uint8Array,
  visit: (classIndex: number, positions: Uint16Array, cellCoverages: Float64Array, count: number) => void,
): void {
  const bytes = inflateRawSync(encoded);
  let offset = 0;
  const readNumber = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[offset++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  let positions = new Uint16Array(0);
  let classCoverages = new Float64Array(0);
  while (offset < bytes.length) {
    const classIndex = readNumber();
    const count = readNumber();
    if (positions.length < count) {
      positions = new Uint16Array(count);
      classCoverages = new Float64Array(count);
    }
    let position = 0;
    for (let i = 0; i < count; i += 1) {
      // Most differences take one byte.
      const byte = bytes[offset] ?? 0;
      if (byte < 128) offset += 1;
      positions[i] = position += byte < 128 ? byte : readNumber();
    }
    for (let i = 0; i < count; i += 1) classCoverages[i] = coverageByByte[bytes[offset++] ?? 0]!;
    visit(classIndex, positions, classCoverages, count);
  }
}
