import { countDetails } from './details.js';
import { positionsOf, type Positions } from './positions.js';
import type { BoxElement, OverlayTransform } from './schema/common.js';
import type { AnnotationElement } from './schema/document.js';
import type { GridDataElement } from './schema/griddata.js';

/** An element's bounding box in base-layer pixels, with the element's details. The API sends it as `_bbox`. */
export interface BoundingBox {
  lowx: number;
  lowy: number;
  lowz: number;
  highx: number;
  highy: number;
  highz: number;
  /** Length of the diagonal of the box in x and y, in pixels. */
  size: number;
  /** See {@link countDetails}. */
  details: number;
}

/** Size in pixels of the full resolution of an overlay's large image. */
export interface OverlaySize {
  width: number;
  height: number;
}

/** The box around a point is one pixel wide and high. */
const pointHalfSide = 0.5;

/** The smallest and largest x, y and z of an element. */
interface Ranges {
  lowx: number;
  lowy: number;
  highx: number;
  highy: number;
  lowz: number;
  highz: number;
}

function rangesAround(center: readonly number[], halfWidth: number, halfHeight: number): Ranges {
  const [x = 0, y = 0, z = 0] = center;
  return { lowx: x - halfWidth, lowy: y - halfHeight, highx: x + halfWidth, highy: y + halfHeight, lowz: z, highz: z };
}

function rangesOfPositions({ numbers, from, to }: Positions): Ranges {
  if (from === to) return rangesAround([0, 0, 0], 0, 0);
  let [lowx, lowy, lowz] = [Infinity, Infinity, Infinity];
  let [highx, highy, highz] = [-Infinity, -Infinity, -Infinity];
  for (let at = from; at < to; at += 3) {
    const x = numbers[at] as number;
    const y = numbers[at + 1] as number;
    const z = numbers[at + 2] as number;
    if (x < lowx) lowx = x;
    if (x > highx) highx = x;
    if (y < lowy) lowy = y;
    if (y > highy) highy = y;
    if (z < lowz) lowz = z;
    if (z > highz) highz = z;
  }
  return { lowx, lowy, highx, highy, lowz, highz };
}

/** The tight box of a rotated rectangle or ellipse. The element's `normal` is ignored. */
function rangesOfBox({ type, center, width, height, rotation = 0 }: BoxElement & { type: string }): Ranges {
  const halfWidth = width / 2;
  const halfHeight = height / 2;
  if (rotation === 0) return rangesAround(center, halfWidth, halfHeight);
  const cos = Math.abs(Math.cos(rotation));
  const sin = Math.abs(Math.sin(rotation));
  if (type === 'ellipse')
    return rangesAround(center, Math.hypot(halfWidth * cos, halfHeight * sin), Math.hypot(halfWidth * sin, halfHeight * cos));
  return rangesAround(center, halfWidth * cos + halfHeight * sin, halfWidth * sin + halfHeight * cos);
}

function rangesOfGrid({ origin = [0, 0, 0], dx = 1, dy = 1, gridWidth, values, interpretation }: GridDataElement): Ranges {
  // A choropleth has a value for each cell. Other grids have a value for each grid point, so that n values span n - 1 cells.
  const extraPoints = interpretation === 'choropleth' ? 0 : 1;
  const [x, y, z] = origin;
  const endX = x + dx * (gridWidth - extraPoints);
  const endY = y + dy * (Math.ceil(values.length / gridWidth) - extraPoints);
  return {
    lowx: Math.min(x, endX),
    highx: Math.max(x, endX),
    lowy: Math.min(y, endY),
    highy: Math.max(y, endY),
    lowz: z,
    highz: z,
  };
}

/** The corners of an overlay of this size, after its transform, in the order (0,0), (0,H), (W,H), (W,0). */
export function overlayCorners(
  transform: OverlayTransform | undefined,
  { width, height }: OverlaySize,
): [x: number, y: number][] {
  const { xoffset = 0, yoffset = 0, matrix } = transform ?? {};
  const [[m00, m01], [m10, m11]] = matrix ?? [
    [1, 0],
    [0, 1],
  ];
  const corners = [
    [0, 0],
    [0, height],
    [width, height],
    [width, 0],
  ] as const;
  return corners.map(([x, y]) => [x * m00 + y * m10 + xoffset, x * m01 + y * m11 + yoffset]);
}

function rangesOf(element: AnnotationElement, overlaySize: OverlaySize | null): Ranges {
  switch (element.type) {
    case 'arrow':
    case 'polyline':
    case 'heatmap':
      return rangesOfPositions(positionsOf(element.points));
    case 'rectangle':
    case 'rectanglegrid':
    case 'ellipse':
      return rangesOfBox(element);
    case 'circle':
      return rangesAround(element.center, element.radius, element.radius);
    case 'point':
      return rangesAround(element.center, pointHalfSide, pointHalfSide);
    case 'griddata':
      return rangesOfGrid(element);
    case 'image':
    case 'pixelmap':
      return overlaySize === null
        ? rangesAround([0, 0, 0], 0, 0)
        : rangesOfPositions(positionsOf(overlayCorners(element.transform, overlaySize).map(([x, y]) => [x, y, 0])));
  }
}

/**
 * The bounding box of an element that passed validation. Line width, holes, the radius of heatmaps and `normal` are ignored.
 * Infinite coordinates and sizes are clamped to finite numbers.
 *
 * @param overlaySize size of the large image that an image or pixelmap shows; `null` (unknown) gives a box of zeros.
 */
export function boundingBox(element: AnnotationElement, overlaySize: OverlaySize | null = null): BoundingBox {
  return boxOfRanges(rangesOf(element, overlaySize), countDetails(element));
}

/** The {@link boundingBox} of a polyline or arrow with these positions. */
export function boxOfLine(line: Positions): BoundingBox {
  return boxOfRanges(rangesOfPositions(line), (line.to - line.from) / 3);
}

function boxOfRanges({ lowx, lowy, lowz, highx, highy, highz }: Ranges, details: number): BoundingBox {
  const dx = highx - lowx;
  const dy = highy - lowy;
  const box = { lowx, lowy, lowz, highx, highy, highz, size: Math.sqrt(dx * dx + dy * dy), details };
  return Number.isFinite(box.size) ? box : makeFinite(box);
}

function clampToFinite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

function makeFinite(box: BoundingBox): BoundingBox {
  const [lowx, lowy, highx, highy] = [
    clampToFinite(box.lowx),
    clampToFinite(box.lowy),
    clampToFinite(box.highx),
    clampToFinite(box.highy),
  ];
  return { ...box, lowx, lowy, highx, highy, size: clampToFinite(Math.hypot(highx - lowx, highy - lowy)) };
}

/** The box around `a` and `b`, or `b` if `a` is `null`. The `details` of `a` and `b` are added. */
export function unionBox(a: BoundingBox | null, b: BoundingBox): BoundingBox {
  if (a === null) return b;
  const union = {
    lowx: Math.min(a.lowx, b.lowx),
    lowy: Math.min(a.lowy, b.lowy),
    lowz: Math.min(a.lowz, b.lowz),
    highx: Math.max(a.highx, b.highx),
    highy: Math.max(a.highy, b.highy),
    highz: Math.max(a.highz, b.highz),
  };
  return {
    ...union,
    size: clampToFinite(Math.hypot(union.highx - union.lowx, union.highy - union.lowy)),
    details: a.details + b.details,
  };
}
