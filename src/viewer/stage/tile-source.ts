import { apiUrl, needsToken, requestPicture } from '../api.js';
import { itemVersion } from '../browse/model.js';
import type { Item } from '../browse/model.js';
import type { ImageMetadata } from '../image/metadata.js';

/**
 * One frame of an image in the form OpenSeadragon takes. Its levels are the server's: 0 is the coarsest. Tiles at the right and
 * bottom border come cropped to what lies inside the image.
 *
 * @param style how channels are mixed; `''`: as the server has it
 */
export function tileSource(
  item: Item,
  { sizeX, sizeY, tileWidth, tileHeight, levels, frames = [] }: ImageMetadata,
  frame: number,
  style: string,
) {
  const order = frames.length > 1 ? `fzxy/${frame}` : 'zxy';
  const query = { edge: 'crop', style: style || null, _: itemVersion(item) };
  return {
    width: sizeX,
    height: sizeY,
    tileWidth,
    tileHeight,
    tileOverlap: 0,
    minLevel: 0,
    maxLevel: levels - 1,
    ...(needsToken() && { downloadTileStart, downloadTileAbort }),
    getTileUrl: (level: number, x: number, y: number) => apiUrl(`item/${item._id}/tiles/${order}/${level}/${x}/${y}`, query),
  };
}

/** What OpenSeadragon says of a tile that it wants. */
interface TileJob {
  src: string;
  userData: { leave?: AbortController };
  finish: (data: ImageBitmap, request: null, type: 'imageBitmap') => void;
  fail: (message: string, request: null) => void;
}

/** Asks for a tile with the token; addresses of blobs, which the library would use, are refused by most security policies. */
function downloadTileStart(job: TileJob) {
  const leave = new AbortController();
  job.userData.leave = leave;
  void requestPicture(job.src, leave.signal).then(
    (picture) => job.finish(picture, null, 'imageBitmap'),
    (error: unknown) => job.fail(String(error), null),
  );
}

function downloadTileAbort(job: TileJob) {
  job.userData.leave?.abort();
}
