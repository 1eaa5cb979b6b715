import { formatCount, formatLength, formatNumber } from '../format.js';
import { cornersOf, isArea, cachedByElement, rotateVector } from './drawing/shapes.js';
import type { Element } from './annotation-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { annotationTexts } from '../annotation-texts.js';

/** Number of corners of the polygon that approximates an ellipse. The error of the ellipse's area is less than a ten-thousandth. */
const ellipseCorners = 720;

/** The rings of a shape, or its line, in full-resolution pixels; the outer ring first. */
function ringsOf(element: Element): (readonly number[])[][] {
  const { type, center = [0, 0, 0], radius = 0, rotation, points, holes = [] } = element;
  if (points) return [points, ...holes];
  if (type !== 'ellipse' && type !== 'circle') return [cornersOf(element).map(({ x, y }) => [x, y])];
  const { width = 2 * radius, height = 2 * radius } = element;
  const ring = Array.from({ length: ellipseCorners }, (_, index) => {
    const angle = (2 * Math.PI * index) / ellipseCorners;
    const { x, y } = rotateVector((Math.cos(angle) * width) / 2, (Math.sin(angle) * height) / 2, rotation);
    return [center[0] + x, center[1] + y];
  });
  return [ring];
}

/** The measurements of a shape as names and texts: in units of length if the image has a scale, otherwise in pixels. Empty for a point. */
export function measuresOf(element: Element, { mm_x: mmX, mm_y: mmY }: ImageMetadata): [name: string, value: string][] {
  if (element.type === 'point') return [];
  const isScaled = mmX !== null && mmY !== null;
  const rings = ringsOf(element).map((ring) => ring.map(([x = 0, y = 0]) => [x * (mmX ?? 1), y * (mmY ?? 1)] as const));
  const isLine = element.type === 'arrow' || (element.type === 'polyline' && !element.closed);
  const length = rings.reduce((sum, ring) => sum + lengthOf(ring, !isLine), 0);
  const lengthText = isScaled ? formatLength(length) : `${formatCount(Math.round(length))} px`;
  if (isLine) return [[annotationTexts.length, lengthText]];
  const [outer = 0, ...holes] = rings.map(areaOf);
  const area = holes.reduce((sum, hole) => sum - hole, outer);
  return [
    [annotationTexts.area, isScaled ? formatArea(area) : `${formatCount(Math.round(area))} px²`],
    [annotationTexts.perimeter, lengthText],
  ];
}

/** Area, length or perimeter, and centroid (`x`, `y`) in full-resolution pixels, computed by the same rules as in the server's tables. */
export const geometryOf = cachedByElement(computeGeometry);

function computeGeometry(element: Element): Record<'area' | 'length' | 'x' | 'y', number> {
  const { type, center = [0, 0, 0], width = 0, height = 0, radius = 0 } = element;
  const [x, y] = center;
  if (type === 'point') return { area: 0, length: 0, x, y };
  if (type === 'circle') return { area: Math.PI * radius ** 2, length: 2 * Math.PI * radius, x, y };
  const rings = ringsOf(element).map((ring) => ring.map(([left = 0, top = 0]) => [left, top] as const));
  const hasArea = isArea(element) || type === 'rectanglegrid';
  const length = rings.reduce((sum, ring) => sum + lengthOf(ring, hasArea), 0);
  if (!element.points) return { area: (type === 'ellipse' ? Math.PI / 4 : 1) * width * height, length, x, y };
  const parts = rings.map((ring, index) => ({ ...momentsOf(ring), sign: index === 0 ? 1 : -1 }));
  const signedSum = (key: 'area' | 'x' | 'y') => parts.reduce((sum, part) => sum + part.sign * part[key], 0);
  const area = hasArea ? signedSum('area') : 0;
  if (area > 0) return { area, length, x: signedSum('x') / area, y: signedSum('y') / area };
  return { area, length, ...centroidOfLines(rings, hasArea) };
}

/** Area of a ring, and its centroid multiplied by the area. */
function momentsOf(ring: readonly (readonly [number, number])[]) {
  const [originX, originY] = ring[0] ?? [0, 0];
  let [doubleArea, momentX, momentY] = [0, 0, 0];
  for (const [index, [x, y]] of ring.entries()) {
    const [fromX, fromY] = ring.at(index - 1) ?? [x, y];
    const cross = (fromX - originX) * (y - originY) - (x - originX) * (fromY - originY);
    doubleArea += cross;
    momentX += (fromX + x - 2 * originX) * cross;
    momentY += (fromY + y - 2 * originY) * cross;
  }
  const area = Math.abs(doubleArea) / 2;
  const sign = Math.sign(doubleArea);
  return { area, x: originX * area + (sign * momentX) / 6, y: originY * area + (sign * momentY) / 6 };
}

/** The centroid of lines, weighted by their lengths; the first point if they have no length. */
function centroidOfLines(rings: readonly (readonly (readonly [number, number])[])[], isClosed: boolean) {
  const [first = [0, 0] as const] = rings[0] ?? [];
  const sum = { length: 0, x: 0, y: 0 };
  for (const ring of rings) {
    for (const [index, [x, y]] of ring.entries()) {
      if (index === 0 && !isClosed) continue;
      const [fromX, fromY] = ring.at(index - 1) ?? [x, y];
      const length = Math.hypot(x - fromX, y - fromY);
      sum.length += length;
      sum.x += length * ((x + fromX) / 2);
      sum.y += length * ((y + fromY) / 2);
    }
  }
  return sum.length > 0 ? { x: sum.x / sum.length, y: sum.y / sum.length } : { x: first[0], y: first[1] };
}

function lengthOf(ring: readonly (readonly [number, number])[], isClosed: boolean) {
  return ring.reduce((sum, [x, y], index) => {
    const [fromX, fromY] = ring.at(index - 1) ?? [x, y];
    return index === 0 && !isClosed ? sum : sum + Math.hypot(x - fromX, y - fromY);
  }, 0);
}

function areaOf(ring: readonly (readonly [number, number])[]) {
  const [originX, originY] = ring[0] ?? [0, 0];
  const doubleArea = ring.reduce((sum, [x, y], index) => {
    const [fromX, fromY] = ring.at(index - 1) ?? [x, y];
    return sum + (fromX - originX) * (y - originY) - (x - originX) * (fromY - originY);
  }, 0);
  return Math.abs(doubleArea) / 2;
}

function formatArea(mm2: number) {
  return mm2 >= 0.1 ? `${formatNumber(mm2, 4)} mm²` : `${formatNumber(mm2 * 1e6, 4)} µm²`;
}
