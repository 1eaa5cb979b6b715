import { TileSourceError } from '../../../errors.js';
import { createRaster, type Raster } from '../../raster.js';
import { isFailedRead } from '../../render/corrupt-tiles.js';
import { blit } from '../../render/pixels.js';
import { readRegion, type ChunkReader, type StoredRegion } from './region.js';
import type { ImageLayout } from './tiff-layout.js';

/** A strip or tile that is not shown, because its bytes cannot be decoded. */
export interface CorruptChunk {
  /** The part of the stored image that is left empty, in pixels of its level. */
  region: StoredRegion;
  error: TileSourceError;
}

/** Maximum number of corrupt strips or tiles of a region. If there are more, reading it fails. */
const maxCorruptChunks = 4096;

/**
 * Decodes a rectangle of a stored image like {@link readRegion}, but leaves corrupt strips or tiles empty.
 *
 * @throws TileSourceError if more than 4096 strips or tiles are corrupt, or bytes could not be read from the file.
 */
export async function readIntactRegion(
  reader: ChunkReader,
  layout: ImageLayout,
  region: StoredRegion,
): Promise<{ raster: Raster; corrupt: CorruptChunk[] }> {
  const corrupt: CorruptChunk[] = [];
  const raster = await readOrHalve(reader, layout, region, corrupt);
  return { raster, corrupt };
}

/** @throws TileSourceError if corrupt strips or tiles cover a rectangle completely. */
export function requireIntactPart(region: StoredRegion, corrupt: readonly CorruptChunk[]): void {
  const overlap = (from: number, length: number, otherFrom: number, otherLength: number) =>
    Math.max(0, Math.min(from + length, otherFrom + otherLength) - Math.max(from, otherFrom));
  const lostPixels = corrupt.reduce((sum, { region: { left, top, width, height } }) => {
    return sum + overlap(region.left, region.width, left, width) * overlap(region.top, region.height, top, height);
  }, 0);
  const [firstChunk] = corrupt;
  if (firstChunk !== undefined && lostPixels >= region.width * region.height) throw firstChunk.error;
}

/** Reads a rectangle. If that fails, reads its halves, and so on down to single strips or tiles. */
async function readOrHalve(
  reader: ChunkReader,
  layout: ImageLayout,
  region: StoredRegion,
  corrupt: CorruptChunk[],
): Promise<Raster> {
  try {
    return await readRegion(reader, layout, region);
  } catch (error) {
    reader.signal?.throwIfAborted();
    if (!(error instanceof TileSourceError) || isFailedRead(error)) throw error;
    const { left, top, width, height } = region;
    const rowBoundary = middleBoundary(top, height, layout.chunkHeight);
    const columnBoundary = middleBoundary(left, width, layout.tiled ? layout.chunkWidth : layout.width);
    const raster = createRaster({ width, height, bands: layout.bands, dtype: layout.dtype });
    if (rowBoundary === null && columnBoundary === null) {
      if (corrupt.length === maxCorruptChunks) throw error;
      corrupt.push({ region, error });
      return raster;
    }
    const halves =
      rowBoundary === null
        ? [
            { ...region, width: columnBoundary! - left },
            { ...region, left: columnBoundary!, width: left + width - columnBoundary! },
          ]
        : [
            { ...region, height: rowBoundary - top },
            { ...region, top: rowBoundary, height: top + height - rowBoundary },
          ];
    for (const half of halves) {
      blit(raster, await readOrHalve(reader, layout, half, corrupt), { left: half.left - left, top: half.top - top });
    }
    return raster;
  }
}

/** The boundary between strips or tiles that is nearest to the middle of a range; `null` if the range is in one strip or tile. */
function middleBoundary(from: number, length: number, side: number): number | null {
  const [first, last] = [Math.floor(from / side), Math.floor((from + length - 1) / side)];
  return first === last ? null : Math.ceil((first + last) / 2) * side;
}
