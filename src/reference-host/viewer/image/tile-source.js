// @ts-check
import { apiUrl } from '../api.js';
import { itemVersion } from '../browse/model.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 */

/**
 * One frame of an image in the form OpenSeadragon takes. Its levels are the server's: 0 is the coarsest. Tiles at the right and
 * bottom border come cropped to what lies inside the image.
 *
 * @param {Item} item
 * @param {ImageMetadata} metadata
 * @param {number} frame
 */
export function tileSource(item, { sizeX, sizeY, tileWidth, tileHeight, levels, frames = [] }, frame) {
  const order = frames.length > 1 ? `fzxy/${frame}` : 'zxy';
  const query = { edge: 'crop', _: itemVersion(item) };
  return {
    width: sizeX,
    height: sizeY,
    tileWidth,
    tileHeight,
    tileOverlap: 0,
    minLevel: 0,
    maxLevel: levels - 1,
    /** @param {number} level @param {number} x @param {number} y */
    getTileUrl: (level, x, y) => apiUrl(`item/${item._id}/tiles/${order}/${level}/${x}/${y}`, query),
  };
}
