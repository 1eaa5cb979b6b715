import { boundingBox } from '../../../../annotation-format/bounding-box.js';
import { boxCorners, ellipseOutline } from '../../../../annotation-format/formats/geometry.js';
import type { Coordinate } from '../../../../annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { RectangleGridElement } from '../../../../annotation-format/schema/rectanglegrid.js';
import { defaultLineColor, defaultLineWidth, groupColor, toPaintColor, type PaintColor } from './colors.js';

/** A line along positions in base-layer pixels. */
export interface Stroke {
  points: readonly Coordinate[];
  closed: boolean;
}

/** An element that is drawn by its outline. Other elements are drawn by their values, or by the client. */
export type OutlinedElement = Exclude<AnnotationElement, { type: 'heatmap' | 'griddata' | 'image' | 'pixelmap' }>;

/** The outlines of an element in base-layer pixels. */
export interface Shape {
  /** Closed outlines that are filled together by the even-odd rule. Empty for lines. */
  rings: readonly (readonly Coordinate[])[];
  strokes: readonly Stroke[];
}

/** Diameter in base-layer pixels of the disc that represents a point. */
export const pointDiameter = 8;

/** Length of an arrow's head in base-layer pixels: `perLineWidth` times the width of the line, but at least `min`. */
const arrowHead = { perLineWidth: 4, min: 12 };

/** Maximum number of lines of a grid that are drawn along each side. */
const maxGridLines = 1000;

/** Whether an element is drawn by its outline. This includes points, which are drawn as discs. */
export function isOutlined(element: AnnotationElement): element is OutlinedElement {
  return !['heatmap', 'griddata', 'image', 'pixelmap'].includes(element.type);
}

/** Whether an outlined element can be filled. */
function canBeFilled(element: OutlinedElement): boolean {
  return element.type === 'polyline' ? element.closed === true : element.type !== 'arrow';
}

/**
 * Computes the diagonal of an element's box in base-layer pixels, which decides whether the element is drawn or counted in a density. For a
 * point, the box of the disc that represents the point is used.
 */
export function drawnSize(element: AnnotationElement): number {
  return element.type === 'point' ? pointDiameter * Math.SQRT2 : boundingBox(element).size;
}

/** Makes the outlines of an element. Round shapes get as many vertices as look round at `scale` (base-layer pixels per pixel of the picture). */
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
      return ringShape(ellipseOutline(element, roundVertexCount(Math.max(element.width, element.height) / scale)));
    case 'circle':
      return discShape(element.center, element.radius * 2, scale);
    case 'point':
      return discShape(element.center, pointDiameter, scale);
    case 'arrow':
      return arrowShape(element.points, element.lineWidth ?? defaultLineWidth);
  }
}

/** Computes the number of vertices with which a shape of this diameter, in pixels of the picture, looks round. */
function roundVertexCount(diameter: number): number {
  return Math.max(16, Math.min(96, 4 * Math.ceil(Math.sqrt(diameter))));
}

function ringShape(ring: readonly Coordinate[]): Shape {
  return { rings: [ring], strokes: [{ points: ring, closed: true }] };
}

function discShape(center: Coordinate, diameter: number, scale: number): Shape {
  return ringShape(ellipseOutline({ center, width: diameter, height: diameter }, roundVertexCount(diameter / scale)));
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
  const addLines = (count: number, ends: (share: number) => [Coordinate, Coordinate]) => {
    const drawnCount = Math.min(count, maxGridLines);
    for (let i = 1; i < drawnCount; i += 1) strokes.push({ points: ends(i / drawnCount), closed: false });
  };
  addLines(element.widthSubdivisions, (share) => [between(leftTop, rightTop, share), between(leftBottom, rightBottom, share)]);
  addLines(element.heightSubdivisions, (share) => [between(leftTop, leftBottom, share), between(rightTop, rightBottom, share)]);
  return { rings: [corners], strokes };
}

function arrowShape([head, tail]: readonly [Coordinate, Coordinate], lineWidth: number): Shape {
  const shaft: Stroke = { points: [tail, head], closed: false };
  const [dx, dy] = [tail[0] - head[0], tail[1] - head[1]];
  const length = Math.hypot(dx, dy);
  if (!(length > 0 && Number.isFinite(length))) return { rings: [], strokes: [shaft] };
  const headShare = Math.min(length, Math.max(arrowHead.min, arrowHead.perLineWidth * lineWidth)) / length;
  const barbEnd = (side: 1 | -1): Coordinate => [
    head[0] + headShare * (dx - side * 0.5 * dy),
    head[1] + headShare * (dy + side * 0.5 * dx),
    head[2],
  ];
  return { rings: [], strokes: [shaft, { points: [barbEnd(1), head, barbEnd(-1)], closed: false }] };
}

/** Whether shapes have their own colors or the colors of their groups. */
export type ColorMode = 'element' | 'group';

/** Colors and line width of a shape. A fill or line that is not drawn is `null`. */
export interface Paint {
  fill: PaintColor | null;
  line: PaintColor | null;
  /** Width of the line in base-layer pixels. Above 0 if there is a line. */
  lineWidth: number;
}

/** Red, green and blue that replace the color of a shape. Its opacity stays. `null` if the shape keeps its own color. */
export type ShapeColor = readonly [red: number, green: number, blue: number] | null;

/** Colors that a request chooses for groups, by the name of the group. The name `null` is for elements without a group. */
export type GroupColors = ReadonlyMap<string | null, ShapeColor>;

/** How shapes are colored by their groups. */
export interface GroupStyle {
  mode: ColorMode;
  /** Colors that a request chooses. Shapes of other groups have the {@link groupColor} or their own colors, depending on `mode`. */
  groupColors: GroupColors;
}

/** Finds the color of the shapes of a group. Returns `null` if the shapes have their own colors. */
export function colorOfGroup(group: string | null, { mode, groupColors }: GroupStyle): ShapeColor {
  const color = groupColors.get(group) ?? (mode === 'group' ? groupColor(group) : null);
  return color && [color[0], color[1], color[2]];
}

/** Determines the colors and line width of an element. The defaults are those of existing clients: no fill, and a black line of 2 pixels. */
export function paintOf(element: OutlinedElement, color: ShapeColor): Paint {
  const lineWidth = element.lineWidth ?? defaultLineWidth;
  let fill = element.fillColor === undefined || !canBeFilled(element) ? null : toPaintColor(element.fillColor);
  let line = element.lineColor === undefined ? defaultLineColor : toPaintColor(element.lineColor);
  if (color !== null) {
    const [red, green, blue] = color;
    if (fill !== null) fill = [red, green, blue, fill[3]];
    line = [red, green, blue, line[3]];
  }
  return { fill: fill?.[3] === 0 ? null : fill, line: line[3] === 0 || lineWidth === 0 ? null : line, lineWidth };
}

/** The names of the visible groups, with `null` for elements without a group. `undefined` if all are visible. */
export type GroupFilter = ReadonlySet<string | null> | undefined;
