import { apiUrl } from '../api.js';
import { itemVersion } from '../browse/browse-model.js';
import type { ImageItem } from '../browse/browse-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { projectionQuery } from '../image/projection.js';
import type { FrameAppearance } from './stage-contract.js';
import type { TileJob, TileQueue } from './tile-queue.js';

/**
 * The tile source of a frame for OpenSeadragon. Its levels are the server's levels, where 0 is the coarsest. Tiles at the right and bottom are
 * cropped to the image.
 *
 * @param appearance its `style` says how channels are mixed; `''` means the default of the server
 * @param queue the queue that fetches its tiles
 */
export function createTileSource(
  item: ImageItem,
  { sizeX, sizeY, tileWidth, tileHeight, levels, frames = [] }: ImageMetadata,
  queue: TileQueue,
  frame: number,
  { style, projection }: FrameAppearance,
) {
  const tileRoute = frames.length > 1 ? `fzxy/${frame}` : 'zxy';
  const query = { edge: 'crop', style: style || null, ...projectionQuery(projection), _: itemVersion(item) };
  return {
    width: sizeX,
    height: sizeY,
    tileWidth,
    tileHeight,
    tileOverlap: 0,
    minLevel: 0,
    maxLevel: levels - 1,
    downloadTileStart: (job: TileJob) => queue.add(job),
    downloadTileAbort: (job: TileJob) => queue.drop(job),
    getTileUrl: (level: number, x: number, y: number) => apiUrl(`item/${item._id}/tiles/${tileRoute}/${level}/${x}/${y}`, query),
  };
}
