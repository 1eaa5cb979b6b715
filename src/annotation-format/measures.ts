import type { BoundingBox } from './bounding-box.js';
import type { AnnotationElement } from './schema/document.js';

/** Size and center of an element in base-layer pixels; x and y only. */
export interface Measures {
  /** In square pixels; `NaN` for elements that are not shapes: heat maps, grids and overlays. */
  area: number;
  /** Length of a line, or perimeter of a closed shape and its holes; `NaN` as for `area`. */
  length: number;
  /** The centroid; for elements that are not shapes, the center of their box. */
  x: number;
  y: number;
}

type Point = readonly number[];

/** Sums over the sides of rings and lines. Coordinates are relative to the first point, so that no digits are lost far away from 0. */
class Sides {
  /** Twice the signed area of the last ring, and the sums that give its centroid. */
  area = 0;
  momentX = 0;
  momentY = 0;
  length = 0;
  /** Sums of the middles of sides, weighted by their lengths. */
  middleX = 0;
  middleY = 0;

  constructor(private readonly origin: Point) {}

  startRing(): void {
    this.area = this.momentX = this.momentY = 0;
  }

  add(from: Point, to: Point): void {
    const ox = this.origin[0] as number;
    const oy = this.origin[1] as number;
    const ax = (from[0] as number) - ox;
    const ay = (from[1] as number) - oy;
    const bx = (to[0] as number) - ox;
    const by = (to[1] as number) - oy;
    const cross = ax * by - bx * ay;
    this.area += cross;
    this.momentX += (ax + bx) * cross;
    this.momentY += (ay + by) * cross;
    const length = lengthOf(bx - ax, by - ay);
    this.length += length;
    this.middleX += length * ((ax + bx) / 2);
    this.middleY += length * ((ay + by) / 2);
  }
}

/** The length of a vector. `Math.hypot` takes ten times as long, so it is used only where squares are too large or too small. */
function lengthOf(dx: number, dy: number): number {
  const squares = dx * dx + dy * dy;
  return squares > 1e-200 && squares < Infinity ? Math.sqrt(squares) : Math.hypot(dx, dy);
}

function measureLine(points: readonly Point[]): Measures {
  const origin = points[0] ?? [0, 0];
  const sides = new Sides(origin);
  for (let i = 1; i < points.length; i += 1) sides.add(points[i - 1] as Point, points[i] as Point);
  return { area: 0, length: sides.length, ...centerOfOutline(sides, origin) };
}

/** The center of the outline, for shapes without an area. */
function centerOfOutline({ length, middleX, middleY }: Sides, origin: Point): { x: number; y: number } {
  const [x, y] = [origin[0] as number, origin[1] as number];
  return length > 0 ? { x: x + middleX / length, y: y + middleY / length } : { x, y };
}

function measurePolygon(rings: readonly (readonly Point[])[]): Measures {
  const origin = rings[0]?.[0] ?? [0, 0];
  const sides = new Sides(origin);
  let [area, momentX, momentY] = [0, 0, 0];
  for (const [number, ring] of rings.entries()) {
    sides.startRing();
    for (let i = 0; i < ring.length; i += 1) sides.add(ring[i] as Point, ring[(i + 1) % ring.length] as Point);
    // The outline counts as positive and holes as negative, regardless of the directions in which they were drawn.
    const sign = (number === 0 ? 1 : -1) * Math.sign(sides.area);
    area += sign * sides.area;
    momentX += sign * sides.momentX;
    momentY += sign * sides.momentY;
  }
  const center =
    area === 0
      ? centerOfOutline(sides, origin)
      : { x: (origin[0] as number) + momentX / (3 * area), y: (origin[1] as number) + momentY / (3 * area) };
  return { area: roundedArea(area / 2, origin, sides.length), length: sides.length, ...center };
}

/**
 * The area rounded to five decimals, if the difference is only a rounding error. Areas from coordinates with two decimals have at most
 * five. Rounded, they take half as many bytes in columns.
 */
function roundedArea(area: number, [x = 0, y = 0]: Point, perimeter: number): number {
  const rounded = Math.round(area * 1e5) / 1e5;
  const maxError = 4 * Number.EPSILON * (Math.abs(x) + Math.abs(y) + perimeter) * perimeter;
  return Math.abs(area - rounded) <= maxError ? rounded : area;
}

/** Ramanujan's second approximation, which is off by less than 0.04% for any ellipse that is not almost a line. */
function ellipsePerimeter(a: number, b: number): number {
  const h = ((a - b) / (a + b || 1)) ** 2;
  return Math.PI * (a + b) * (1 + (3 * h) / (10 + Math.sqrt(4 - 3 * h)));
}

/** Measures an element that passed validation. Holes are subtracted from the area; `normal` is not considered. */
export function measure(element: AnnotationElement, box: BoundingBox): Measures {
  switch (element.type) {
    case 'arrow':
      return measureLine(element.points);
    case 'polyline':
      // A ring needs three vertices.
      if (element.closed !== true || element.points.length < 3) return measureLine(element.points);
      return measurePolygon([element.points, ...(element.holes ?? [])]);
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
