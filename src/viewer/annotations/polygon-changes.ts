import { messageOf, showMessage } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import { mergeEdits, simplifyEdits, splitEdits } from './drawing/polygon-edits.js';
import type { Edit, Element } from './model.js';
import type { Selection } from './selection.js';
import type { Sheet } from './sheet.js';

/** Changes that need the library for polygons. Each selects the changed shapes. */
export function polygonChanges(options: {
  sheet: Sheet;
  selection: Selection;
  commit: (...edits: Edit[]) => void;
  /** screen pixels per image pixel */
  zoom: () => number;
  /** shows what went wrong */
  report: (message: string) => void;
  signal: AbortSignal;
}) {
  const { sheet, selection, commit, zoom, report, signal } = options;
  return {
    merge: () => void change(() => mergeEdits(selection.shapes)),
    simplify: () => void change(simplify),
    split: (line: Element) => void change(() => split(line)),
  };

  async function change(make: () => Promise<Edit[]>) {
    try {
      const changes = await make();
      if (signal.aborted || changes.length === 0) return;
      commit(...changes);
      selection.selectAll(changes.flatMap(({ after }) => after?.id ?? []));
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
  }

  /** Without a selection, the line cuts all shapes. */
  async function split(line: Element) {
    const chosen = selection.shapes;
    const changes = await splitEdits(chosen.length > 0 ? chosen : [...sheet.elements()], line);
    if (changes.length === 0) showMessage(annotationTexts.noneSplit);
    return changes;
  }

  /** Removes vertices that make no visible difference at the current zoom. */
  async function simplify() {
    const chosen = selection.shapes;
    const changes = await simplifyEdits(chosen, 1 / zoom());
    const changed = new Map(changes.flatMap(({ after }) => (after ? [[after.id, after]] : [])));
    const count = (shapes: readonly Element[]) => shapes.reduce((sum, { points = [] }) => sum + points.length, 0);
    showMessage(annotationTexts.simplified(count(chosen), count(chosen.map((shape) => changed.get(shape.id) ?? shape))));
    return changes;
  }
}
