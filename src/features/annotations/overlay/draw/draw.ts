import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { Canvas } from './canvas.js';
import { isOutlined, paintOf, shapeOf, type ColorMode, type OutlinedElement } from './shape.js';
import { drawGrid, drawHeatmap } from './values.js';

/** Least width of a line, in pixels drawn. */
const leastLineWidth = 1;

/** How far lines and gaussians of elements outside of a tile are followed into it, in pixels drawn. */
export const drawnMargin = 32;

/**
 * Draws an element. Outlines are filled by the even-odd rule, their lines are as wide as the element says in base-layer pixels,
 * and at least one pixel. Labels and fill patterns are not drawn; images and pixelmaps are left to the client.
 */
export function drawElement(canvas: Canvas, element: AnnotationElement, mode: ColorMode): void {
  if (element.type === 'heatmap') drawHeatmap(canvas, element);
  else if (element.type === 'griddata') drawGrid(canvas, element);
  else if (isOutlined(element)) drawOutlined(canvas, element, mode);
}

function drawOutlined(canvas: Canvas, element: OutlinedElement, mode: ColorMode): void {
  const { scale } = canvas.view;
  const { fill, line, lineWidth } = paintOf(element, mode);
  if (fill === null && line === null) return;
  const shape = shapeOf(element, scale);
  if (fill !== null && shape.rings.length > 0) canvas.fill(shape.rings, fill);
  if (line !== null) canvas.stroke(shape.strokes, Math.max(leastLineWidth, lineWidth / scale), line);
}
