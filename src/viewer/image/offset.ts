import type { ImageMetadata } from './metadata.js';
import type { Stage } from '../stage/contract.js';

/** Position of the second image relative to the first: moved (in micrometers if both have a scale, otherwise in pixels), scaled, and turned by degrees. */
export type Offset = { x: number; y: number; scale: number; turn: number };
export type Side = { stage: Stage; /** micrometres per pixel, or 1 */ unit: number };

export const noOffset: Offset = { x: 0, y: 0, scale: 1, turn: 0 };

/** The offset in an address; none for other texts. */
export function readOffset(text: string | null): Offset {
  const [x = NaN, y = NaN, scale = NaN, turn = NaN] = (text ?? '').split(',').map(Number);
  const isOffset = [x, y, turn].every((part) => Math.abs(part) < 1e9) && scale > 1e-4 && scale < 1e4;
  return isOffset ? { x, y, scale, turn } : noOffset;
}

/** The offset as in an address; `null` for none. */
export function writeOffset({ x, y, scale, turn }: Offset) {
  if (x === 0 && y === 0 && scale === 1 && turn === 0) return null;
  const digits = (value: number, count: number) => Number(value.toFixed(count));
  return [digits(x, 1), digits(y, 1), digits(scale, 5), digits(turn, 2)].join(',');
}

/**
 * The initial offset. If the whole first image is visible, the centers of both are at the same place. Otherwise it is none if the second image extends
 * to the view of the first, or the one that puts its center there.
 */
export function meetingOffset(one: Side, { unit }: Side, { sizeX, sizeY }: ImageMetadata): Offset {
  const { x, y } = seenBy(one);
  const isWhole = one.stage.position() === null;
  const isThere = !isWhole && x >= 0 && y >= 0 && x <= sizeX * unit && y <= sizeY * unit;
  const offset = { ...noOffset, x: (sizeX * unit) / 2 - x, y: (sizeY * unit) / 2 - y };
  // The position of a whole image is only nearly exact.
  const isNone = Math.abs(offset.x) < unit / 2 && Math.abs(offset.y) < unit / 2;
  return isThere || isNone ? noOffset : offset;
}

/** The offset between the current views. */
export function presentOffset(first: Side, second: Side): Offset {
  const [one, other] = [seenBy(first), seenBy(second)];
  const turn = other.rotation - one.rotation;
  const scale = other.width / second.stage.size().width / (one.width / first.stage.size().width);
  const { x, y } = matrixOf({ x: 0, y: 0, scale, turn }).transformPoint(one);
  return { x: other.x - x, y: other.y - y, scale, turn };
}

/** Moves an image so that it shows the same as another one. @param offset of the image that is moved, relative to the other one */
export function moveWith(from: Side, to: Side, offset: Offset, isInverse: boolean) {
  const seen = seenBy(from);
  const matrix = matrixOf(offset);
  const { x, y } = (isInverse ? matrix.inverse() : matrix).transformPoint(seen);
  const factor = (isInverse ? 1 / offset.scale : offset.scale) * (to.stage.size().width / from.stage.size().width);
  to.stage.rotate(seen.rotation + (isInverse ? -offset.turn : offset.turn), true);
  to.stage.goTo({ x: x / to.unit, y: y / to.unit, width: (seen.width * factor) / to.unit });
}

/** The matrix that maps points of the first image to points of the second one, each in the units of its image. */
function matrixOf({ x, y, scale, turn }: Offset) {
  return new DOMMatrix().translate(x, y).rotate(-turn).scale(scale);
}

function seenBy({ stage, unit }: Side) {
  const { x, y, width } = stage.place();
  return { x: x * unit, y: y * unit, width: width * unit, rotation: stage.turned() };
}
