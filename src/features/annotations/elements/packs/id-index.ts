import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';

/** Maximum average number of entries per part of a new index. To look up an id, one part is read. */
const maxEntriesPerPart = 4096;
/** Number of bytes of an entry: 4 for the hash, and 2 for the slot of the pack in the pack index. */
const entryBytes = 6;

/** An index entry, packed into one number so that sorting is fast: hash × 65,536 + slot of the pack in the pack index. */
export type IndexEntry = number;

export function makeIndexEntry(hash: number, slot: number): IndexEntry {
  return hash * 65_536 + slot;
}

/** Computes the number of parts of a new index with this many entries: a power of two. */
function partCountFor(entryCount: number): number {
  let partCount = 1;
  while (partCount * maxEntriesPerPart < entryCount) partCount *= 2;
  return partCount;
}

/** Computes the number of the part that contains a hash. */
export function partNumberOf(hash: number, partCount: number): number {
  return Math.floor(hash / (2 ** 32 / partCount));
}

/** Encodes entries, in any order, as the parts of an index. */
export async function* encodeIdIndex(entries: Float64Array): AsyncGenerator<Buffer, void, undefined> {
  const sortedEntries = await sortInSlices(entries);
  const partCount = partCountFor(sortedEntries.length);
  let start = 0;
  for (let partNumber = 0; partNumber < partCount; partNumber += 1) {
    let end = start;
    while (
      end < sortedEntries.length &&
      partNumberOf(Math.floor((sortedEntries[end] as number) / 65_536), partCount) === partNumber
    )
      end += 1;
    yield encodePart(sortedEntries.subarray(start, end));
    if (isSliceOver()) await nextSlice();
    start = end;
  }
}

/** Encodes sorted entries as one part. */
function encodePart(entries: Float64Array): Buffer {
  const buffer = Buffer.allocUnsafe(entries.length * entryBytes);
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i] as number;
    // Hashes come first, then slots, so that a search touches few cache lines.
    buffer.writeUInt32LE(Math.floor(entry / 65_536), i * 4);
    buffer.writeUInt16LE(entry % 65_536, entries.length * 4 + i * 2);
  }
  return buffer;
}

/** Decodes the entries of a part. */
export function decodePart(encoded: Buffer): IndexEntry[] {
  const length = encoded.length / entryBytes;
  return Array.from({ length }, (_, i) => makeIndexEntry(encoded.readUInt32LE(i * 4), encoded.readUInt16LE(length * 4 + i * 2)));
}

/** Encodes the entries of a part together with new ones. */
export function addEntriesToPart(part: Buffer, newEntries: readonly IndexEntry[]): Buffer {
  return encodePart(Float64Array.from([...decodePart(part), ...newEntries]).sort());
}

/** Whether an index has too many entries for its number of parts, so that it should be divided into more parts. */
export function needsMoreParts(partCount: number, entryCount: number): boolean {
  return entryCount > 2 * maxEntriesPerPart * partCount;
}

/** Finds the slots of the packs that may contain an id with this hash. */
export function findSlots(part: Buffer, hash: number): number[] {
  const length = part.length / entryBytes;
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (part.readUInt32LE(middle * 4) < hash) low = middle + 1;
    else high = middle;
  }
  const slots: number[] = [];
  for (; low < length && part.readUInt32LE(low * 4) === hash; low += 1) slots.push(part.readUInt16LE(length * 4 + low * 2));
  return slots;
}
