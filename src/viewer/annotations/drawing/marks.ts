import type { Element, Point } from '../model.js';
import type { Painter } from './paint.js';
import { isLocked } from './shapes.js';
import type { Tools } from './tools.js';

/** Color of the selection. */
export const selectionColor = '#5b3fd6';

/**
 * Paints the selected shapes with their handles, and what the current tool is drawing.
 *
 * @param selection the selected shapes; `null` while no visible annotation is edited
 * @returns `isAny`: whether anything was painted; `measured`: the shape whose measurements are shown
 */
export function paintMarks(painter: Painter, tools: Tools, selection: readonly Element[] | null) {
  const { transientOutline: mark, isBrush, live, tool, tip, brushAt } = tools;
  const selected = selection ?? [];
  const draft = selection ? tools.draft : null;
  const [only = null] = selected.length === 1 ? selected : [];
  const shape = mark ?? draft ?? only;
  const shownShape = tip && shape?.points && shape !== only ? withTip(shape, tip) : shape;
  const isLive = ({ id }: Element) => live.some((other) => other.id === id);
  const otherSelected = selected.filter((other) => other !== shape && !isLive(other));
  painter.markTogether(otherSelected, selectionColor);
  if (shownShape && !(isBrush && isLive(shownShape))) {
    const hasHandles = mark ? mark.points !== undefined : tool === 'select' || draft?.points !== undefined;
    painter.markCurrent(shownShape, { accent: selectionColor, handles: hasHandles && !isLocked(shownShape) });
  }
  if (selection && isBrush && brushAt) painter.paintBrush(brushAt, tools.brushRadius, selectionColor);
  // An outline that only selects shapes is not measured.
  const measured = mark && tool !== 'measure' ? null : shownShape;
  return { isAny: isBrush || shownShape !== null || selected.length > 0, measured };
}

/** A line or polygon with the next vertex at the pointer. */
function withTip(shape: Element, { x, y }: Point): Element {
  return { ...shape, points: [...(shape.points ?? []), [x, y, 0]] };
}
