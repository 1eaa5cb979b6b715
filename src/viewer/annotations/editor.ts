import { h, linkButton, showMessage } from '../dom.js';
import { editBar } from './edit-bar.js';
import { onEdits } from './edits.js';
import { withNewColor } from './coloring/shape-colors.js';
import { Groups, type EditedGroups } from './shape-groups.js';
import type { Edit } from './annotation-model.js';
import { polygonChanges } from './polygon-changes.js';
import { Saving } from './saving.js';
import { Selection } from './shape-selection.js';
import { isOverlay } from './drawing/shapes.js';
import { shapeForm } from './shape-form.js';
import type { StageAnnotation } from './stage-annotation.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

export type Editor = ReturnType<typeof editAnnotation>;

interface EditorOptions {
  annotation: StageAnnotation;
  /** editing ends when this signal aborts */
  signal: AbortSignal;
  redraw: () => void;
  /** screen pixels per image pixel */
  zoom: () => number;
  /** shows what went wrong, or clears the message */
  showProblem: (message: string) => void;
  /** called when a new version of the annotation was saved or loaded */
  onSaved: () => void;
}

/** Starts editing an annotation. The result has its groups, its selected shapes, and the functions that change and save shapes. */
export function editAnnotation(options: EditorOptions) {
  const { annotation, signal, redraw, zoom, showProblem, onSaved } = options;
  const { edits } = annotation;
  const groups = new Groups();
  const selection = new Selection(annotation, () => (form.show(), redraw()));
  const saving = new Saving({
    annotation,
    deselect: () => selection.select(null),
    onSaved,
    onStateChange: () => bar.show(),
    showProblem,
  });
  const polygonActions = polygonChanges({ annotation, selection, commit, zoom, showProblem, signal });
  const form = shapeForm({
    groups,
    selectedShapes: () => selection.shapes,
    commit,
    remove: removeSelected,
    merge: polygonActions.merge,
    simplify: polygonActions.simplify,
  });
  const bar = editBar(
    edits,
    { undo: () => undoOrRedo('undo'), redo: () => undoOrRedo('redo'), discard, save: () => void saving.save() },
    () => saving.isRunning,
  );
  const element = h('div.annotation-editor.column', form.element, ...bar.elements);
  const editedGroups: EditedGroups = { groups, onChoose: () => form.show(), onReported: () => form.offerGroups(), recolor };
  selection.select(null);
  bar.show();
  onEdits(bar.show, signal);
  return {
    element,
    groups: editedGroups,
    selection,
    find: (id: string) => annotation.find(id),
    makeShape: groups.makeShape.bind(groups),
    commit,
    split: polygonActions.split,
    undoOrRedo,
    removeSelected,
    save: () => saving.save(),
    reload: () => saving.reload(),
    reloadAndExplain: () => saving.reloadAndExplain(),
  };

  function commit(...changes: Edit[]) {
    edits.changeAll(changes, annotation.record);
    updateAll();
  }

  function updateAll() {
    form.show();
    bar.show();
    redraw();
  }

  function removeSelected() {
    const shapesToDelete = selection.shapes;
    if (shapesToDelete.length === 0) return;
    selection.select(null);
    commit(...shapesToDelete.map((before) => ({ before, after: null })));
  }

  function undoOrRedo(direction: 'undo' | 'redo') {
    edits[direction]();
    adoptShapeColors();
    selection.dropRemoved();
    updateAll();
  }

  function discard() {
    edits.discard();
    adoptShapeColors();
    selection.select(null);
    bar.show();
    showProblem('');
    const undo = linkButton(commonTexts.undo, () => undoOrRedo('undo'));
    showMessage(annotationTexts.discarded, undo);
  }

  /** Gives groups the colors of their shapes, after undo, redo or discard has given shapes other colors. */
  function adoptShapeColors() {
    if (annotation.isCompletelyLoaded) groups.adoptColors(annotation.loadedShapes());
  }

  function recolor(group: string | null, color: string) {
    groups.setColor(group, color);
    if (!annotation.isCompletelyLoaded) return false;
    const shapes = [...annotation.loadedShapes()].filter((shape) => !isOverlay(shape) && (shape.group ?? null) === group);
    commit(...shapes.map((before) => ({ before, after: withNewColor(before, color) })));
    return true;
  }
}
