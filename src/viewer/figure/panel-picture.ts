import { drawOverlay } from '../annotations/drawing/overlay-pictures.js';
import type { FigureLayer } from '../annotations/figure-layers.js';
import type { Box } from '../annotations/annotation-model.js';
import { apiUrl, requestPicture } from '../api.js';
import type { LightSettings } from '../image/brightness.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { projectionQuery } from '../image/projection.js';
import { sharpZoom } from '../stage/stage.js';
import type { FrameAppearance } from '../stage/stage-contract.js';
import type { TileUrl } from '../stage/tile-layer.js';

/** The image, the overlays and the tiles of a panel, which are painted below its shapes. */
export interface PanelPicture {
  itemId: string;
  metadata: ImageMetadata;
  appearance: FrameAppearance & { frame: number; light: LightSettings };
  /** the box of the image that is visible, in whole pixels */
  bounds: Box;
  /** in pixels of the figure */
  figureBox: Box;
  placement: DOMMatrix;
  layers: readonly FigureLayer[];
}

/** Maximum number of simultaneous requests for tiles. */
const maxRequests = 4;
/** Maximum number of tiles of an annotation. If a figure needs more tiles, coarser tiles are enlarged. */
const maxTiles = 400;

/** Paints the image, its overlays, and the tiles of annotations that are not drawn as shapes. */
export async function paintPanel(context: CanvasRenderingContext2D, panel: PanelPicture, signal: AbortSignal) {
  const { bounds, figureBox, placement, layers, appearance } = panel;
  if (bounds.right === bounds.left) return;
  const zoom = Math.hypot(placement.a, placement.b);
  const picture = await requestPicture(regionUrl(panel, zoom), signal);
  paintClipped(() => {
    const { brightness, contrast } = appearance.light;
    if (brightness !== 100 || contrast !== 100) context.filter = `brightness(${brightness}%) contrast(${contrast}%)`;
    context.imageSmoothingEnabled = zoom < sharpZoom;
    drawInBox(picture, bounds);
  });
  for (const { overlays } of layers) {
    for (const { element, picture: overlay } of overlays) paintClipped(() => drawOverlay(context, element, overlay));
  }
  for (const { tiles, opacity } of layers) if (tiles) await paintTiles(tiles, opacity);

  /** Calls `draw`, whose coordinates are image pixels. Everything outside the panel is cut off. */
  function paintClipped(draw: () => void) {
    context.save();
    context.beginPath();
    context.rect(figureBox.left, figureBox.top, figureBox.right - figureBox.left, figureBox.bottom - figureBox.top);
    context.clip();
    context.setTransform(placement);
    context.imageSmoothingQuality = 'high';
    draw();
    context.restore();
  }

  function drawInBox(image: ImageBitmap, { left, top, right, bottom }: Box) {
    context.drawImage(image, left, top, right - left, bottom - top);
  }

  async function paintTiles(url: TileUrl, opacity: number) {
    const tiles = tilesOf(panel.metadata, bounds, zoom);
    for (let start = 0; start < tiles.length; start += maxRequests) {
      const batch = tiles.slice(start, start + maxRequests);
      const pictures = await Promise.all(batch.map(({ level, x, y }) => requestPicture(url(level, x, y), signal)));
      paintClipped(() => {
        context.globalAlpha = opacity;
        for (const [index, tile] of pictures.entries()) {
          const { left, top, tilePixelSize } = batch[index] as (typeof tiles)[number];
          drawInBox(tile, { left, top, right: left + tile.width * tilePixelSize, bottom: top + tile.height * tilePixelSize });
        }
      });
    }
  }
}

/** The address of the visible part of the image, with at most as many pixels as the figure shows. */
function regionUrl({ itemId, appearance, bounds: { left, top, right, bottom } }: PanelPicture, zoom: number) {
  const [regionWidth, regionHeight] = [right - left, bottom - top];
  const scale = Math.min(1, zoom);
  return apiUrl(`item/${itemId}/tiles/region`, {
    left,
    top,
    regionWidth,
    regionHeight,
    width: Math.max(1, Math.ceil(regionWidth * scale - 1e-6)),
    height: Math.max(1, Math.ceil(regionHeight * scale - 1e-6)),
    frame: appearance.frame || null,
    style: appearance.style || null,
    ...projectionQuery(appearance.projection),
    encoding: 'PNG',
  });
}

/** The tiles of a box of the image, from the level that matches the figure's resolution. If that level would need too many tiles, a coarser level is used. */
function tilesOf({ levels, tileWidth, tileHeight }: ImageMetadata, { left, top, right, bottom }: Box, zoom: number) {
  for (let levelsBelowFinest = Math.min(levels - 1, Math.max(0, Math.floor(-Math.log2(zoom)))); ; levelsBelowFinest += 1) {
    // The size of a tile's pixel, in pixels of the image.
    const tilePixelSize = 2 ** levelsBelowFinest;
    const [width, height] = [tileWidth * tilePixelSize, tileHeight * tilePixelSize];
    const [firstX, firstY] = [Math.floor(left / width), Math.floor(top / height)];
    const columns = Math.ceil(right / width) - firstX;
    const count = columns * (Math.ceil(bottom / height) - firstY);
    if (count > maxTiles && levelsBelowFinest < levels - 1) continue;
    return Array.from({ length: count }, (_, index) => {
      const [x, y] = [firstX + (index % columns), firstY + Math.floor(index / columns)];
      return { level: levels - 1 - levelsBelowFinest, x, y, left: x * width, top: y * height, tilePixelSize };
    });
  }
}
