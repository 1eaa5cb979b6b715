import type { Stage } from '../stage/stage-contract.js';

/** How the second image is moved, scaled and turned relative to the first. `x` and `y` are in micrometers if both images have a pixel size, otherwise in pixels. `turn` is in degrees. */
export type Offset = { x: number; y: number; scale: number; turn: number };

/** One of two images that are shown side by side. */
export interface ComparedImage {
  stage: Stage;
  /** micrometers per pixel; 1 if one of the two images has no pixel size */
  unit: number;
  /** center of the image, in micrometers or pixels, as in {@link Offset} */
  center: { x: number; y: number };
}

export const noOffset: Offset = { x: 0, y: 0, scale: 1, turn: 0 };

/** The offset in an address; {@link noOffset} for other texts. */
export function readOffset(text: string | null): Offset {
  const [x = NaN, y = NaN, scale = NaN, turn = NaN] = (text ?? '').split(',').map(Number);
  const isOffset = [x, y, turn].every((part) => Math.abs(part) < 1e9) && scale > 1e-4 && scale < 1e4;
  return isOffset ? { x, y, scale, turn } : noOffset;
}

/** The offset in the form that addresses use; `null` for {@link noOffset}. */
export function writeOffset({ x, y, scale, turn }: Offset) {
  if (x === 0 && y === 0 && scale === 1 && turn === 0) return null;
  const roundTo = (value: number, decimals: number) => Number(value.toFixed(decimals));
  return [roundTo(x, 1), roundTo(y, 1), roundTo(scale, 5), roundTo(turn, 2)].join(',');
}

/** The initial offset: the centers of both images are at the same place. */
export function centeredOffset({ center: firstCenter, unit }: ComparedImage, { center: secondCenter }: ComparedImage): Offset {
  const [x, y] = [secondCenter.x - firstCenter.x, secondCenter.y - firstCenter.y];
  // The extents of equal images may differ slightly, because the sizes of their pixels were rounded.
  return Math.abs(x) < unit / 2 && Math.abs(y) < unit / 2 ? noOffset : { ...noOffset, x, y };
}

/** Whether the middle of the first image's view is on the second image. */
export function isViewOnSecond(first: ComparedImage, { center }: ComparedImage, offset: Offset) {
  const { x, y } = matrixOf(offset).transformPoint(viewOf(first));
  return x >= 0 && y >= 0 && x <= 2 * center.x && y <= 2 * center.y;
}

/** The offset between the current views. */
export function currentOffset(first: ComparedImage, second: ComparedImage): Offset {
  const [firstView, secondView] = [viewOf(first), viewOf(second)];
  const turn = secondView.rotation - firstView.rotation;
  const scale = secondView.width / second.stage.size().width / (firstView.width / first.stage.size().width);
  const { x, y } = matrixOf({ x: 0, y: 0, scale, turn }).transformPoint(firstView);
  return { x: secondView.x - x, y: secondView.y - y, scale, turn };
}

/**
 * Moves the image `to` so that it shows the same part as the image `from`.
 *
 * @param offset of the second image relative to the first
 * @param isInverse whether `to` is the first image
 */
export function moveToSamePart(from: ComparedImage, to: ComparedImage, offset: Offset, isInverse: boolean) {
  const view = viewOf(from);
  const matrix = matrixOf(offset);
  const { x, y } = (isInverse ? matrix.inverse() : matrix).transformPoint(view);
  const factor = (isInverse ? 1 / offset.scale : offset.scale) * (to.stage.size().width / from.stage.size().width);
  to.stage.rotate(view.rotation + (isInverse ? -offset.turn : offset.turn), true);
  to.stage.goTo({ x: x / to.unit, y: y / to.unit, width: (view.width * factor) / to.unit });
}

/** The matrix that maps points of the first image to points of the second image, both in the units of {@link Offset}. */
function matrixOf({ x, y, scale, turn }: Offset) {
  return new DOMMatrix().translate(x, y).rotate(-turn).scale(scale);
}

function viewOf({ stage, unit }: ComparedImage) {
  const { x, y, width } = stage.animatedPosition();
  return { x: x * unit, y: y * unit, width: width * unit, rotation: stage.animatedRotation() };
}
