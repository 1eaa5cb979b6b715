import type { Box } from '../annotations/annotation-model.js';
import { requestPicture } from '../api.js';
import { messageOf } from '../dom.js';
import { CellLayer, snapToPixel, type Cell, type CellLayout, type CellStage } from './cells.js';
import type { ImageMetadata } from '../image/image-metadata.js';

/** Maximum number of simultaneous requests for tiles, the same as in `tile-queue.ts`. */
const maxRequests = 6;

/** Maximum number of tiles that are kept, the same as in OpenSeadragon. */
const maxBitmaps = 200;

/**
 * Tiles that the view enlarges by more than this factor are not scaled in advance. They are tiles at full resolution: the view enlarges tiles of other
 * levels by at most the square root of two.
 */
const maxEnlargement = 1.5;

/** Returns the address of a tile. Level 0 is the coarsest. */
export type TileUrl = (level: number, x: number, y: number) => string;

export interface TileLayer {
  /** Shows these tiles, which replace the previous tiles as soon as they have arrived. @param opacity from 0 to 1 */
  show: (tileUrl: TileUrl, opacity: number) => void;
  hide: () => void;
  remove: () => void;
}

/** A layer of tiles in the grid of the image. @param onProblem called for each tile that cannot be loaded */
export function createTileLayer(
  stage: CellStage,
  { sizeX, sizeY, tileWidth, tileHeight, levels }: ImageMetadata,
  onProblem: (reason: string) => void,
): TileLayer {
  let opacity = 1;
  let shownTileUrl: TileUrl | null = null;
  /** The most recently visible tiles by address, so that returning to them needs no request. */
  const bitmaps: Map<string, ImageBitmap> = new Map();
  const layer = new CellLayer({ stage, depth: 'picture', createLayout, concurrency: maxRequests, opacity: () => opacity });
  return {
    show(tileUrl, newOpacity) {
      if (opacity !== newOpacity) stage.repaint();
      opacity = newOpacity;
      if (shownTileUrl !== tileUrl) layer.redraw();
      shownTileUrl = tileUrl;
    },
    hide() {
      shownTileUrl = null;
      layer.hide();
    },
    remove: () => layer.remove(),
  };

  /** The level whose pixels are closest in size to the pixels of the screen. Always using the finer level would need up to four times as many tiles, for little visible effect. */
  function levelAt({ a, b }: DOMMatrix) {
    const halvings = Math.round(-Math.log2(Math.hypot(a, b) * devicePixelRatio));
    return Math.min(levels - 1, Math.max(0, levels - 1 - halvings));
  }

  function createLayout(placement: DOMMatrix): CellLayout {
    const tileUrl = shownTileUrl;
    const level = levelAt(placement);
    const levelScale = 2 ** (levels - 1 - level);
    const range = {
      left: 0,
      top: 0,
      right: lastIndex(sizeX, tileWidth * levelScale),
      bottom: lastIndex(sizeY, tileHeight * levelScale),
    };
    const layout: CellLayout = {
      ...placeTiles(placement, levelScale),
      range,
      draw: ({ column, row, box }: Cell, signal: AbortSignal) => drawTile(tileUrl!(level, column, row), box, signal),
      refit(newPlacement) {
        if (levelAt(newPlacement) === level) Object.assign(layout, placeTiles(newPlacement, levelScale));
        return levelAt(newPlacement) === level;
      },
    };
    return layout;
  }

  /**
   * The positions of tiles. They are not rotated, because the browser rotates them with the view.
   *
   * @param levelScale pixels of the image per pixel of the level
   */
  function placeTiles(placement: DOMMatrix, levelScale: number) {
    const { a, b, e, f } = placement;
    const scale = Math.hypot(a, b);
    const origin = { x: e - snapToPixel(e), y: f - snapToPixel(f) };
    const toImage = new DOMMatrix().scale(1 / scale).translate(-origin.x, -origin.y);
    return { toImage, origin, width: tileWidth * levelScale * scale, height: tileHeight * levelScale * scale };
  }

  /** Loads a tile and scales it to its size on the screen, so that it need not be scaled in each frame. A tile that is much enlarged on the screen keeps its own size. */
  async function drawTile(url: string, { left, top, right, bottom }: Box, signal: AbortSignal) {
    try {
      const picture = bitmaps.get(url) ?? (await requestPicture(url, signal));
      bitmaps.delete(url);
      bitmaps.set(url, picture);
      for (const oldest of bitmaps.keys()) if (bitmaps.size > maxBitmaps) bitmaps.delete(oldest);
      const screenSize = [right - left, bottom - top].map((side) => Math.round(side * devicePixelRatio)) as [number, number];
      const isMuchEnlarged = screenSize[0] > maxEnlargement * picture.width;
      const [resizeWidth, resizeHeight] = isMuchEnlarged ? [picture.width, picture.height] : screenSize;
      return await createImageBitmap(picture, { resizeWidth, resizeHeight });
    } catch (error) {
      if (!signal.aborted) onProblem(messageOf(error));
      throw error;
    }
  }
}

function lastIndex(imageSize: number, tileSize: number) {
  return Math.ceil(imageSize / tileSize) - 1;
}
