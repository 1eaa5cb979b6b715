import { forEachRange } from '../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../core/concurrency/sort-in-slices.js';
import { TileSourceError } from '../../../errors.js';
import type { TagNumbers } from './file/directory.js';
import { compressions } from './file/tags.js';
import { maxDecodedBytes, type ImageLayout } from './tiff-layout.js';

/** Offsets and lengths of the chunks of a directory. A chunk of length 0 was never written. */
export interface ChunkTable {
  offsets: TagNumbers;
  lengths: TagNumbers;
}

/** Maximum number of offsets, and of lengths, that are read. A directory may list more chunks than its picture needs. */
const maxChunks = 16 * 1024 * 1024;

/** Reads the positions of the chunks of a directory. */
export async function readChunkTable(layout: ImageLayout, fileSize: number): Promise<ChunkTable> {
  const { directory } = layout;
  const { chunkTags } = directory;
  const offsets = await directory.numbers(chunkTags.offsets, maxChunks);
  const lengths = await directory.numbers(chunkTags.lengths, maxChunks);
  if (offsets === null) throw new TileSourceError('Corrupt TIFF: the offsets of tiles or strips are missing.');
  return {
    offsets,
    lengths: hasAllLengths(layout, lengths) ? lengths : await computeLengths(layout, { offsets, lengths, fileSize }),
  };
}

/**
 * Whether the file has the lengths of all chunks. A tile of length 0 was never written, but if all tiles have length 0, their
 * lengths are missing. Strips are always written, so that a strip of length 0 has a missing length.
 */
function hasAllLengths({ tiled }: ImageLayout, lengths: TagNumbers | null): lengths is TagNumbers {
  return lengths !== null && (tiled ? lengths.some((length) => length > 0) : !lengths.includes(0));
}

/** Computes missing lengths as libtiff does: the size of the uncompressed samples, or the distance to the next chunk. */
async function computeLengths(
  layout: ImageLayout,
  { offsets, lengths, fileSize }: { offsets: TagNumbers; lengths: TagNumbers | null; fileSize: number },
): Promise<Float64Array> {
  const maxLength = maxStoredBytes(layout);
  const isUncompressed = layout.compression === compressions.none;
  const sortedOffsets = isUncompressed ? null : await sortInSlices(Float64Array.from(offsets));
  const computedLengths = new Float64Array(offsets.length);
  await forEachRange(computedLengths.length, 8192, (from, to) => {
    for (let index = from; index < to; index += 1) {
      const [offset, length] = [offsets[index]!, lengths?.[index] ?? 0];
      if (length > 0 || offset === 0) computedLengths[index] = length;
      else if (sortedOffsets === null) computedLengths[index] = uncompressedLength(layout, index);
      else computedLengths[index] = Math.max(0, Math.min(maxLength, firstGreater(sortedOffsets, offset, fileSize) - offset));
    }
  });
  return computedLengths;
}

function uncompressedLength(
  { tiled, width, height, planes, samplesPerPixel, bits, ...layout }: ImageLayout,
  index: number,
): number {
  const { chunkWidth, chunkHeight, chunksDown } = layout;
  const rowBytes = Math.ceil(((tiled ? chunkWidth : width) * (planes > 1 ? 1 : samplesPerPixel) * bits) / 8);
  return rowBytes * (tiled ? chunkHeight : Math.min(chunkHeight, height - (index % chunksDown) * chunkHeight));
}

/** The first number of a sorted list that is greater than `number`; `fallback` if there is none. */
function firstGreater(sortedNumbers: Float64Array, number: number, fallback: number): number {
  let [low, high] = [0, sortedNumbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sortedNumbers[middle]! > number) high = middle;
    else low = middle + 1;
  }
  return sortedNumbers[low] ?? fallback;
}

/** Maximum stored length of a chunk in bytes. Compression may enlarge data, but only by a limited factor. */
export function maxStoredBytes(layout: ImageLayout): number {
  const decodedBytes = layout.chunkWidth * layout.chunkHeight * layout.samplesPerPixel * Math.max(1, layout.bits / 8);
  return Math.min(maxDecodedBytes, decodedBytes * 4 + 1024 * 1024);
}
