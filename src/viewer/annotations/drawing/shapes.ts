import { boxAround } from '../annotation-model.js';
import type { Box, Coordinate, Element, Point } from '../annotation-model.js';

/**
 * A point by which a shape is changed: a corner or the rotation handle of a box, the rim of a circle, a vertex, or the middle of a
 * side, where a new vertex begins.
 */
export type Handle = Point & { kind: 'corner' | 'turn' | 'rim' | 'vertex' | 'middle'; index: number };

/** Types of elements that this page draws as outlines. */
const outlinedTypes = new Set(['arrow', 'circle', 'ellipse', 'point', 'polyline', 'rectangle', 'rectanglegrid']);
/** Corners of a unit box, in the order of the handles. */
const unitCorners = [
  [-0.5, -0.5],
  [0.5, -0.5],
  [0.5, 0.5],
  [-0.5, 0.5],
] as const;
/** If a shape has more vertices, they get no handles, because they are too close together to be grasped. */
const maxVertexHandles = 400;
/** Rectangles and ellipses with smaller sides, in pixels of the image, count as accidental. */
const minSide = 1e-3;

/** Whether this page can draw an element. The server draws all other elements. */
export function isDrawnByPage({ type }: Element) {
  return outlinedTypes.has(type);
}

/** Whether an element shows another image on top of this image. */
export function isOverlay({ type }: Element) {
  return type === 'image' || type === 'pixelmap';
}

/** Whether QuPath has locked a shape, so that its outline must not be changed. */
export function isLocked({ user }: Element) {
  const { qupath } = user ?? {};
  return typeof qupath === 'object' && qupath !== null && 'isLocked' in qupath && qupath.isLocked === true;
}

/** The middle of the box around a shape. */
export function middleOfBox(element: Element): Point {
  const { left, top, right, bottom } = boxOf(element);
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

function isBox({ type }: Element) {
  return type === 'rectangle' || type === 'ellipse' || type === 'rectanglegrid';
}

/** Whether the shape encloses an area. */
export function isArea(element: Element) {
  return isBox(element) || element.type === 'circle' || (element.type === 'polyline' && element.closed === true);
}

/** Rotates a vector. @param angle radians */
export function rotateVector(x: number, y: number, angle: number = 0): Point {
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  return { x: x * cos - y * sin, y: x * sin + y * cos };
}

/** The four corners of a rectangle or of the box around an ellipse, upper left first. */
export function cornersOf({ center = [0, 0, 0], width = 0, height = 0, rotation }: Element): Point[] {
  return unitCorners.map(([x, y]) => {
    const corner = rotateVector(x * width, y * height, rotation);
    return { x: center[0] + corner.x, y: center[1] + corner.y };
  });
}

/** Caches the results of a function, by element. */
export function cachedByElement<T>(make: (element: Element) => T): (element: Element) => T {
  const values: WeakMap<Element, T> = new WeakMap();
  return (element) => {
    let value = values.get(element);
    if (value === undefined) values.set(element, (value = make(element)));
    return value;
  };
}

/** The box around a shape, without its line. */
export const boxOf = cachedByElement(computeBox);

function computeBox(element: Element): Box {
  const { center = [0, 0, 0], radius = 0, points } = element;
  const [x, y] = center;
  if (points) return boxAround(points.map(([pointX, pointY]) => ({ x: pointX, y: pointY })));
  if (element.type === 'circle') return { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius };
  if (element.type === 'ellipse') {
    const { width = 0, height = 0, rotation = 0 } = element;
    const across = Math.hypot(width * Math.cos(rotation), height * Math.sin(rotation)) / 2;
    const down = Math.hypot(width * Math.sin(rotation), height * Math.cos(rotation)) / 2;
    return { left: x - across, top: y - down, right: x + across, bottom: y + down };
  }
  return isBox(element) ? boxAround(cornersOf(element)) : { left: x, top: y, right: x, bottom: y };
}

/** Whether a point is in the area of a shape, or within `reach` of its line, in pixels of the image. */
export function touches(element: Element, point: Point, reach: number) {
  const box = boxOf(element);
  if (point.x < box.left - reach || point.x > box.right + reach || point.y < box.top - reach || point.y > box.bottom + reach)
    return false;
  const { type, center = [0, 0, 0], radius = 0, width = 0, height = 0, rotation = 0, points = [], holes = [] } = element;
  const fromCenter = rotateVector(point.x - center[0], point.y - center[1], -rotation);
  if (type === 'point') return true;
  if (type === 'circle') return Math.hypot(fromCenter.x, fromCenter.y) <= radius + reach;
  if (type === 'ellipse') return Math.hypot(fromCenter.x / (width / 2 + reach), fromCenter.y / (height / 2 + reach)) <= 1;
  if (isBox(element)) return Math.abs(fromCenter.x) <= width / 2 + reach && Math.abs(fromCenter.y) <= height / 2 + reach;
  if (element.closed && isInsideRing(points, point)) return !holes.some((hole) => isInsideRing(hole, point));
  const sideCount = element.closed ? points.length : points.length - 1;
  for (let index = 0; index < sideCount; index += 1) {
    const from = points[index];
    const to = points[(index + 1) % points.length];
    if (from && to && distanceToSide(point, from, to) <= reach) return true;
  }
  return false;
}

/** Whether a point is inside a ring, by the even-odd rule. */
function isInsideRing(ring: readonly Coordinate[], { x, y }: Point) {
  let isInside = false;
  let [beforeX, beforeY] = ring.at(-1) ?? [0, 0];
  for (const [toX, toY] of ring) {
    if (toY > y !== beforeY > y && x < ((beforeX - toX) * (y - toY)) / (beforeY - toY) + toX) isInside = !isInside;
    [beforeX, beforeY] = [toX, toY];
  }
  return isInside;
}

function distanceToSide({ x, y }: Point, [fromX, fromY]: Coordinate, [toX, toY]: Coordinate) {
  const across = toX - fromX;
  const down = toY - fromY;
  const squaredLength = across * across + down * down;
  const share = squaredLength === 0 ? 0 : Math.min(1, Math.max(0, ((x - fromX) * across + (y - fromY) * down) / squaredLength));
  return Math.hypot(x - fromX - share * across, y - fromY - share * down);
}

/**
 * The handles of a shape.
 *
 * @param handleDistance distance between a box and its rotation handle, in pixels of the image
 */
export function handlesOf(element: Element, handleDistance: number): Handle[] {
  const { type, center = [0, 0, 0], radius = 0, height = 0, rotation, points = [] } = element;
  if (type === 'circle') return [{ kind: 'rim', index: 0, x: center[0] + radius, y: center[1] }];
  if (isBox(element)) {
    const top = rotateVector(0, -height / 2 - handleDistance, rotation);
    const corners = cornersOf(element).map((corner, index) => ({ ...corner, kind: 'corner' as const, index }));
    return [...corners, { kind: 'turn', index: 0, x: center[0] + top.x, y: center[1] + top.y }];
  }
  if (points.length > maxVertexHandles) return [];
  const vertices = points.map(([x, y], index) => ({ kind: 'vertex' as const, index, x, y }));
  if (type !== 'polyline') return vertices;
  const sideCount = element.closed ? points.length : points.length - 1;
  const middles = points.slice(0, sideCount).map(([x, y], index) => {
    const [nextX, nextY] = points[(index + 1) % points.length] ?? [x, y];
    return { kind: 'middle' as const, index, x: (x + nextX) / 2, y: (y + nextY) / 2 };
  });
  // The last of several overlapping handles is grasped, so vertices come after middles.
  return [...middles, ...vertices];
}

function roundToThousandth(value: number) {
  return Math.round(value * 1000) / 1000;
}

export function toCoordinate(x: number, y: number, z: number = 0): Coordinate {
  return [roundToThousandth(x), roundToThousandth(y), z];
}

/** The shape, moved by a distance in pixels of the image. */
export function moveShape(element: Element, x: number, y: number): Element {
  const shift = (point: Coordinate) => toCoordinate(point[0] + x, point[1] + y, point[2]);
  const movedShape = { ...element };
  if (element.center) movedShape.center = shift(element.center);
  if (element.points) movedShape.points = element.points.map(shift);
  if (element.holes) movedShape.holes = element.holes.map((hole) => hole.map(shift));
  return movedShape;
}

/** The shape with one of its handles at another position. When a corner moves, the opposite corner stays fixed. */
export function moveHandle(element: Element, { kind, index }: Handle, to: Point): Element {
  const { center = [0, 0, 0], rotation, points = [] } = element;
  if (kind === 'rim') return { ...element, radius: roundToThousandth(Math.hypot(to.x - center[0], to.y - center[1])) };
  if (kind === 'turn') {
    const angle = Math.atan2(to.y - center[1], to.x - center[0]) + Math.PI / 2;
    return { ...element, rotation: Number(Math.atan2(Math.sin(angle), Math.cos(angle)).toFixed(5)) };
  }
  if (kind === 'corner') {
    const fixedCorner = cornersOf(element)[(index + 2) % 4] ?? { x: center[0], y: center[1] };
    return boxBetween(element, fixedCorner, to, rotation);
  }
  const z = points[index]?.[2] ?? 0;
  if (kind === 'vertex') return { ...element, points: points.with(index, toCoordinate(to.x, to.y, z)) };
  return { ...element, points: points.toSpliced(index + 1, 0, toCoordinate(to.x, to.y, z)) };
}

/** A rectangle or ellipse that reaches from one corner to another. */
export function boxBetween(element: Element, from: Point, to: Point, rotation: number = 0): Element {
  const sideLengths = rotateVector(to.x - from.x, to.y - from.y, -rotation);
  return {
    ...element,
    center: toCoordinate((from.x + to.x) / 2, (from.y + to.y) / 2, element.center?.[2]),
    width: roundToThousandth(Math.abs(sideLengths.x)),
    height: roundToThousandth(Math.abs(sideLengths.y)),
  };
}

/** The shape without a vertex; unchanged if it has the minimum number of vertices. */
export function removeVertex(element: Element, index: number): Element {
  const { points = [], closed, type } = element;
  const minPoints = closed ? 3 : 2;
  return type !== 'polyline' || points.length <= minPoints ? element : { ...element, points: points.toSpliced(index, 1) };
}

/** Whether a new shape is large enough to be intentional. */
export function isLargeEnough(element: Element) {
  const { type, width = 0, height = 0, points = [] } = element;
  if (isBox(element)) return width > minSide && height > minSide;
  return type === 'point' || points.length >= (element.closed ? 3 : 2);
}
