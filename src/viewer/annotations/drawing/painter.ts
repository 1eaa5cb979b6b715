import { clipToWidth } from '../../format.js';
import { overlaps } from '../annotation-model.js';
import { boxOf, cornersOf, handlesOf, isArea, cachedByElement } from './shapes.js';
import type { Box, Element, Point } from '../annotation-model.js';
import { drawOverlay, type OverlayPicture } from './overlay-pictures.js';

/** The default color of lines, also in the server's pictures. */
export const defaultLineColor = 'rgb(0,0,0)';
export const defaultLineWidth = 2;
/** Lines wider than this, in pixels of the canvas, have round corners. On narrower lines, round corners are not visible, but take a seventh more time. */
const roundJoinAbove = 2;
/** Radius of points, in CSS pixels. */
export const pointRadius = 5;
/** Radius of the mark at the position of a shape that is not drawn, in CSS pixels. */
const positionMarkRadius = 7;
/** Side of a handle, in CSS pixels. */
const handleSize = 9;
/** Length of an arrowhead, in CSS pixels. */
export const arrowheadLength = 14;
/** Distance between a box and its rotation handle above it, in CSS pixels. */
export const rotationHandleDistance = 26;
/** Shapes smaller than this, in CSS pixels, are drawn as a dot. */
const dotBelow = 2.5;
/** Maximum number of labels. More labels would be unreadable. */
export const maxLabels = 200;
/** A label wider than this, in CSS pixels, is shortened with an ellipsis; the card of its shape shows all of it. */
export const maxLabelWidth = 240;

/** The target of an outline: the path of a canvas, or the recorder of a figure. */
export type OutlineTarget = Pick<Path2D, 'moveTo' | 'lineTo' | 'closePath' | 'arc' | 'ellipse'>;

/** The outline of an element in image pixels. */
const pathOf = cachedByElement((element) => traceOutline(element, new Path2D()));

/** Adds the outline of an element to a path. An element of the type `point` has no outline. */
export function traceOutline<T extends OutlineTarget>(element: Element, path: T): T {
  const { type, center = [0, 0, 0], width = 0, height = 0, radius = 0, rotation = 0, points = [], holes = [] } = element;
  if (type === 'circle') path.arc(center[0], center[1], radius, 0, 2 * Math.PI);
  else if (type === 'ellipse') path.ellipse(center[0], center[1], width / 2, height / 2, rotation, 0, 2 * Math.PI);
  else if (type === 'rectangle' || type === 'rectanglegrid') {
    const corners = cornersOf(element);
    const ring = corners.map(({ x, y }) => [x, y]);
    traceVertices(path, ring, true);
    if (type === 'rectanglegrid') traceGrid(path, corners, element);
  } else {
    traceVertices(path, points, element.closed === true);
    for (const hole of holes) traceVertices(path, hole, true);
  }
  return path;
}

function traceVertices(path: OutlineTarget, points: readonly (readonly number[])[], isClosed: boolean) {
  for (const [index, [x = 0, y = 0]] of points.entries()) {
    if (index === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
  }
  if (isClosed) path.closePath();
}

/** Maximum number of lines of a grid in each direction. */
const maxGridLines = 1000;

function traceGrid(path: OutlineTarget, corners: Point[], { widthSubdivisions = 1, heightSubdivisions = 1 }: Element) {
  const [topLeft, topRight, bottomRight, bottomLeft] = corners;
  if (!topLeft || !topRight || !bottomRight || !bottomLeft) return;
  traceLines(widthSubdivisions, topLeft, topRight, bottomLeft, bottomRight);
  traceLines(heightSubdivisions, topLeft, bottomLeft, topRight, bottomRight);

  function traceLines(count: number, startOfSide: Point, endOfSide: Point, startOfOpposite: Point, endOfOpposite: Point) {
    for (let index = 1; index < Math.min(count, maxGridLines); index += 1) {
      const share = index / count;
      path.moveTo(startOfSide.x + (endOfSide.x - startOfSide.x) * share, startOfSide.y + (endOfSide.y - startOfSide.y) * share);
      path.lineTo(
        startOfOpposite.x + (endOfOpposite.x - startOfOpposite.x) * share,
        startOfOpposite.y + (endOfOpposite.y - startOfOpposite.y) * share,
      );
    }
  }
}

/** Shortened labels by element. */
const shortLabels: WeakMap<Element, string> = new WeakMap();

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws on one canvas. */
export class Painter {
  private labelCount = 0;
  /** CSS pixels per image pixel */
  readonly #scale: number;

  /**
   * @param ratio pixels of the canvas per CSS pixel
   * @param placement the matrix from image pixels to CSS pixels of the canvas
   * @param visibleBox the box around the visible part, in image pixels
   */
  constructor(
    private readonly context: Context,
    private readonly ratio: number,
    private readonly placement: DOMMatrix,
    private readonly visibleBox: Box,
  ) {
    this.#scale = Math.hypot(placement.a, placement.b);
  }

  /** From here on, the coordinates of the context are image pixels. */
  #useImageCoordinates() {
    this.context.setTransform(new DOMMatrix().scale(this.ratio).multiply(this.placement));
  }

  /** From here on, the coordinates of the context are CSS pixels of the stage. */
  #useStageCoordinates() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  /** Draws another image on top of this image. */
  paintOverlay(element: Element, overlay: OverlayPicture) {
    this.#useImageCoordinates();
    drawOverlay(this.context, element, overlay);
    this.context.globalAlpha = 1;
  }

  /** Makes the browser draw immediately. Otherwise, the browser would postpone all drawing to one moment. */
  flush() {
    this.context.getImageData(0, 0, 1, 1);
  }

  /** Whether any part of a shape is visible, including its line and its arrowhead. */
  isInView(element: Element) {
    const { left, top, right, bottom } = this.visibleBox;
    const visibleLineWidth = (element.lineWidth ?? defaultLineWidth) * Math.min(1, this.#scale);
    const fixedMargin = element.type === 'arrow' ? arrowheadLength : element.type === 'point' ? pointRadius : 0;
    const margin = (fixedMargin + 1 + visibleLineWidth / 2) / this.#scale;
    return overlaps(boxOf(element), { left: left - margin, top: top - margin, right: right + margin, bottom: bottom + margin });
  }

  /** @param elements the shapes; later shapes cover earlier shapes */
  paintShapes(elements: Iterable<Element>, opacity: number) {
    const { context } = this;
    this.#useImageCoordinates();
    context.lineCap = 'round';
    context.globalAlpha = opacity;
    for (const element of elements) this.#paintShape(element, boxOf(element));
    context.globalAlpha = 1;
  }

  #paintShape(element: Element, box: Box) {
    const { context } = this;
    const scale = this.#scale;
    const { lineColor = defaultLineColor, lineWidth = defaultLineWidth, fillColor } = element;
    if (element.type === 'point') {
      const [x, y] = element.center ?? [0, 0];
      context.beginPath();
      context.arc(x, y, pointRadius / scale, 0, 2 * Math.PI);
      if (fillColor) this.#fill(fillColor);
      this.#stroke(lineColor, lineWidth);
      return;
    }
    const size = Math.max(box.right - box.left, box.bottom - box.top) * scale;
    if (size < dotBelow) {
      const side = Math.max(size, 1) / scale;
      context.fillStyle = lineColor;
      context.fillRect((box.left + box.right - side) / 2, (box.top + box.bottom - side) / 2, side, side);
      return;
    }
    const path = pathOf(element);
    if (fillColor && isArea(element)) this.#fill(fillColor, path);
    this.#stroke(lineColor, lineWidth, path);
    if (element.type === 'arrow') this.#paintArrowhead(element, lineWidth);
  }

  #fill(color: string, path?: Path2D) {
    this.context.fillStyle = color;
    if (path) this.context.fill(path, 'evenodd');
    else this.context.fill();
  }

  /** Line widths are in image pixels when zoomed out, and in screen pixels when zoomed in, so that wide lines do not hide the image. */
  #stroke(color: string, width: number, path?: Path2D) {
    if (width <= 0) return;
    const { context } = this;
    const scale = this.#scale;
    const visibleWidth = Math.max(1, width * Math.min(1, scale));
    context.strokeStyle = color;
    context.lineWidth = visibleWidth / scale;
    context.lineJoin = visibleWidth * this.ratio > roundJoinAbove ? 'round' : 'bevel';
    if (path) context.stroke(path);
    else context.stroke();
  }

  /** The arrowhead is at the first point. */
  #paintArrowhead({ points = [], lineColor = defaultLineColor }: Element, lineWidth: number) {
    const [head, tail] = points;
    if (!head || !tail) return;
    const angle = Math.atan2(tail[1] - head[1], tail[0] - head[0]);
    const length = arrowheadLength / this.#scale;
    const { context } = this;
    context.beginPath();
    for (const side of [-0.45, 0.45]) {
      context.moveTo(head[0], head[1]);
      context.lineTo(head[0] + Math.cos(angle + side) * length, head[1] + Math.sin(angle + side) * length);
    }
    this.#stroke(lineColor, lineWidth);
  }

  /** Marks selected shapes, without handles. */
  markSelected(elements: readonly Element[], accent: string) {
    for (const element of elements) if (this.isInView(element)) this.markCurrent(element, { accent, showsHandles: false });
  }

  /** Marks the position of a shape that is not drawn here, in pixels of the image. */
  markPosition({ x, y }: Point, accent: string) {
    const { left, top, right, bottom } = this.visibleBox;
    if (x < left || x > right || y < top || y > bottom) return;
    const scale = this.#scale;
    this.#useImageCoordinates();
    this.context.beginPath();
    this.context.arc(x, y, positionMarkRadius / scale, 0, 2 * Math.PI);
    this.#strokeMark(accent);
  }

  /** Paints the circle of the brush. Its center and radius are in CSS pixels of the stage. */
  paintBrush({ x, y }: Point, radius: number, accent: string) {
    const { context } = this;
    this.#useStageCoordinates();
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    for (const [color, width] of [
      ['#ffffff', 3],
      [accent, 1.5],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
    }
  }

  /** Marks the shape that the user is working on. */
  markCurrent(element: Element, { accent, showsHandles }: { accent: string; showsHandles: boolean }) {
    const { context } = this;
    const scale = this.#scale;
    this.#useImageCoordinates();
    if (element.type === 'point') {
      const [x, y] = element.center ?? [0, 0];
      context.beginPath();
      context.arc(x, y, (pointRadius + 4) / scale, 0, 2 * Math.PI);
      this.#strokeMark(accent);
    } else this.#strokeMark(accent, pathOf(element));
    if (showsHandles) this.#paintHandles(element, accent);
  }

  #strokeMark(accent: string, path?: Path2D) {
    const { context } = this;
    context.lineJoin = 'round';
    for (const [color, width] of [
      ['#ffffff', 5],
      [accent, 2.5],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = width / this.#scale;
      if (path) context.stroke(path);
      else context.stroke();
    }
  }

  #paintHandles(element: Element, accent: string) {
    const { context } = this;
    this.#useStageCoordinates();
    for (const handle of handlesOf(element, rotationHandleDistance / this.#scale)) {
      const size = handle.kind === 'middle' ? handleSize - 3 : handleSize;
      const center = this.placement.transformPoint(handle);
      context.beginPath();
      if (handle.kind === 'corner' || handle.kind === 'vertex')
        context.rect(center.x - size / 2, center.y - size / 2, size, size);
      else context.arc(center.x, center.y, size / 2, 0, 2 * Math.PI);
      context.fillStyle = '#ffffff';
      context.fill();
      context.strokeStyle = accent;
      context.lineWidth = 1.5;
      context.stroke();
    }
  }

  /** Writes the label of an element next to it. */
  paintLabel(element: Element) {
    if (!element.label || element.label.value === '' || this.labelCount >= maxLabels) return;
    const box = boxOf(element);
    if (!overlaps(box, this.visibleBox)) return;
    this.labelCount += 1;
    const { context } = this;
    this.#useStageCoordinates();
    context.font = `600 ${Math.min(40, Math.max(9, element.label.fontSize ?? 13))}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    context.lineJoin = 'round';
    context.lineWidth = 3.5;
    context.strokeStyle = '#ffffff';
    const corners = [box.left, box.right].flatMap((x) =>
      [box.top, box.bottom].map((y) => this.placement.transformPoint({ x, y })),
    );
    const middle = corners.reduce((sum, { x }) => sum + x / corners.length, 0);
    const gap = element.type === 'point' ? pointRadius + 3 : 4;
    const bottom = Math.max(Math.min(...corners.map(({ y }) => y)), 24) - gap;
    const text =
      shortLabels.get(element) ?? clipToWidth(element.label.value, maxLabelWidth, (part) => context.measureText(part).width);
    shortLabels.set(element, text);
    context.strokeText(text, middle, bottom);
    context.fillStyle = element.label.color ?? '#16181f';
    context.fillText(text, middle, bottom);
  }
}
