import { boxAround, type Box } from '../annotations/model.js';
import type { ImageMetadata } from '../image/metadata.js';
import type { Stage } from '../stage/contract.js';

/** A rectangle on an image: its center and size in image pixels, and the rotation of the image in it, in degrees. */
export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
  rotation: number;
}

/** The frame of a rectangle on the stage, in pixels of the stage. */
export function frameAt(stage: Stage, { left, top, right, bottom }: Box): Frame {
  const zoom = stage.zoom();
  const { x, y } = stage.toImage((left + right) / 2, (top + bottom) / 2);
  return { x, y, width: (right - left) / zoom, height: (bottom - top) / zoom, rotation: stage.rotation() };
}

/** The frame of the view. */
export function frameOfView(stage: Stage): Frame {
  const { width, height } = stage.size();
  return frameAt(stage, { left: 0, top: 0, right: width, bottom: height });
}

/** Converts a frame on the first image to the frame on the second that is at the same place on the screen. */
export function frameBeside(frame: Frame, first: Stage, second: Stage): Frame {
  const screenCenter = first.placement().transformPoint(frame);
  const [firstSize, secondSize] = [first.size(), second.size()];
  const { x, y } = second.toImage(
    screenCenter.x + (secondSize.width - firstSize.width) / 2,
    screenCenter.y + (secondSize.height - firstSize.height) / 2,
  );
  const factor = first.zoom() / second.zoom();
  const rotation = frame.rotation + second.rotation() - first.rotation();
  return { x, y, width: frame.width * factor, height: frame.height * factor, rotation };
}

/** The matrix from image pixels to pixels of a rectangle that shows the frame. */
export function placementOf(frame: Frame, { left, top, right, bottom }: Box): DOMMatrix {
  return new DOMMatrix()
    .translate((left + right) / 2, (top + bottom) / 2)
    .rotate(frame.rotation)
    .scale((right - left) / frame.width)
    .translate(-frame.x, -frame.y);
}

/** The box of the image around a frame, in whole pixels; `null` if it shows no part of the image. */
export function boundsOf(frame: Frame, { sizeX, sizeY }: ImageMetadata): Box | null {
  const toImage = placementOf(frame, { left: 0, top: 0, right: frame.width, bottom: frame.height }).inverse();
  const corners = [0, frame.width].flatMap((x) => [0, frame.height].map((y) => toImage.transformPoint({ x, y })));
  const around = boxAround(corners);
  // Rounding must not add a row of pixels that the frame only touches.
  const [low, high] = [(value: number) => Math.floor(value + 1e-4), (value: number) => Math.ceil(value - 1e-4)];
  const box = {
    left: Math.max(0, low(around.left)),
    top: Math.max(0, low(around.top)),
    right: Math.min(sizeX, high(around.right)),
    bottom: Math.min(sizeY, high(around.bottom)),
  };
  return box.left < box.right && box.top < box.bottom ? box : null;
}

/** The part of a frame that is on the image, in whole pixels if it is not rotated; `null` if no part is. */
export function onImage(frame: Frame, metadata: ImageMetadata): Frame | null {
  const bounds = boundsOf(frame, metadata);
  if (!bounds || frame.rotation % 360 !== 0) return bounds && frame;
  const { left, top, right, bottom } = bounds;
  return { x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top, rotation: 0 };
}
