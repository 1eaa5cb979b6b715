import { boundingBox } from '../../../../annotation-format/bounding-box.js';
import { boxCorners, ellipseOutline } from '../../../../annotation-format/formats/geometry.js';
import type { Coordinate } from '../../../../annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { RectangleGridElement } from '../../../../annotation-format/schema/rectanglegrid.js';
import { defaultLineColor, defaultLineWidth, groupColor, paintColor, type PaintColor } from './colors.js';

/** A line to be drawn along positions in base-layer pixels. */
export interface Stroke {
  points: readonly Coordinate[];
  closed: boolean;
}

/** Elements that are made of outlines. The others are drawn from their values, or by the client. */
export type OutlinedElement = Exclude<AnnotationElement, { type: 'heatmap' | 'griddata' | 'image' | 'pixelmap' }>;

/** What an element looks like, in base-layer pixels. */
export interface Shape {
  /** Closed outlines that are filled together by the even-odd rule; none for lines. */
  rings: readonly (readonly Coordinate[])[];
  strokes: readonly Stroke[];
}

/** Diameter of the disc that stands for a point, in base-layer pixels. */
export const pointDiameter = 8;

/** Length of the head of an arrow, in line widths, and the least, in base-layer pixels. */
const arrowHead = { widths: 4, least: 12 };

/** Lines of a grid that are drawn at most along each side. */
const maxGridLines = 1000;

/** Whether an element is drawn by its outline. */
export function isOutlined(element: AnnotationElement): element is OutlinedElement {
  return !['heatmap', 'griddata', 'image', 'pixelmap'].includes(element.type);
}

/** Whether an outlined element has an inside. */
function isFilled(element: OutlinedElement): boolean {
  return element.type === 'polyline' ? element.closed === true : element.type !== 'arrow';
}

/**
 * The diagonal of an element's box, by which it is decided whether it is drawn by itself or counted into a density: base-layer
 * pixels. A point counts as the disc that stands for it.
 */
export function drawnSize(element: AnnotationElement): number {
  return element.type === 'point' ? pointDiameter * Math.SQRT2 : boundingBox(element).size;
}

/** Outlines of an element. `scale`: base-layer pixels per pixel drawn, so that round shapes get no more vertices than are seen. */
export function shapeOf(element: OutlinedElement, scale: number): Shape {
  switch (element.type) {
    case 'polyline': {
      if (element.closed !== true) return { rings: [], strokes: [{ points: element.points, closed: false }] };
      const rings = element.holes === undefined ? [element.points] : [element.points, ...element.holes];
      return { rings, strokes: rings.map((points) => ({ points, closed: true })) };
    }
    case 'rectangle':
      return ringShape(boxCorners(element));
    case 'rectanglegrid':
      return gridShape(element);
    case 'ellipse':
      return ringShape(ellipseOutline(element, roundVertices(Math.max(element.width, element.height) / scale)));
    case 'circle':
      return discShape(element.center, element.radius * 2, scale);
    case 'point':
      return discShape(element.center, pointDiameter, scale);
    case 'arrow':
      return arrowShape(element.points, element.lineWidth ?? defaultLineWidth);
  }
}

/** Vertices with which a round shape of this diameter, in pixels drawn, looks round. */
function roundVertices(diameter: number): number {
  return Math.max(16, Math.min(96, 4 * Math.ceil(Math.sqrt(diameter))));
}

function ringShape(ring: readonly Coordinate[]): Shape {
  return { rings: [ring], strokes: [{ points: ring, closed: true }] };
}

function discShape(center: Coordinate, diameter: number, scale: number): Shape {
  return ringShape(ellipseOutline({ center, width: diameter, height: diameter }, roundVertices(diameter / scale)));
}

function gridShape(element: RectangleGridElement): Shape {
  const corners = boxCorners(element) as [Coordinate, Coordinate, Coordinate, Coordinate];
  const [leftTop, rightTop, rightBottom, leftBottom] = corners;
  const strokes: Stroke[] = [{ points: corners, closed: true }];
  const between = (a: Coordinate, b: Coordinate, share: number): Coordinate => [
    a[0] + (b[0] - a[0]) * share,
    a[1] + (b[1] - a[1]) * share,
    a[2],
  ];
  const lines = (count: number, ends: (share: number) => [Coordinate, Coordinate]) => {
    const drawn = Math.min(count, maxGridLines);
    for (let i = 1; i < drawn; i += 1) strokes.push({ points: ends(i / drawn), closed: false });
  };
  lines(element.widthSubdivisions, (share) => [between(leftTop, rightTop, share), between(leftBottom, rightBottom, share)]);
  lines(element.heightSubdivisions, (share) => [between(leftTop, leftBottom, share), between(rightTop, rightBottom, share)]);
  return { rings: [corners], strokes };
}

function arrowShape([head, tail]: readonly [Coordinate, Coordinate], lineWidth: number): Shape {
  const shaft: Stroke = { points: [tail, head], closed: false };
  const [dx, dy] = [tail[0] - head[0], tail[1] - head[1]];
  const length = Math.hypot(dx, dy);
  if (!(length > 0 && Number.isFinite(length))) return { rings: [], strokes: [shaft] };
  const barb = Math.min(length, Math.max(arrowHead.least, arrowHead.widths * lineWidth)) / length;
  const at = (side: 1 | -1): Coordinate => [
    head[0] + barb * (dx - side * 0.5 * dy),
    head[1] + barb * (dy + side * 0.5 * dx),
    head[2],
  ];
  return { rings: [], strokes: [shaft, { points: [at(1), head, at(-1)], closed: false }] };
}

/** Whether shapes have their own colours or those of their groups. */
export type ColorMode = 'element' | 'group';

/** Colours and width of a shape; `null` where nothing is drawn. */
export interface Paint {
  fill: PaintColor | null;
  line: PaintColor | null;
  /** Base-layer pixels, above 0 where there is a line. */
  lineWidth: number;
}

/** Colours and line width of an element, with the defaults of existing clients: no fill, a black line of 2 pixels. */
export function paintOf(element: OutlinedElement, mode: ColorMode): Paint {
  const lineWidth = element.lineWidth ?? defaultLineWidth;
  let fill = element.fillColor === undefined || !isFilled(element) ? null : paintColor(element.fillColor);
  let line = element.lineColor === undefined ? defaultLineColor : paintColor(element.lineColor);
  if (mode === 'group') {
    const [red, green, blue] = groupColor(element.group ?? null);
    if (fill !== null) fill = [red, green, blue, fill[3]];
    line = [red, green, blue, line[3]];
  }
  return { fill: fill?.[3] === 0 ? null : fill, line: line[3] === 0 || lineWidth === 0 ? null : line, lineWidth };
}

/** Which groups are shown: names, and `null` for elements without one. `undefined`: all. */
export type GroupFilter = ReadonlySet<string | null> | undefined;
