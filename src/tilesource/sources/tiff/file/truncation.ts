import { forEachRange, isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../../errors.js';
import type { Directory } from './directory.js';
import { compressions, tags } from './tags.js';
import type { TiffBytes } from './tiff-bytes.js';

/**
 * Maximum number of tiles and strips of a file that are checked. If a directory has more, only its last tiles or strips are
 * checked, because files are written in order, so that the end of a truncated file is missing.
 */
const maxChunks = 2 ** 20;
/**
 * Time limit for checking further directories, in milliseconds. Opening an image waits for it, and each directory of a file in a
 * bucket may take several requests.
 */
const maxCheckingMs = 2000;
/** Number of positions that are read from the file at once. */
const positionsPerRead = 32_768;
/** Number of positions that are compared between checks of the time. */
const positionsPerTimeCheck = 8192;

/**
 * A message that names a tile or strip beyond the end of the file; `null` if there is none. Tiles that were never written (position
 * or length 0) are correct. Only positions and lengths are read. The last directories are checked first, because most files are
 * written in order.
 */
export async function findTruncation(file: TiffBytes, directories: readonly Directory[]): Promise<string | null> {
  const budget = { chunks: maxChunks, untilMs: performance.now() + maxCheckingMs };
  for (const [index, directory] of [...directories.entries()].toReversed()) {
    let message: string | null = null;
    try {
      message = await describeTruncation(file, directory, `directory ${index}`, budget);
      const subDirectories = message === null && directory.has(tags.subIfds) ? await file.readSubDirectories(directory) : [];
      for (const [subIndex, subDirectory] of subDirectories.entries()) {
        message ??= await describeTruncation(file, subDirectory, `directory ${subIndex} below directory ${index}`, budget);
      }
    } catch (error) {
      if (!(error instanceof TileSourceError)) throw error;
      message = error.message;
    }
    if (message !== null) return message;
    if (performance.now() > budget.untilMs) break;
    if (isSliceOver()) await nextSlice();
  }
  return null;
}

async function describeTruncation(
  file: TiffBytes,
  directory: Directory,
  directoryName: string,
  budget: { chunks: number; untilMs: number },
): Promise<string | null> {
  const compression = await directory.number(tags.compression, compressions.none);
  // The position of old-style JPEG often differs from the positions of its strips.
  if (compression === compressions.oldJpeg || budget.chunks <= 0 || performance.now() > budget.untilMs) return null;
  const tiled = directory.isTiled;
  const { offsets: offsetTag, lengths: lengthTag } = directory.chunkTags;
  const count = directory.count(offsetTag);
  const uncompressedLengthOf = tiled || compression !== compressions.none ? null : await readUncompressedLengths(directory);
  let message: string | null = null;
  const start = Math.max(0, count - budget.chunks);
  for (let firstChunk = start; firstChunk < count && message === null; firstChunk += positionsPerRead) {
    const length = Math.min(positionsPerRead, count - firstChunk);
    const offsets = await directory.numberRange(offsetTag, firstChunk, length);
    const lengths = await directory.numberRange(lengthTag, firstChunk, length);
    await forEachRange(length, positionsPerTimeCheck, (from, to) => {
      for (let at = from; at < to && message === null; at += 1) {
        const offset = offsets[at]!;
        // Some programs leave out all lengths, or the lengths of the last strips.
        const storedLength = lengths[at] ?? 1;
        const end =
          offset + (uncompressedLengthOf === null ? storedLength : Math.min(storedLength, uncompressedLengthOf(firstChunk + at)));
        if (offset === 0 || storedLength === 0 || end <= file.size) continue;
        const chunkName = `${tiled ? 'tile' : 'strip'} ${firstChunk + at} of ${directoryName}`;
        message = `The file is truncated: ${chunkName} ends at byte ${end}, but the file has ${file.size} bytes.`;
      }
    });
  }
  budget.chunks -= count - start;
  return message;
}

/** Returns a function for the number of bytes that an uncompressed strip needs. Many strips claim more, especially the last one. */
async function readUncompressedLengths(directory: Directory): Promise<(strip: number) => number> {
  const { width, height } = await directory.size();
  const samples = await directory.number(tags.samplesPerPixel, 1);
  const bits = await directory.number(tags.bitsPerSample, 1);
  const isPlanar = (await directory.number(tags.planarConfiguration, 1)) === 2;
  const rows = Math.max(1, Math.min(height, await directory.number(tags.rowsPerStrip, height)));
  const rowBytes = Math.ceil((width * bits * (isPlanar ? 1 : samples)) / 8);
  const stripsPerPlane = Math.max(1, Math.ceil(height / rows));
  return (strip) => rowBytes * Math.min(rows, height - (strip % stripsPerPlane) * rows);
}
