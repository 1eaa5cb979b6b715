import { boxAround, type Point } from '../annotations/annotation-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import type { Stage, ViewPosition } from './stage-contract.js';
import type { OpenSeadragon as OpenSeadragonLibrary, TiledImage, Viewer } from './openseadragon.js';

/** The part of a stage that tells where the image is on it. */
export type StageGeometry = Pick<
  Stage,
  'zoom' | 'size' | 'placement' | 'toImage' | 'visibleBox' | 'animatedPosition' | 'position' | 'animatedRotation' | 'rotation'
>;

/** @param getImage returns the shown frame */
export function createGeometry(
  OpenSeadragon: OpenSeadragonLibrary,
  viewer: Viewer,
  getImage: () => TiledImage,
  { sizeX, sizeY }: Pick<ImageMetadata, 'sizeX' | 'sizeY'>,
): StageGeometry {
  const { viewport } = viewer;
  return {
    zoom,
    size,
    placement,
    toImage,
    visibleBox() {
      const { width, height } = size();
      return boxAround([toImage(0, 0), toImage(width, 0), toImage(0, height), toImage(width, height)]);
    },
    animatedPosition() {
      const { width, height } = size();
      return { ...toImage(width / 2, height / 2), width: width / zoom() };
    },
    position: () => positionOf(viewer, getImage()),
    animatedRotation: () => viewport.getRotation(true),
    rotation: () => ((viewport.getRotation() % 360) + 360) % 360,
  };

  function zoom() {
    return getImage().viewportToImageZoom(viewport.getZoom(true));
  }

  function size() {
    const { x: width, y: height } = viewport.getContainerSize();
    return { width, height };
  }

  function toImage(x: number, y: number) {
    const point = getImage().viewerElementToImageCoordinates(new OpenSeadragon.Point(x, y));
    return { x: point.x, y: point.y };
  }

  function placement() {
    const [origin, right, bottom] = [
      [0, 0],
      [sizeX, 0],
      [0, sizeY],
    ].map(([x, y]) => getImage().imageToViewerElementCoordinates(new OpenSeadragon.Point(x, y)));
    const { x, y } = origin as Point;
    const a = ((right as Point).x - x) / sizeX;
    const b = ((right as Point).y - y) / sizeX;
    return new DOMMatrix([a, b, ((bottom as Point).x - x) / sizeY, ((bottom as Point).y - y) / sizeY, x, y]);
  }
}

/** The view; `null` if the whole image is visible. */
function positionOf(viewer: Viewer, image: TiledImage): ViewPosition | null {
  const bounds = viewer.viewport.getBoundsNoRotate();
  const home = viewer.viewport.getHomeBoundsNoRotate();
  const isAtHome = (member: 'x' | 'y' | 'width') => Math.abs(bounds[member] - home[member]) < home.width / 1000;
  if (isAtHome('x') && isAtHome('y') && isAtHome('width')) return null;
  const rectangle = image.viewportToImageRectangle(bounds);
  // More decimals would make no visible difference.
  const decimals = Math.min(3, Math.max(0, Math.ceil(4 - Math.log10(rectangle.width))));
  const round = (value: number) => Number(value.toFixed(decimals));
  return {
    x: round(rectangle.x + rectangle.width / 2),
    y: round(rectangle.y + rectangle.height / 2),
    width: round(rectangle.width),
  };
}
