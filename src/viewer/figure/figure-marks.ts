import { boxOf, isArea } from '../annotations/drawing/shapes.js';
import {
  arrowheadLength,
  defaultLineColor,
  defaultLineWidth,
  maxLabels,
  maxLabelWidth,
  pointRadius,
  traceOutline,
  type OutlineTarget,
} from '../annotations/drawing/painter.js';
import { overlaps, type Box, type Element } from '../annotations/annotation-model.js';
import { clipToWidth } from '../format.js';
import { h } from '../dom.js';

/** A color without opacity, as `#rrggbb`, and its opacity from 0 to 1. */
export type MarkColor = { rgb: string; alpha: number };

/** A part of an outline, in pixels of the figure, with the names of commands and the order of numbers as in SVG paths. */
export type Segment =
  | ['M' | 'L', x: number, y: number]
  | ['C', x1: number, y1: number, x2: number, y2: number, x: number, y: number]
  | ['Z'];

/** An area that is filled by the even-odd rule, a line, or both. */
export interface PathMark {
  path: Segment[];
  fill?: MarkColor;
  stroke?: MarkColor & { width: number };
}

/** A text whose baseline is at `y`. `halo` is the width of a white line around its letters. */
export interface TextMark {
  text: string;
  x: number;
  y: number;
  fontSize: number;
  isBold: boolean;
  isCentered: boolean;
  color: MarkColor;
  halo?: number;
}

export type Mark = PathMark | TextMark;

/** Fonts of the texts in figures. Every PDF reader has Helvetica; the other fonts have the same widths. */
export const fontFamily = 'Helvetica, Arial, Liberation Sans, sans-serif';

/** With control points at this distance from its ends, a cubic curve is a quarter of a circle of radius 1. */
const controlPointDistance = 0.5523;

/** Records an outline in image coordinates as segments in pixels of the figure. */
class SegmentRecorder implements OutlineTarget {
  readonly segments: Segment[] = [];

  constructor(private readonly placement: DOMMatrix) {}

  #toFigure(x: number, y: number): [number, number] {
    const point = this.placement.transformPoint({ x, y });
    return [point.x, point.y];
  }

  moveTo(x: number, y: number) {
    this.segments.push(['M', ...this.#toFigure(x, y)]);
  }

  lineTo(x: number, y: number) {
    this.segments.push(['L', ...this.#toFigure(x, y)]);
  }

  closePath() {
    this.segments.push(['Z']);
  }

  arc(x: number, y: number, radius: number) {
    this.ellipse(x, y, radius, radius, 0);
  }

  /** Adds a complete ellipse. Angles are not supported, because outlines contain no partial ellipses. */
  ellipse(x: number, y: number, radiusX: number, radiusY: number, rotation: number) {
    const [cos, sin] = [Math.cos(rotation), Math.sin(rotation)];
    const pointAt = (across: number, down: number) =>
      this.#toFigure(x + across * radiusX * cos - down * radiusY * sin, y + across * radiusX * sin + down * radiusY * cos);
    this.segments.push(['M', ...pointAt(1, 0)]);
    for (let quarter = 0; quarter < 4; quarter += 1) {
      const [fromX, fromY] = unitCirclePoint(quarter);
      const [toX, toY] = unitCirclePoint(quarter + 1);
      const control1 = pointAt(fromX + toX * controlPointDistance, fromY + toY * controlPointDistance);
      const control2 = pointAt(toX + fromX * controlPointDistance, toY + fromY * controlPointDistance);
      this.segments.push(['C', ...control1, ...control2, ...pointAt(toX, toY)]);
    }
    this.closePath();
  }
}

/** The point of the unit circle after a number of quarter turns. */
function unitCirclePoint(quarters: number): [number, number] {
  return [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ][quarters % 4] as [number, number];
}

/** A rectangle in pixels of the figure. */
export function rectangle({ left, top, right, bottom }: Box): Segment[] {
  return [['M', left, top], ['L', right, top], ['L', right, bottom], ['L', left, bottom], ['Z']];
}

/** Parsed colors by their CSS text. A figure has only a few colors. */
const markColorsByText: Map<string, MarkColor> = new Map();
let measuringContext: CanvasRenderingContext2D | null = null;

/** Parses a color in any form that CSS allows. Its opacity is multiplied by `opacity`. */
export function markColor(text: string, opacity: number = 1): MarkColor {
  let parsedColor = markColorsByText.get(text);
  if (!parsedColor) {
    measuringContext ??= h('canvas', { width: 1, height: 1 }).getContext('2d') as CanvasRenderingContext2D;
    measuringContext.fillStyle = '#000000';
    measuringContext.fillStyle = text;
    // The browser writes opaque colors as `#rrggbb`, and other colors as `rgba(r, g, b, a)`.
    const [red, green, blue, alpha] = measuringContext.fillStyle.match(/[\d.]+/g) ?? [];
    parsedColor = measuringContext.fillStyle.startsWith('#')
      ? { rgb: measuringContext.fillStyle, alpha: 1 }
      : {
          rgb: `#${[red, green, blue].map((value) => Number(value).toString(16).padStart(2, '0')).join('')}`,
          alpha: Number(alpha),
        };
    markColorsByText.set(text, parsedColor);
  }
  return opacity === 1 ? parsedColor : { ...parsedColor, alpha: parsedColor.alpha * opacity };
}

/** How the shapes of an image are drawn in a panel of a figure. */
export interface PanelView {
  /** the matrix from image pixels to pixels of the figure */
  placement: DOMMatrix;
  /** size of a CSS pixel of the screen in pixels of the figure: lines and texts are drawn larger by this factor */
  cssPixel: number;
  /** the box of the image that is visible */
  visibleBox: Box;
}

/** The marks of a shape, with lines as wide as on the screen. */
export function marksOfShape(element: Element, { placement, cssPixel }: PanelView, opacity: number): PathMark[] {
  const scale = Math.hypot(placement.a, placement.b) / cssPixel;
  const { lineColor = defaultLineColor, lineWidth = defaultLineWidth, fillColor, points = [] } = element;
  const outline = new SegmentRecorder(placement);
  if (element.type === 'point') outline.arc(element.center?.[0] ?? 0, element.center?.[1] ?? 0, pointRadius / scale);
  else traceOutline(element, outline);
  const width = lineWidth > 0 ? Math.max(1, lineWidth * Math.min(1, scale)) * cssPixel : 0;
  const stroke = width > 0 ? { stroke: { ...markColor(lineColor, opacity), width } } : {};
  const isFilled = fillColor && (isArea(element) || element.type === 'point');
  const mark = { path: outline.segments, ...(isFilled && { fill: markColor(fillColor, opacity) }), ...stroke };
  const [head, tail] = points;
  if (element.type !== 'arrow' || !head || !tail) return [mark];
  const angle = Math.atan2(tail[1] - head[1], tail[0] - head[0]);
  const length = arrowheadLength / scale;
  const arrowTip = new SegmentRecorder(placement);
  for (const side of [-0.45, 0.45]) {
    arrowTip.moveTo(head[0], head[1]);
    arrowTip.lineTo(head[0] + Math.cos(angle + side) * length, head[1] + Math.sin(angle + side) * length);
  }
  return [mark, { path: arrowTip.segments, ...stroke }];
}

/** The labels that are always visible, above their shapes. */
export function marksOfLabels(elements: readonly Element[], { placement, cssPixel, visibleBox }: PanelView): TextMark[] {
  const labeledElements = elements.filter(({ label }) => label?.visibility === 'always' && label.value !== '');
  const visibleElements = labeledElements.filter((element) => overlaps(boxOf(element), visibleBox)).slice(0, maxLabels);
  return visibleElements.map((element) => {
    const { left, top, right, bottom } = boxOf(element);
    const corners = [left, right].flatMap((x) => [top, bottom].map((y) => placement.transformPoint({ x, y })));
    const { value, fontSize: labelSize = 13, color = '#16181f' } = element.label as NonNullable<Element['label']>;
    const fontSize = Math.min(40, Math.max(9, labelSize)) * cssPixel;
    const distance = (element.type === 'point' ? pointRadius + 3 : 4) + labelSize / 4;
    return {
      text: clipToWidth(value, maxLabelWidth * cssPixel, (part) => widthOf(part, fontSize, true)),
      x: corners.reduce((sum, { x }) => sum + x / corners.length, 0),
      y: Math.max(Math.min(...corners.map(({ y }) => y)) - distance * cssPixel, fontSize),
      fontSize,
      isBold: true,
      isCentered: true,
      color: markColor(color),
      halo: 3.5 * cssPixel,
    };
  });
}

/** The width of a text in pixels of the figure. */
export function widthOf(text: string, fontSize: number, isBold: boolean) {
  measuringContext ??= h('canvas', { width: 1, height: 1 }).getContext('2d') as CanvasRenderingContext2D;
  measuringContext.font = fontOf(fontSize, isBold);
  return measuringContext.measureText(text).width;
}

/** The font of a text, in the syntax of CSS. */
export function fontOf(fontSize: number, isBold: boolean) {
  return `${isBold ? 'bold ' : ''}${fontSize}px ${fontFamily}`;
}

/** Number of segments that are written before the page can do other work. */
const segmentsPerTurn = 10_000;

/** Calls a function with each mark, and lets the page do other work from time to time, because there may be a million points. */
export async function forEachMark(marks: readonly Mark[], signal: AbortSignal, write: (mark: Mark) => void) {
  let segmentCount = 0;
  for (const mark of marks) {
    write(mark);
    segmentCount += 'path' in mark ? mark.path.length + 4 : 8;
    if (segmentCount < segmentsPerTurn) continue;
    segmentCount = 0;
    await yieldToPage();
    signal.throwIfAborted();
  }
}

/** Lets other work of the page run. */
export function yieldToPage() {
  return new Promise<void>((resolve) => setTimeout(resolve));
}
