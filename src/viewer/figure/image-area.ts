import { boxAround, type Box } from '../annotations/annotation-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import type { Stage } from '../stage/stage-contract.js';

/** An area of an image that is shown as a rectangle: its center and size in image pixels, and the rotation of the image in degrees. */
export interface ImageArea {
  x: number;
  y: number;
  width: number;
  height: number;
  rotation: number;
}

/** The area in a rectangle on the stage, in pixels of the stage. */
export function areaAt(stage: Stage, { left, top, right, bottom }: Box): ImageArea {
  const zoom = stage.zoom();
  const { x, y } = stage.toImage((left + right) / 2, (top + bottom) / 2);
  return { x, y, width: (right - left) / zoom, height: (bottom - top) / zoom, rotation: stage.rotation() };
}

/** The area that the stage shows. */
export function areaOfView(stage: Stage): ImageArea {
  const { width, height } = stage.size();
  return areaAt(stage, { left: 0, top: 0, right: width, bottom: height });
}

/** Converts an area of the first image to the area of the second image that is at the same place on the screen. */
export function sameAreaOnSecond(area: ImageArea, first: Stage, second: Stage): ImageArea {
  const screenCenter = first.placement().transformPoint(area);
  const [firstSize, secondSize] = [first.size(), second.size()];
  const { x, y } = second.toImage(
    screenCenter.x + (secondSize.width - firstSize.width) / 2,
    screenCenter.y + (secondSize.height - firstSize.height) / 2,
  );
  const factor = first.zoom() / second.zoom();
  const rotation = area.rotation + second.rotation() - first.rotation();
  return { x, y, width: area.width * factor, height: area.height * factor, rotation };
}

/** The matrix from image pixels to the pixels of a rectangle that shows the area. */
export function placementOf(area: ImageArea, { left, top, right, bottom }: Box): DOMMatrix {
  return new DOMMatrix()
    .translate((left + right) / 2, (top + bottom) / 2)
    .rotate(area.rotation)
    .scale((right - left) / area.width)
    .translate(-area.x, -area.y);
}

/** The box around the visible part of an area, in whole image pixels; `null` if the area is outside the image. */
export function boundsOf(area: ImageArea, { sizeX, sizeY }: ImageMetadata): Box | null {
  const toImage = placementOf(area, { left: 0, top: 0, right: area.width, bottom: area.height }).inverse();
  const corners = [0, area.width].flatMap((x) => [0, area.height].map((y) => toImage.transformPoint({ x, y })));
  const bounds = boxAround(corners);
  // Rounding must not add a row of pixels that the area only touches.
  const [roundDown, roundUp] = [(value: number) => Math.floor(value + 1e-4), (value: number) => Math.ceil(value - 1e-4)];
  const box = {
    left: Math.max(0, roundDown(bounds.left)),
    top: Math.max(0, roundDown(bounds.top)),
    right: Math.min(sizeX, roundUp(bounds.right)),
    bottom: Math.min(sizeY, roundUp(bounds.bottom)),
  };
  return box.left < box.right && box.top < box.bottom ? box : null;
}

/** Crops an area to the image, in whole pixels. A rotated area is not cropped. @returns `null` if the area is outside the image */
export function cropToImage(area: ImageArea, metadata: ImageMetadata): ImageArea | null {
  const bounds = boundsOf(area, metadata);
  if (!bounds || area.rotation % 360 !== 0) return bounds && area;
  const { left, top, right, bottom } = bounds;
  return { x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top, rotation: 0 };
}
