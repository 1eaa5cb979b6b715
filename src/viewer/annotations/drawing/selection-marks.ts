import type { Element, Point } from '../annotation-model.js';
import type { Painter } from './painter.js';
import { isLocked } from './shapes.js';
import type { Tools } from './tools.js';

/** Color of the selection. */
export const selectionColor = '#5b3fd6';

/**
 * Paints the selected shapes with their handles, and what the current tool is drawing.
 *
 * @param selection the selected shapes; `null` while no visible annotation is edited
 * @returns `isAnyPainted`: whether anything was painted; `measuredShape`: the shape whose measurements are shown
 */
export function paintMarks(painter: Painter, tools: Tools, selection: readonly Element[] | null) {
  const { transientOutline: outline, isBrushOrEraser, liveShapes, tool, nextVertex, brushCenter } = tools;
  const selectedShapes = selection ?? [];
  const draft = selection ? tools.draft : null;
  const [onlyShape = null] = selectedShapes.length === 1 ? selectedShapes : [];
  const shape = outline ?? draft ?? onlyShape;
  const shownShape = nextVertex && shape?.points && shape !== onlyShape ? withNextVertex(shape, nextVertex) : shape;
  const isLive = ({ id }: Element) => liveShapes.some((liveShape) => liveShape.id === id);
  const otherSelectedShapes = selectedShapes.filter((selectedShape) => selectedShape !== shape && !isLive(selectedShape));
  painter.markSelected(otherSelectedShapes, selectionColor);
  if (shownShape && !(isBrushOrEraser && isLive(shownShape))) {
    const hasHandles = outline ? outline.points !== undefined : tool === 'select' || draft?.points !== undefined;
    painter.markCurrent(shownShape, { accent: selectionColor, showsHandles: hasHandles && !isLocked(shownShape) });
  }
  if (selection && isBrushOrEraser && brushCenter) painter.paintBrush(brushCenter, tools.brushRadius, selectionColor);
  // An outline that only selects shapes is not measured.
  const measuredShape = outline && tool !== 'measure' ? null : shownShape;
  return { isAnyPainted: isBrushOrEraser || shownShape !== null || selectedShapes.length > 0, measuredShape };
}

/** A line or polygon with the next vertex at the pointer. */
function withNextVertex(shape: Element, { x, y }: Point): Element {
  return { ...shape, points: [...(shape.points ?? []), [x, y, 0]] };
}
