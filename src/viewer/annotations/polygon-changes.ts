import { messageOf, showMessage } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import { makeMergeEdits, makeSimplifyEdits, makeSplitEdits } from './drawing/polygon-edits.js';
import type { Edit, Element } from './annotation-model.js';
import type { Selection } from './shape-selection.js';
import type { StageAnnotation } from './stage-annotation.js';

/** Changes that need the library for polygons. Each selects the changed shapes. */
export function polygonChanges(options: {
  annotation: StageAnnotation;
  selection: Selection;
  commit: (...edits: Edit[]) => void;
  /** screen pixels per image pixel */
  zoom: () => number;
  /** shows what went wrong */
  showProblem: (message: string) => void;
  signal: AbortSignal;
}) {
  const { annotation, selection, commit, zoom, showProblem, signal } = options;
  return {
    merge: () => void applyChange(() => makeMergeEdits(selection.shapes)),
    simplify: () => void applyChange(simplify),
    split: (line: Element) => void applyChange(() => split(line)),
  };

  async function applyChange(makeEdits: () => Promise<Edit[]>) {
    try {
      const changes = await makeEdits();
      if (signal.aborted || changes.length === 0) return;
      commit(...changes);
      selection.selectAll(changes.flatMap(({ after }) => after?.id ?? []));
    } catch (error) {
      if (!signal.aborted) showProblem(messageOf(error));
    }
  }

  /** The line cuts the selected shapes; if no shape is selected, it cuts all shapes. */
  async function split(line: Element) {
    const selectedShapes = selection.shapes;
    const changes = await makeSplitEdits(selectedShapes.length > 0 ? selectedShapes : [...annotation.shownElements()], line);
    if (changes.length === 0) showMessage(annotationTexts.noneSplit);
    return changes;
  }

  /** Removes vertices that make no visible difference at the current zoom. */
  async function simplify() {
    const selectedShapes = selection.shapes;
    const changes = await makeSimplifyEdits(selectedShapes, 1 / zoom());
    const changedById = new Map(changes.flatMap(({ after }) => (after ? [[after.id, after]] : [])));
    const countPoints = (shapes: readonly Element[]) => shapes.reduce((sum, { points = [] }) => sum + points.length, 0);
    showMessage(
      annotationTexts.simplified(
        countPoints(selectedShapes),
        countPoints(selectedShapes.map((shape) => changedById.get(shape.id) ?? shape)),
      ),
    );
    return changes;
  }
}
