import { TileSourceError } from '../../../errors.js';
import { createRaster, type Raster } from '../../raster.js';
import { isFailedRead } from '../../render/corrupt-tiles.js';
import { blit } from '../../render/pixels.js';
import { readRegion, type ChunkReader, type StoredRegion } from './region.js';
import type { ImageLayout } from './tiff-layout.js';

/** A strip or tile that is not shown, because its bytes cannot be decoded. */
export interface CorruptChunk {
  /** The part of the stored image, in pixels of its level. */
  region: StoredRegion;
  error: TileSourceError;
}

/** Maximum number of corrupt strips or tiles of a region; more are an error. */
const maxCorrupt = 4096;

/**
 * Decodes a rectangle of a stored image like {@link readRegion}, and leaves corrupt strips or tiles empty.
 *
 * @throws TileSourceError where there are many of them, or bytes could not be read.
 */
export async function readIntactRegion(
  reader: ChunkReader,
  layout: ImageLayout,
  region: StoredRegion,
): Promise<{ raster: Raster; corrupt: CorruptChunk[] }> {
  const corrupt: CorruptChunk[] = [];
  const raster = await readPart(reader, layout, region, corrupt);
  return { raster, corrupt };
}

/** @throws TileSourceError if a rectangle is completely in corrupt strips or tiles. */
export function checkIntact(region: StoredRegion, corrupt: readonly CorruptChunk[]): void {
  const overlap = (from: number, length: number, other: number, otherLength: number) =>
    Math.max(0, Math.min(from + length, other + otherLength) - Math.max(from, other));
  const lost = corrupt.reduce((sum, { region: { left, top, width, height } }) => {
    return sum + overlap(region.left, region.width, left, width) * overlap(region.top, region.height, top, height);
  }, 0);
  const [first] = corrupt;
  if (first !== undefined && lost >= region.width * region.height) throw first.error;
}

/** Reads a part. If that fails, it is halved until single strips or tiles are left. */
async function readPart(
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
    const down = middle(top, height, layout.chunkHeight);
    const across = middle(left, width, layout.tiled ? layout.chunkWidth : layout.width);
    const raster = createRaster({ width, height, bands: layout.bands, dtype: layout.dtype });
    if (down === null && across === null) {
      if (corrupt.length === maxCorrupt) throw error;
      corrupt.push({ region, error });
      return raster;
    }
    const halves =
      down === null
        ? [
            { ...region, width: across! - left },
            { ...region, left: across!, width: left + width - across! },
          ]
        : [
            { ...region, height: down - top },
            { ...region, top: down, height: top + height - down },
          ];
    for (const half of halves) {
      blit(raster, await readPart(reader, layout, half, corrupt), { left: half.left - left, top: half.top - top });
    }
    return raster;
  }
}

/** The beginning of the strip or tile that is nearest to the middle of the pixels; `null` if all pixels are in one strip or tile. */
function middle(from: number, length: number, side: number): number | null {
  const [first, last] = [Math.floor(from / side), Math.floor((from + length - 1) / side)];
  return first === last ? null : Math.ceil((first + last) / 2) * side;
}
