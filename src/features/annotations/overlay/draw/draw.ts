import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { Canvas } from './canvas.js';
import { isOutlined, paintOf, shapeOf, type ShapeColor, type OutlinedElement } from './shape.js';
import { drawGrid, drawHeatmap } from './values.js';

/** Smallest width of a line in pixels of the picture. */
const minLineWidth = 1;

/**
 * Elements whose boxes are outside a tile, but not farther than this, are drawn too, because their lines may reach into the tile. In pixels
 * of the picture.
 */
export const drawnMargin = 32;

/**
 * Draws an element. Outlines are filled by the even-odd rule. Lines are as wide as the element says, in base-layer pixels, but at least
 * one pixel of the picture. The client draws labels, fill patterns, images and pixelmaps.
 */
export function drawElement(canvas: Canvas, element: AnnotationElement, color: ShapeColor): void {
  if (element.type === 'heatmap') drawHeatmap(canvas, element);
  else if (element.type === 'griddata') drawGrid(canvas, element);
  else if (isOutlined(element)) drawOutlined(canvas, element, color);
}

function drawOutlined(canvas: Canvas, element: OutlinedElement, color: ShapeColor): void {
  const { scale } = canvas.view;
  const { fill, line, lineWidth } = paintOf(element, color);
  if (fill === null && line === null) return;
  const shape = shapeOf(element, scale);
  if (fill !== null && shape.rings.length > 0) canvas.fill(shape.rings, fill);
  if (line !== null) canvas.stroke(shape.strokes, Math.max(minLineWidth, lineWidth / scale), line);
}
