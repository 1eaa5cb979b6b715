import { inRuns, isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../../errors.js';
import type { Directory } from './directory.js';
import { compressions, tags } from './tags.js';
import type { TiffBytes } from './tiff-bytes.js';

/**
 * Maximum number of tiles and strips of a file that are checked; if there are more, the last ones of a directory. Files are written
 * in order, so these are the ones that are cut off.
 */
const maxChunks = 2 ** 20;
/**
 * Time limit for checking further directories, in milliseconds. Opening an image waits for it, and each directory of a file in a
 * bucket may take several requests.
 */
const longestMs = 2000;
/** Number of positions that are read from the file at once, and compared between two checks of the time. */
const readTogether = 32_768;
const comparedTogether = 8192;

/**
 * Names a tile or strip beyond the end of the file; `null` if there is none. Only their positions are read. Tiles that were never
 * written (position or length 0) are correct. The last directories are checked first, because most files are written in order.
 */
export async function findTruncation(file: TiffBytes, main: readonly Directory[]): Promise<string | null> {
  const budget = { chunks: maxChunks, until: performance.now() + longestMs };
  for (const [index, directory] of [...main.entries()].toReversed()) {
    let truncated: string | null = null;
    try {
      truncated = await truncationOf(file, directory, `directory ${index}`, budget);
      const subDirectories = truncated === null && directory.has(tags.subIfds) ? await file.subDirectories(directory) : [];
      for (const [at, sub] of subDirectories.entries()) {
        truncated ??= await truncationOf(file, sub, `directory ${at} below directory ${index}`, budget);
      }
    } catch (error) {
      if (!(error instanceof TileSourceError)) throw error;
      truncated = error.message;
    }
    if (truncated !== null) return truncated;
    if (performance.now() > budget.until) break;
    if (isSliceOver()) await nextSlice();
  }
  return null;
}

async function truncationOf(
  file: TiffBytes,
  directory: Directory,
  name: string,
  budget: { chunks: number; until: number },
): Promise<string | null> {
  const compression = await directory.number(tags.compression, compressions.none);
  // The position of old-style JPEG often differs from the positions of its strips.
  if (compression === compressions.oldJpeg || budget.chunks <= 0 || performance.now() > budget.until) return null;
  const tiled = directory.isTiled;
  const { offsets: offsetTag, lengths: lengthTag } = directory.chunkTags;
  const count = directory.count(offsetTag);
  const neededBytes = tiled || compression !== compressions.none ? null : await plainStripBytes(directory);
  let truncated: string | null = null;
  const start = Math.max(0, count - budget.chunks);
  for (let first = start; first < count && truncated === null; first += readTogether) {
    const length = Math.min(readTogether, count - first);
    const offsets = await directory.part(offsetTag, first, length);
    const lengths = await directory.part(lengthTag, first, length);
    await inRuns(length, comparedTogether, (from, to) => {
      for (let at = from; at < to && truncated === null; at += 1) {
        const offset = offsets[at]!;
        // Some programs leave out lengths, or those of the last strips.
        const stored = lengths[at] ?? 1;
        const end = offset + (neededBytes === null ? stored : Math.min(stored, neededBytes(first + at)));
        if (offset === 0 || stored === 0 || end <= file.size) continue;
        const what = `${tiled ? 'tile' : 'strip'} ${first + at} of ${name}`;
        truncated = `The file is truncated: ${what} ends at byte ${end}, but the file has ${file.size} bytes.`;
      }
    });
  }
  budget.chunks -= count - start;
  return truncated;
}

/** Number of bytes that uncompressed strips need; they often claim more, especially the last one. */
async function plainStripBytes(directory: Directory): Promise<(strip: number) => number> {
  const { width, height } = await directory.size();
  const samples = await directory.number(tags.samplesPerPixel, 1);
  const bits = await directory.number(tags.bitsPerSample, 1);
  const isPlanar = (await directory.number(tags.planarConfiguration, 1)) === 2;
  const rows = Math.max(1, Math.min(height, await directory.number(tags.rowsPerStrip, height)));
  const rowBytes = Math.ceil((width * bits * (isPlanar ? 1 : samples)) / 8);
  const strips = Math.max(1, Math.ceil(height / rows));
  return (strip) => rowBytes * Math.min(rows, height - (strip % strips) * rows);
}
