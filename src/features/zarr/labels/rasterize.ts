import { boxCorners } from '../../../annotation-format/formats/geometry.js';
import type { Coordinate } from '../../../annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';

/** Labels of pixels: whole numbers, 0 for background. */
export type LabelPixels = Uint8Array | Uint16Array | Uint32Array;

/** A square of pixels of a level. Positions are in pixels of the level. */
export interface LabelView {
  left: number;
  top: number;
  side: number;
  /** Base-layer pixels per pixel of the level. */
  scale: number;
}

/**
 * Sets all pixels whose center is inside an element to the element's label, without outline and antialiasing. Points and open lines are one
 * pixel wide. Heatmaps, grids of values, images and pixelmaps have no area and are left out.
 */
export function paintLabel(pixels: LabelPixels, view: LabelView, element: AnnotationElement, label: number): void {
  switch (element.type) {
    case 'point':
      paintPoint(pixels, view, element.center, label);
      return;
    case 'polyline':
      if (element.closed === true) fillRings(pixels, view, [element.points, ...(element.holes ?? [])], label);
      else paintLine(pixels, view, element.points, label);
      return;
    case 'arrow':
      paintLine(pixels, view, element.points, label);
      return;
    case 'rectangle':
    case 'rectanglegrid':
      fillRings(pixels, view, [boxCorners(element)], label);
      return;
    case 'ellipse':
      fillEllipse(pixels, view, { ...element, rotation: element.rotation ?? 0 }, label);
      return;
    case 'circle':
      fillEllipse(
        pixels,
        view,
        { center: element.center, width: 2 * element.radius, height: 2 * element.radius, rotation: 0 },
        label,
      );
      return;
    case 'heatmap':
    case 'griddata':
    case 'image':
    case 'pixelmap':
      return;
  }
}

function paintPixel(pixels: LabelPixels, { left, top, side }: LabelView, x: number, y: number, label: number): void {
  const column = x - left;
  const row = y - top;
  if (column >= 0 && row >= 0 && column < side && row < side) pixels[row * side + column] = label;
}

function paintPoint(pixels: LabelPixels, view: LabelView, [x, y]: Coordinate, label: number): void {
  paintPixel(pixels, view, Math.floor(x / view.scale), Math.floor(y / view.scale), label);
}

/** Draws lines with Bresenham's algorithm between the pixels of the vertices. */
function paintLine(pixels: LabelPixels, view: LabelView, points: readonly Coordinate[], label: number): void {
  const pixelAt = ([x, y]: Coordinate) => [Math.floor(x / view.scale), Math.floor(y / view.scale)] as const;
  for (let index = 0; index < Math.max(1, points.length - 1); index += 1) {
    const start = points[index]!;
    paintSegment(pixels, view, pixelAt(start), pixelAt(points[index + 1] ?? start), label);
  }
}

type Pixel = readonly [x: number, y: number];

function paintSegment(pixels: LabelPixels, view: LabelView, [x0, y0]: Pixel, [x1, y1]: Pixel, label: number): void {
  const { left, top, side } = view;
  const isOutside = (a: number, b: number, viewStart: number) => Math.max(a, b) < viewStart || Math.min(a, b) >= viewStart + side;
  if (isOutside(x0, x1, left) || isOutside(y0, y1, top)) return;
  const isSteep = Math.abs(y1 - y0) > Math.abs(x1 - x0);
  // Along the longer axis one pixel is drawn at each step. Only steps inside the view are made.
  const [mainStart, mainEnd, crossStart, crossEnd] = isSteep ? [y0, y1, x0, x1] : [x0, x1, y0, y1];
  const length = Math.abs(mainEnd - mainStart);
  const step = Math.sign(mainEnd - mainStart);
  const viewStart = isSteep ? top : left;
  const firstStep = Math.max(0, step >= 0 ? viewStart - mainStart : mainStart - (viewStart + side - 1));
  const lastStep = Math.min(length, step >= 0 ? viewStart + side - 1 - mainStart : mainStart - viewStart);
  const slope = length === 0 ? 0 : (crossEnd - crossStart) / length;
  for (let stepIndex = firstStep; stepIndex <= lastStep; stepIndex += 1) {
    const mainPosition = mainStart + stepIndex * step;
    const crossPosition = crossStart + Math.sign(slope) * Math.floor(Math.abs(slope) * stepIndex + 0.5);
    if (isSteep) paintPixel(pixels, view, crossPosition, mainPosition, label);
    else paintPixel(pixels, view, mainPosition, crossPosition, label);
  }
}

/** Fills rings together by the even-odd rule. A center on a left or upper edge is inside; a center on a right or lower edge is not. */
function fillRings(pixels: LabelPixels, view: LabelView, rings: readonly (readonly Coordinate[])[], label: number): void {
  const { left, top, side, scale } = view;
  let topY = Infinity;
  let bottomY = -Infinity;
  for (const ring of rings) {
    for (const [, y] of ring) {
      if (y < topY) topY = y;
      if (y > bottomY) bottomY = y;
    }
  }
  const firstRow = Math.max(0, firstCenter(topY, scale) - top);
  const endRow = Math.min(side, firstCenter(bottomY, scale) - top);
  if (!(firstRow < endRow)) return;
  const crossings: number[][] = Array.from({ length: endRow - firstRow }, () => []);
  for (const ring of rings) {
    let [x0, y0] = ring.at(-1) ?? [0, 0];
    for (const [x1, y1] of ring) {
      // The edge crosses the rows whose centers are at or below its upper end, and above its lower end.
      const [upper, lower] = y0 < y1 ? [y0, y1] : [y1, y0];
      const firstEdgeRow = Math.max(firstRow, firstCenter(upper, scale) - top);
      const end = Math.min(endRow, firstCenter(lower, scale) - top);
      for (let row = firstEdgeRow; row < end; row += 1) {
        const center = (top + row + 0.5) * scale;
        crossings[row - firstRow]!.push(x0 + ((center - y0) / (y1 - y0)) * (x1 - x0));
      }
      [x0, y0] = [x1, y1];
    }
  }
  for (const [index, rowCrossings] of crossings.entries()) {
    if (rowCrossings.length < 2) continue;
    rowCrossings.sort((a, b) => a - b);
    const rowOffset = (firstRow + index) * side;
    for (let crossingIndex = 0; crossingIndex + 1 < rowCrossings.length; crossingIndex += 2) {
      const begin = Math.max(0, firstCenter(rowCrossings[crossingIndex]!, scale) - left);
      const end = Math.min(side, firstCenter(rowCrossings[crossingIndex + 1]!, scale) - left);
      if (begin < end) pixels.fill(label, rowOffset + begin, rowOffset + end);
    }
  }
}

/** The first pixel of a level whose center is at or after a position of the base layer. */
function firstCenter(position: number, scale: number): number {
  return Math.ceil(position / scale - 0.5);
}

interface Ellipse {
  center: Coordinate;
  width: number;
  height: number;
  rotation: number;
}

/** Fills all pixels whose center is inside or on an ellipse. */
function fillEllipse(pixels: LabelPixels, view: LabelView, { center, width, height, rotation }: Ellipse, label: number): void {
  const { left, top, side, scale } = view;
  const [a, b] = [width / 2, height / 2];
  if (!(a > 0 && b > 0)) {
    paintPoint(pixels, view, center, label);
    return;
  }
  const [cos, sin] = [Math.cos(rotation), Math.sin(rotation)];
  // The ellipse is A x² + B x y + C y² <= 1, around its center.
  const [A, B, C] = [(cos / a) ** 2 + (sin / b) ** 2, 2 * cos * sin * (1 / a ** 2 - 1 / b ** 2), (sin / a) ** 2 + (cos / b) ** 2];
  const reach = Math.sqrt((a * sin) ** 2 + (b * cos) ** 2);
  const firstRow = Math.max(0, firstCenter(center[1] - reach, scale) - top);
  const lastRow = Math.min(side - 1, Math.floor((center[1] + reach) / scale - 0.5) - top);
  for (let row = firstRow; row <= lastRow; row += 1) {
    const y = (top + row + 0.5) * scale - center[1];
    const discriminant = (B * y) ** 2 - 4 * A * (C * y * y - 1);
    if (discriminant < 0) continue;
    const halfWidth = Math.sqrt(discriminant) / (2 * A);
    const middle = center[0] - (B * y) / (2 * A);
    const begin = Math.max(0, firstCenter(middle - halfWidth, scale) - left);
    const end = Math.min(side, Math.floor((middle + halfWidth) / scale - 0.5) + 1 - left);
    if (begin < end) pixels.fill(label, row * side + begin, row * side + end);
  }
}
