import type { LRUCache } from 'lru-cache';
import { TileSourceError } from '../../../errors.js';
import { createRaster, type Raster } from '../../raster.js';
import { decodeChunks } from './decoding/decode.js';
import { type DecodeContext, maxDecodedBytes, type ImageLayout } from './tiff-layout.js';
import { readChunkTable, maxStoredBytes, type ChunkTable } from './chunk-table.js';
import type { Directory } from './file/directory.js';
import { compressions } from './file/tags.js';
import type { TiffBytes } from './file/tiff-bytes.js';

/** Chunk tables by directory. The cache is limited in bytes, because a file may have thousands of directories with long tables. */
type ChunkTables = LRUCache<Directory, ChunkTable>;

/** A rectangle of a stored image, in stored pixels before orientation. */
export interface StoredRegion {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The file, and all that is needed to read its chunks. */
export interface ChunkReader extends DecodeContext {
  file: TiffBytes;
  tables: ChunkTables;
}

/** Reads the offsets and lengths of a directory's chunks, or takes them from the cache. */
export async function loadChunkTable(reader: ChunkReader, layout: ImageLayout): Promise<ChunkTable> {
  const cachedTable = reader.tables.get(layout.directory);
  if (cachedTable !== undefined) return cachedTable;
  const table = await readChunkTable(layout, reader.file.size);
  reader.tables.set(layout.directory, table);
  return table;
}

async function findChunk(reader: ChunkReader, layout: ImageLayout, index: number): Promise<{ offset: number; length: number }> {
  if (layout.interchange !== null) {
    const { offset, length } = layout.interchange;
    // Some writers count a few bytes too many.
    return { offset, length: Math.max(1, Math.min(length, reader.file.size - offset)) };
  }
  const { offsets, lengths } = await loadChunkTable(reader, layout);
  return { offset: offsets[index] ?? 0, length: lengths[index] ?? 0 };
}

/** Bytes of the file, with a name for messages. */
interface ByteRange {
  offset: number;
  length: number;
  name: string;
}

/** Maximum number of bytes between two ranges of the file that are read together. */
const maxJoinedGap = 4096;
/** Maximum total number of bytes of ranges that are read together. */
const maxJoinedBytes = 2 ** 22;

/**
 * Reads ranges of the file. Neighboring ranges are read together, because there may be a strip for every row, or for every pixel.
 */
async function readRanges(reader: ChunkReader, ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
  const bytesByRange: Uint8Array[] = [];
  const indexesByOffset = ranges.map((_, index) => index).toSorted((a, b) => ranges[a]!.offset - ranges[b]!.offset);
  for (let from = 0; from < indexesByOffset.length;) {
    const { offset, length, name } = ranges[indexesByOffset[from]!]!;
    let end = offset + length;
    let to = from + 1;
    for (; to < indexesByOffset.length; to += 1) {
      const next = ranges[indexesByOffset[to]!]!;
      const nextEnd = Math.max(end, next.offset + next.length);
      // A range outside the file is read separately, so that the error names it.
      if (next.offset - end > maxJoinedGap || nextEnd - offset > maxJoinedBytes || nextEnd > reader.file.size) break;
      end = nextEnd;
    }
    const bytes = await reader.file.readExactly(offset, end - offset, name, reader.signal);
    for (; from < to; from += 1) {
      const range = ranges[indexesByOffset[from]!]!;
      bytesByRange[indexesByOffset[from]!] = bytes.subarray(range.offset - offset, range.offset - offset + range.length);
    }
  }
  return bytesByRange;
}

/** The stored bytes of a chunk; `null` if it was never written. @throws TileSourceError if the chunk is outside the file. */
export async function readStoredChunk(reader: ChunkReader, layout: ImageLayout, index: number): Promise<Uint8Array | null> {
  const range = await findStoredRange(reader, layout, index);
  return range && reader.file.readExactly(range.offset, range.length, range.name, reader.signal);
}

/** The position of a chunk in the file; `null` if it was never written. */
async function findStoredRange(reader: ChunkReader, layout: ImageLayout, index: number): Promise<ByteRange | null> {
  const { offset, length: claimedLength } = await findChunk(reader, layout, index);
  let length = claimedLength;
  if (offset === 0 || length === 0) return null;
  if (layout.compression === compressions.none) {
    const samples = layout.planes > 1 ? 1 : layout.samplesPerPixel;
    length = Math.min(length, Math.ceil((layout.chunkWidth * samples * layout.bits) / 8) * layout.chunkHeight);
  }
  const limit = maxStoredBytes(layout);
  if (length > limit) {
    throw new TileSourceError(
      `Corrupt TIFF: tile or strip ${index} of ${layout.chunkWidth} by ${layout.chunkHeight} pixels claims ${length} bytes, more than ${limit}.`,
    );
  }
  return { offset, length, name: `tile or strip ${index}` };
}

function copyPixels(source: Raster, sourceRegion: StoredRegion, target: Raster, left: number, top: number): void {
  const rowLength = sourceRegion.width * source.bands;
  // Source and target have the same type: both come from the layout.
  const [input, output] = [source.data as Uint8Array, target.data as Uint8Array];
  for (let y = 0; y < sourceRegion.height; y++) {
    const start = ((sourceRegion.top + y) * source.width + sourceRegion.left) * source.bands;
    output.set(input.subarray(start, start + rowLength), ((top + y) * target.width + left) * target.bands);
  }
}

/** A raster, and the region of the stored image that it will show. */
interface Target {
  raster: Raster;
  region: StoredRegion;
}

/** Copies the part of a decoded chunk at (`chunkLeft`, `chunkTop`) that overlaps the target's region. */
function copyChunk(chunk: Raster, chunkLeft: number, chunkTop: number, { raster, region }: Target): void {
  const left = Math.max(region.left, chunkLeft);
  const top = Math.max(region.top, chunkTop);
  const width = Math.min(region.left + region.width, chunkLeft + chunk.width) - left;
  const height = Math.min(region.top + region.height, chunkTop + chunk.height) - top;
  if (width <= 0 || height <= 0) return;
  copyPixels(chunk, { left: left - chunkLeft, top: top - chunkTop, width, height }, raster, left - region.left, top - region.top);
}

async function readTiles(reader: ChunkReader, layout: ImageLayout, region: StoredRegion): Promise<Raster> {
  const { chunkWidth, chunkHeight, chunksAcross, chunksDown, planes } = layout;
  let target: Target | null = null;
  const ensureTarget = (): Target => {
    const { width, height } = region;
    target ??= { raster: createRaster({ width, height, bands: layout.bands, dtype: layout.dtype }), region };
    return target;
  };
  const lastX = Math.floor((region.left + region.width - 1) / chunkWidth);
  const lastY = Math.floor((region.top + region.height - 1) / chunkHeight);
  for (let y = Math.floor(region.top / chunkHeight); y <= lastY; y++) {
    for (let x = Math.floor(region.left / chunkWidth); x <= lastX; x++) {
      const storedChunks = await Promise.all(
        Array.from({ length: planes }, (_, plane) =>
          readStoredChunk(reader, layout, (plane * chunksDown + y) * chunksAcross + x),
        ),
      );
      const presentChunks = storedChunks.filter((bytes) => bytes !== null);
      if (presentChunks.length < planes) continue;
      const chunk = await decodeChunks(
        layout,
        presentChunks.map((bytes) => [bytes]),
        chunkHeight,
        reader,
      );
      const isAligned = chunk.width === region.width && region.left === x * chunkWidth && region.top === y * chunkHeight;
      if (isAligned && region.height <= chunkHeight) {
        return { ...chunk, height: region.height, data: chunk.data.subarray(0, region.width * region.height * chunk.bands) };
      }
      copyChunk(chunk, x * chunkWidth, y * chunkHeight, ensureTarget());
    }
  }
  return ensureTarget().raster;
}

/** Whether some rows of a strip can be read without its other rows. */
export function canReadRowsSeparately(layout: ImageLayout): boolean {
  return !layout.tiled && layout.decoding === 'bytes' && layout.compression === compressions.none;
}

/** Reads only the needed rows of uncompressed strips, because one strip may be the whole image. */
async function readPlainRows(reader: ChunkReader, layout: ImageLayout, region: StoredRegion): Promise<Raster> {
  const { chunkHeight, chunksDown, planes, width, height } = layout;
  const target: Target = {
    raster: createRaster({ width: region.width, height: region.height, bands: layout.bands, dtype: layout.dtype }),
    region,
  };
  const rowBytes = Math.ceil((width * (planes > 1 ? 1 : layout.samplesPerPixel) * layout.bits) / 8);
  const { offsets, lengths } = await loadChunkTable(reader, layout);
  const end = Math.min(region.top + region.height, height);
  /** The needed rows of each strip, and their bytes in each plane. */
  const parts: { top: number; rows: number; ranges: (ByteRange | null)[] }[] = [];
  for (let top = region.top; top < end; top += parts.at(-1)!.rows) {
    const strip = Math.floor(top / chunkHeight);
    const rows = Math.min(end, (strip + 1) * chunkHeight) - top;
    const skippedBytes = (top - strip * chunkHeight) * rowBytes;
    const ranges = Array.from({ length: planes }, (_, plane): ByteRange | null => {
      const [offset, length] = [offsets[plane * chunksDown + strip] ?? 0, lengths[plane * chunksDown + strip] ?? 0];
      if (offset === 0 || length === 0) return null;
      return {
        offset: offset + skippedBytes,
        length: Math.max(0, Math.min(length - skippedBytes, rows * rowBytes)),
        name: `strip ${strip}`,
      };
    });
    parts.push({ top, rows, ranges });
  }
  const presentParts = parts.filter(({ ranges }) => ranges.every((range) => range !== null));
  const bytes = await readRanges(
    reader,
    presentParts.flatMap(({ ranges }) => ranges.filter((range) => range !== null)),
  );
  // Consecutive complete parts are decoded together. If the bits of each byte are in reverse order, each part is decoded alone: libtiff,
  // which reverses them, expects every part but the last to be a whole strip.
  const canJoinParts = layout.fillOrder !== 2;
  for (let from = 0; from < presentParts.length;) {
    const { top } = presentParts[from]!;
    let rows = 0;
    let to = from;
    do {
      rows += presentParts[to]!.rows;
      to += 1;
    } while (
      canJoinParts &&
      to < presentParts.length &&
      presentParts[to]!.top === top + rows &&
      hasAllRows(presentParts[to - 1]!, rowBytes)
    );
    const storedBytes = Array.from({ length: planes }, (_, plane) =>
      Array.from({ length: to - from }, (_part, index) => bytes[(from + index) * planes + plane]!),
    );
    copyChunk(await decodeChunks(layout, storedBytes, rows, reader), 0, top, target);
    from = to;
  }
  return target.raster;
}

function hasAllRows({ rows, ranges }: { rows: number; ranges: readonly (ByteRange | null)[] }, rowBytes: number): boolean {
  return ranges.every((range) => range?.length === rows * rowBytes);
}

/** Reads strips. Consecutive strips are decoded together, because there may be a strip for every row. */
async function readStrips(reader: ChunkReader, layout: ImageLayout, region: StoredRegion): Promise<Raster> {
  const { chunkHeight, chunksDown, planes, height } = layout;
  const target: Target = {
    raster: createRaster({ width: region.width, height: region.height, bands: layout.bands, dtype: layout.dtype }),
    region,
  };
  const firstStrip = Math.floor(region.top / chunkHeight);
  const lastStrip = Math.floor((region.top + region.height - 1) / chunkHeight);
  let runStart = firstStrip;
  let runStrips: Uint8Array[][] = Array.from({ length: planes }, () => []);
  const decodeRun = async (end: number): Promise<void> => {
    if (end > runStart) {
      const rows = Math.min(height, end * chunkHeight) - runStart * chunkHeight;
      copyChunk(await decodeChunks(layout, runStrips, rows, reader), 0, runStart * chunkHeight, target);
    }
    runStrips = Array.from({ length: planes }, () => []);
  };
  const ranges = await Promise.all(
    Array.from({ length: (lastStrip - firstStrip + 1) * planes }, (_, index) =>
      findStoredRange(reader, layout, (index % planes) * chunksDown + firstStrip + Math.floor(index / planes)),
    ),
  );
  const chunkBytes = await readRanges(
    reader,
    ranges.filter((range) => range !== null),
  );
  let readIndex = 0;
  const chunks = ranges.map((range) => (range === null ? null : chunkBytes[readIndex++]!));
  for (let strip = firstStrip; strip <= lastStrip; strip++) {
    const storedChunks = chunks.slice((strip - firstStrip) * planes, (strip - firstStrip + 1) * planes);
    const presentChunks = storedChunks.filter((bytes) => bytes !== null);
    if (presentChunks.length < planes) {
      await decodeRun(strip);
      runStart = strip + 1;
      continue;
    }
    for (const [plane, bytes] of presentChunks.entries()) runStrips[plane]?.push(bytes);
  }
  await decodeRun(lastStrip + 1);
  return target.raster;
}

/**
 * Repeats the last column and row until the raster has the given size. Files often round the sizes of reduced levels down, while the
 * sizes of levels are rounded up here, so the raster may lack a column or a row.
 */
export function extendByEdges(raster: Raster, width: number, height: number): Raster {
  if (raster.width === width && raster.height === height) return raster;
  const { bands } = raster;
  const result = createRaster({ width, height, bands, dtype: raster.dtype });
  copyPixels(raster, { left: 0, top: 0, width: raster.width, height: raster.height }, result, 0, 0);
  const data = result.data as Uint8Array;
  for (let y = 0; y < raster.height; y++) {
    const row = y * width * bands;
    for (let x = raster.width; x < width; x++)
      data.copyWithin(row + x * bands, row + (raster.width - 1) * bands, row + raster.width * bands);
  }
  const lastRow = (raster.height - 1) * width * bands;
  for (let y = raster.height; y < height; y++) data.copyWithin(y * width * bands, lastRow, lastRow + width * bands);
  return result;
}

/**
 * Decodes a rectangle of a stored image of tiles or strips. Chunks that were never written become zeros.
 *
 * @throws TileSourceError for corrupt data, and if the decoded pixels would exceed the memory limit.
 */
export async function readRegion(reader: ChunkReader, layout: ImageLayout, region: StoredRegion): Promise<Raster> {
  reader.signal?.throwIfAborted();
  const columns = layout.tiled ? region.width : layout.width;
  const pixelBytes = Math.max(layout.bands, layout.samplesPerPixel) * Math.max(1, layout.bits / 8);
  const readsSingleRows = canReadRowsSeparately(layout);
  const neededBytes = columns * (region.height + (readsSingleRows ? 0 : layout.chunkHeight)) * pixelBytes;
  if (neededBytes > 2 * maxDecodedBytes) {
    throw new TileSourceError(
      `Reading ${columns} by ${region.height} pixels would take ${neededBytes} bytes, more than ${2 * maxDecodedBytes}.`,
    );
  }
  if (readsSingleRows) return readPlainRows(reader, layout, region);
  return layout.tiled ? readTiles(reader, layout, region) : readStrips(reader, layout, region);
}
