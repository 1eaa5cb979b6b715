import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { DensityCells } from './density.js';

/**
 * Shares are kept as one byte on a logarithmic scale: 12 steps for each doubling, so that each is within 3 % and sums of many are
 * far closer; from 2 ** -16 (less is dropped) to 2 ** 5.
 */
const steps = 12;
const lowestPower = -16;
const shares = Float64Array.from({ length: 256 }, (_, byte) => (byte === 0 ? 0 : 2 ** ((byte - 1) / steps + lowestPower)));

function byteOf(share: number): number {
  return Math.max(0, Math.min(255, Math.round((Math.log2(share) - lowestPower) * steps) + 1));
}

/**
 * Packs the cells of a tile: for each class its number, how many cells, their places as differences, and their shares; numbers as
 * variable-length bytes. Compressed.
 */
export function encodeDensity(cells: DensityCells): Buffer {
  const keys = Float64Array.from(cells.keys()).sort();
  const bytes: number[] = [];
  for (let start = 0; start < keys.length;) {
    const classIndex = Math.floor(keys[start]! / 65_536);
    let end = start;
    while (end < keys.length && Math.floor(keys[end]! / 65_536) === classIndex) end += 1;
    const kept: [place: number, share: number][] = [];
    for (let i = start; i < end; i += 1) {
      const share = byteOf(cells.get(keys[i]!)!);
      if (share > 0) kept.push([keys[i]! % 65_536, share]);
    }
    pushNumber(bytes, classIndex);
    pushNumber(bytes, kept.length);
    let before = 0;
    for (const [place] of kept) {
      pushNumber(bytes, place - before);
      before = place;
    }
    for (const [, share] of kept) bytes.push(share);
    start = end;
  }
  return deflateRawSync(Uint8Array.from(bytes), { level: 4 });
}

function pushNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>>= 7;
  }
  bytes.push(rest);
}

/** Calls `visit` with the places (row * 256 + column) and shares of each class, the first `count` of each array. */
export function decodeDensity(
  packed: Uint8Array,
  visit: (classIndex: number, places: Uint16Array, cellShares: Float64Array, count: number) => void,
): void {
  const bytes = inflateRawSync(packed);
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  let places = new Uint16Array(0);
  let values = new Float64Array(0);
  while (at < bytes.length) {
    const classIndex = next();
    const count = next();
    if (places.length < count) {
      places = new Uint16Array(count);
      values = new Float64Array(count);
    }
    let place = 0;
    for (let i = 0; i < count; i += 1) places[i] = place += next();
    for (let i = 0; i < count; i += 1) values[i] = shares[bytes[at++] ?? 0]!;
    visit(classIndex, places, values, count);
  }
}
