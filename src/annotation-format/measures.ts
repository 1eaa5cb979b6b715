import type { BoundingBox } from './bounding-box.js';
import { positionsOf, type Positions } from './positions.js';
import type { AnnotationElement } from './schema/document.js';

/** Size and center of an element in base-layer pixels; x and y only. */
export interface Measures {
  /** In square pixels; `NaN` for elements that are not shapes: heat maps, grids and overlays. */
  area: number;
  /** In pixels: length of a line, or perimeter of a closed shape and its holes; `NaN` for elements that are not shapes. */
  length: number;
  /** The centroid; for elements that are not shapes, the center of their box. */
  x: number;
  y: number;
}

/** Sums over the sides of lines and rings. Coordinates are relative to the first point, so that no digits are lost far away from 0. */
class SideSums {
  /** Twice the signed area of the last ring. */
  doubleArea = 0;
  /** Sums over the last ring; divided by three times {@link doubleArea} they give its centroid. */
  momentX = 0;
  momentY = 0;
  /** Total length of all sides. */
  length = 0;
  /** Sums of the midpoints of sides, weighted by the sides' lengths. */
  middleX = 0;
  middleY = 0;

  readonly originX: number;
  readonly originY: number;

  constructor({ numbers, from }: Positions) {
    this.originX = numbers[from] as number;
    this.originY = numbers[from + 1] as number;
  }

  startRing(): void {
    this.doubleArea = this.momentX = this.momentY = 0;
  }

  /** Adds the side between the positions at two indices. */
  addSide(numbers: Float64Array, from: number, to: number): void {
    const ax = (numbers[from] as number) - this.originX;
    const ay = (numbers[from + 1] as number) - this.originY;
    const bx = (numbers[to] as number) - this.originX;
    const by = (numbers[to + 1] as number) - this.originY;
    const cross = ax * by - bx * ay;
    this.doubleArea += cross;
    this.momentX += (ax + bx) * cross;
    this.momentY += (ay + by) * cross;
    const length = lengthOf(bx - ax, by - ay);
    this.length += length;
    this.middleX += length * ((ax + bx) / 2);
    this.middleY += length * ((ay + by) / 2);
  }
}

/** The length of a vector. `Math.hypot` takes ten times as long, so it is used only if the squared length is too large or too small for a double. */
function lengthOf(dx: number, dy: number): number {
  const squaredLength = dx * dx + dy * dy;
  return squaredLength > 1e-200 && squaredLength < Infinity ? Math.sqrt(squaredLength) : Math.hypot(dx, dy);
}

function measureLine(line: Positions): Measures {
  const sides = new SideSums(line);
  for (let at = line.from + 3; at < line.to; at += 3) sides.addSide(line.numbers, at - 3, at);
  return { area: 0, length: sides.length, ...centerOfOutline(sides) };
}

/** The mean position along the outline, for shapes without an area. */
function centerOfOutline({ length, middleX, middleY, originX: x, originY: y }: SideSums): { x: number; y: number } {
  return length > 0 ? { x: x + middleX / length, y: y + middleY / length } : { x, y };
}

function measurePolygon(rings: readonly Positions[]): Measures {
  const sides = new SideSums(rings[0]!);
  let [doubleArea, momentX, momentY] = [0, 0, 0];
  for (const [ringIndex, ring] of rings.entries()) {
    sides.startRing();
    for (let at = ring.from + 3; at < ring.to; at += 3) sides.addSide(ring.numbers, at - 3, at);
    sides.addSide(ring.numbers, ring.to - 3, ring.from);
    // The outline counts as positive and holes as negative, regardless of the directions in which they were drawn.
    const sign = (ringIndex === 0 ? 1 : -1) * Math.sign(sides.doubleArea);
    doubleArea += sign * sides.doubleArea;
    momentX += sign * sides.momentX;
    momentY += sign * sides.momentY;
  }
  const { originX, originY } = sides;
  const center =
    doubleArea === 0
      ? centerOfOutline(sides)
      : { x: originX + momentX / (3 * doubleArea), y: originY + momentY / (3 * doubleArea) };
  return { area: roundedArea(doubleArea / 2, sides), length: sides.length, ...center };
}

/**
 * Returns the area rounded to five decimals if this changes it by no more than a rounding error, otherwise the area itself. Coordinates
 * with two decimals give areas with at most five, and the rounded area takes half as many bytes in a column of numbers.
 */
function roundedArea(area: number, { originX, originY, length: perimeter }: SideSums): number {
  const rounded = Math.round(area * 1e5) / 1e5;
  const maxError = 4 * Number.EPSILON * (Math.abs(originX) + Math.abs(originY) + perimeter) * perimeter;
  return Math.abs(area - rounded) <= maxError ? rounded : area;
}

/**
 * The perimeter of an ellipse with the half axes `a` and `b`, by Ramanujan's second approximation. It is off by less than 0.04% for any
 * ellipse that is not almost a line.
 */
function ellipsePerimeter(a: number, b: number): number {
  const h = ((a - b) / (a + b || 1)) ** 2;
  return Math.PI * (a + b) * (1 + (3 * h) / (10 + Math.sqrt(4 - 3 * h)));
}

/** Measures a polygon if the line is closed and has at least three vertices, otherwise a line. */
export function measureOutline(line: Positions, isClosed: boolean, holes: readonly Positions[] = []): Measures {
  return isClosed && line.to - line.from >= 9 ? measurePolygon([line, ...holes]) : measureLine(line);
}

/** Measures an element that passed validation. Holes are subtracted from the area. The element's `normal` is ignored. */
export function measure(element: AnnotationElement, box: BoundingBox): Measures {
  switch (element.type) {
    case 'arrow':
      return measureLine(positionsOf(element.points));
    case 'polyline':
      return measureOutline(positionsOf(element.points), element.closed === true, element.holes?.map(positionsOf));
    case 'point':
      return { area: 0, length: 0, x: element.center[0], y: element.center[1] };
    case 'circle': {
      const { center, radius } = element;
      return { area: Math.PI * radius * radius, length: 2 * Math.PI * radius, x: center[0], y: center[1] };
    }
    case 'ellipse': {
      const { center, width, height } = element;
      const length = ellipsePerimeter(width / 2, height / 2);
      return { area: (Math.PI * width * height) / 4, length, x: center[0], y: center[1] };
    }
    case 'rectangle':
    case 'rectanglegrid': {
      const { center, width, height } = element;
      return { area: width * height, length: 2 * (width + height), x: center[0], y: center[1] };
    }
    case 'heatmap':
    case 'griddata':
    case 'image':
    case 'pixelmap':
      return { area: NaN, length: NaN, x: box.lowx / 2 + box.highx / 2, y: box.lowy / 2 + box.highy / 2 };
  }
}
